"""Tutorials and how-tos work for a reader who copies their visible blocks into an empty folder, in order."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.docs_blocks import blocks, unexplained
from tests.conftest import ROOT
from tests.docs_literal.reader import NotLiteralError, Reader

TUTORIALS = sorted(path.name for path in (ROOT / "docs/tutorials").glob("*.md"))

HOW_TOS = ("gaze-people.md", "metrics-in-python.md", "other-benchmarks.md", "other-grids.md", "own-metric.md")
"""How-tos that run literally. Add a page once it does; none is ever removed."""


def follow(text: str, folder: Path) -> Path:
    """Do what a page's visible blocks say, in a new folder; return the folder."""
    work, state = folder / "work", folder / "state"
    work.mkdir(parents=True)
    state.mkdir()
    with Reader(work, state) as reader:
        reader.read(blocks(text))
    return work


@pytest.mark.slow
@pytest.mark.parametrize("name", TUTORIALS)
def test_a_tutorial_runs_literally(name: str, tmp_path: Path) -> None:
    follow((ROOT / "docs/tutorials" / name).read_text(encoding="utf-8"), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", HOW_TOS)
def test_a_how_to_runs_literally(name: str, tmp_path: Path) -> None:
    follow((ROOT / "docs/how-to" / name).read_text(encoding="utf-8"), tmp_path)


@pytest.mark.parametrize(
    "page", [*(f"tutorials/{name}" for name in TUTORIALS), *(f"how-to/{name}" for name in HOW_TOS)]
)
def test_commands_that_are_not_run_have_a_reason(page: str) -> None:
    found = unexplained((ROOT / "docs" / page).read_text(encoding="utf-8"))
    assert [f"{page}:{block.line}: {block.text}" for block in found] == []


def fenced(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```\n"


class TestReader:
    """The reader itself, on pages made for this."""

    def test_shell_python_and_files_share_one_folder(self, tmp_path: Path) -> None:
        page = (
            fenced("bash", "pip install nothing-of-this-name\nmkdir inner\ncd inner\nexport WORD=said\nx=not-exported")
            + fenced('toml title="a.toml"', "[run]\nseed = 1")
            + fenced("python", "import sys\nfrom pathlib import Path\nnumber = 3")
            + fenced("console", '$ echo "$WORD$x" > b.txt\nsome output')
            + fenced('python exec="on" source="above"', 'Path("inner/c.txt").write_text(str(number))')
            + fenced('python exec="on"', 'Path("hidden.txt").write_text("hidden")')
        )
        work = follow(page, tmp_path)
        assert sorted(path.name for path in work.rglob("*.*")) == ["a.toml", "b.txt", "c.txt"]
        assert (work / "inner/a.toml").read_text() == "[run]\nseed = 1\n"
        assert (work / "inner/b.txt").read_text() == "said\n"
        assert (work / "inner/c.txt").read_text() == "3"

    def test_a_script_that_is_saved_and_run(self, tmp_path: Path) -> None:
        script = fenced("python", 'from pathlib import Path\n\nPath("made.txt").touch()')
        work = follow(f"Save this script as `a.py` and run it with\n`python a.py`:\n\n{script}", tmp_path / "run")
        assert sorted(path.name for path in work.iterdir()) == ["a.py", "made.txt"]
        work = follow(f"Save it as `a.py`:\n\n{script}\n{fenced('console', '$ cp a.py b.py')}", tmp_path / "saved")
        assert sorted(path.name for path in work.iterdir()) == ["a.py", "b.py"]

    def test_hidden_lines_are_not_run(self, tmp_path: Path) -> None:
        page = fenced("console", "$ touch a  # markdown-exec: hide\n$ ls a")
        with pytest.raises(NotLiteralError, match="line 1: exit status 2"):
            follow(page, tmp_path)

    @pytest.mark.parametrize(
        ("page", "said"),
        [
            (fenced("bash", "true\nfalse\ntrue"), "line 1: exit status 1"),
            (fenced('bash returncode="3"', "exit 2"), "exit status 2"),
            ("\n" + fenced("python", "import scripts"), "line 2: Python failed\n(.|\n)*No module named 'scripts'"),
            (fenced("python", "from pathlib import Path") + fenced("bash", "ls *.py"), "line 4: exit status 2"),
            (fenced("bash", "spotball study serve nothing-there"), "printed no address\n(.|\n)*nothing-there"),
        ],
    )
    def test_what_fails(self, page: str, said: str, tmp_path: Path) -> None:
        with pytest.raises(NotLiteralError, match=said):
            follow(page, tmp_path)

    def test_an_expected_exit_status(self, tmp_path: Path) -> None:
        follow(fenced('console exec="on" source="console" returncode="3"', "$ exit 3"), tmp_path)

    @pytest.mark.slow
    def test_a_server_runs_until_the_end(self, tmp_path: Path) -> None:
        follow(fenced("bash", "spotball study serve --demo") + fenced("bash", "true"), tmp_path)

    @pytest.mark.parametrize(
        ("before", "n"),
        [
            ("This runs a model.", 1),
            ("This needs a key:", 0),
            ("A key is needed.\n\nRun:", 1),
            ("Your own\nimages:", 0),
        ],
    )
    def test_commands_without_a_reason(self, before: str, n: int) -> None:
        page = f"Text that needs nothing.\n\n{before}\n\n{fenced('text', 'spotball run demo')}"
        assert len(unexplained(page)) == n

    def test_output_needs_no_reason(self) -> None:
        assert unexplained(f"It prints:\n\n{fenced('text', 'accuracy 3')}") == []

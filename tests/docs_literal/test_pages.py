"""Test that tutorials and how-tos work for a reader who copies their visible blocks into an empty folder, in order.

`NOT_RUN` lists the blocks that are not run, with the reason. The page itself states what such a block needs. Model
services and the Hugging Face Hub are replaced by local servers, which environment variables name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest

from scripts.docs_blocks import Block, blocks, not_run, unexplained
from spotball_core.version import install_command
from tests.conftest import ROOT
from tests.docs_literal.network import network
from tests.docs_literal.reader import NotLiteralError, Reader
from tests.sharing import Prepared

PAGES = [
    f"{folder}/{path.name}"
    for folder in ("tutorials", "how-to")
    for path in sorted((ROOT / "docs" / folder).glob("*.md"))
]

NOT_RUN: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "tutorials/gaze.md": {"a key": ("export OPENAI_API_KEY",)},
    "tutorials/human-study.md": {
        "real participants": ("export SPOTBALL_STUDY_PASSWORD", "spotball study bonus", "spotball study delete")
    },
    "tutorials/run-a-model.md": {
        "a key": ("export OPENAI_API_KEY",),
        "a model on the reader's own server": ("spotball run demo --provider openai --base-url",),
    },
    "how-to/batch.md": {"an account at OpenAI": ("spotball batch import run-gpt",)},
    "how-to/deploy-study.md": {
        "Docker": ("docker compose up",),
        "root rights": ("python3 -m venv /opt", "systemctl enable"),
        "PostgreSQL": ("spotball study serve my-study --port 8001",),
    },
    "how-to/gaze-analyze.md": {
        "a study's participants": ("spotball gaze analyze gaze-people",),
        "PyTorch, and minutes of training": (install_command("local,report"),),
        "GazeLLE's weights": ("spotball gaze train --out gazelle",),
    },
    "how-to/gaze-ask.md": {
        "the reader's photos": ("spotball gaze stimuli my-photos.csv",),
        "images of GazeFollow": ("spotball gaze stimuli test_annotations_release.txt",),
        "GazeLLE's weights": (install_command("adapters,local"),),
        "real participants": ("spotball study serve gaze-study",),
    },
    "how-to/generate.md": {
        "videos, a detector's weights, or a Ray cluster": ("spotball gen run handball.toml",),
        "a library; tests/gen/dataset/test_export_clients.py runs it": (
            "from datasets",
            "from pycocotools",
            "from mlcroissant",
        ),
    },
    "how-to/generation-models.md": {"a network": ("python -m venv export",)},
    "how-to/hub.md": {"a library; tests/gen/hub/test_clients.py runs it": ("from datasets",)},
    "how-to/human-study.md": {"real participants": ("spotball study delete my-study LABEL",)},
    "how-to/import-release.md": {"the published release": ("spotball import-release", "from spotball_core")},
    "how-to/inspect.md": {
        "a network; tests/adapters/inspect/test_inspect.py runs it": (
            "inspect eval spotball_adapters/spot_the_ball --model mockllm/model",
            "spotball parse logs",
        ),
        "a key": ("inspect eval spotball_adapters/spot_the_ball --model openai",),
    },
    "how-to/lmms-eval-vlmevalkit.md": {
        "lmms-eval": ("cd dataset", "spotball parse"),
        "VLMEvalKit": ("export SPOTBALL_DATASET",),
    },
    "how-to/many-machines.md": {
        "a Ray cluster": ("spotball score dataset --reference human --engine ray",),
        "a library; tests/counting/engines/test_other_engines.py runs it": ("from pyspark", "import dask"),
    },
    "how-to/own-stage.md": {"videos; tests/gen/test_stage_docs.py runs the stage": ("spotball gen run dark.toml",)},
    "how-to/poses.md": {
        "a network": ("pip download",),
        "a model's weights": ("yolo export",),
        "keypoints; tests/gen/poses/test_how_to.py runs the estimator": ("spotball cues poses soccer --with arrays",),
    },
    "how-to/models.md": {
        # These commands request 120 samples for each of the 60 images.
        "hours; tests/adapters/providers/test_provider_docs.py runs it with fewer samples": (
            "export ",
            install_command("gemini"),
            "spotball run dataset --provider openai",
        ),
        "a GPU": ("vllm serve",),
        "a network": ("ollama pull", 'pip install "llama-cpp-python[server]"'),
        "a model's weights": ("llama-server", install_command("adapters,local")),
    },
}
"""The first words of each block that is not run, by page and reason. Keep this list short."""

LIBRARIES = {"how-to/hub.md": "huggingface_hub", "how-to/models.md": "PIL"}
"""Libraries of optional extras that a page needs."""


def is_not_run(page: str, block: Block) -> bool:
    """Return whether the list of exceptions contains a block."""
    return any(block.text.startswith(start) for starts in NOT_RUN.get(page, {}).values() for start in starts)


def excepted(page: str, text: str) -> list[Block]:
    """Return the visible blocks of a page in the list of exceptions."""
    return [block for block in blocks(text) if block.is_visible and is_not_run(page, block)]


def follow(
    text: str,
    folder: Path,
    page: str = "",
    environment: Mapping[str, str] | None = None,
    prepared: Prepared | None = None,
) -> Path:
    """Run the visible blocks of a page in a new folder, and return the folder.

    Args:
        page: path of the page, for the list of exceptions.
        environment: additional environment variables.
        prepared: the folders of slow commands on many pages, which run once for all pages.
    """
    work, state = folder / "work", folder / "state"
    work.mkdir(parents=True)
    state.mkdir()
    with Reader(work, state, environment, prepared) as reader:
        reader.read(block for block in blocks(text) if not is_not_run(page, block))
    return work


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with network(tmp_path_factory.mktemp("network")) as environment:
        yield environment


ELSEWHERE = ("pip install", "spotball demo", "spotball gen review", "spotball gen apply-review")
"""The first words of commands that other tests run."""


def is_run_by_the_build(page: str) -> bool:
    """Return whether the build of the documentation or other tests run all visible blocks of a page.

    The build also runs commands that a block without output shows, if a hidden block calls them with other options for
    the output.
    """
    of_page = list(blocks((ROOT / "docs" / page).read_text(encoding="utf-8")))
    hidden = "\n".join(block.text for block in of_page if "exec" in block.options and not block.is_visible)
    shown = [
        block
        for block in of_page
        if block.is_visible and block.language in ("bash", "console", "python") and not is_not_run(page, block)
    ]
    is_run = any("exec" in block.options for block in shown)
    return all(
        "exec" in block.options
        or (is_run and block.file)
        or all(
            line.startswith(ELSEWHERE) or (line.startswith("spotball ") and line in hidden)
            for line in block.text.splitlines()
            if line
        )
        for block in shown
    )


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if not is_run_by_the_build(page)])
def test_page_blocks_run_without_errors_when_copied_unchanged_into_an_empty_folder(
    page: str, tmp_path: Path, services: dict[str, str], prepared: Prepared
) -> None:
    library = LIBRARIES.get(page)
    if library and find_spec(library) is None:
        pytest.skip(f"needs {library}")
    follow((ROOT / "docs" / page).read_text(encoding="utf-8"), tmp_path, page, services, prepared)


@pytest.mark.parametrize("page", PAGES)
def test_page_states_a_reason_for_commands_that_are_not_run(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    missing = [block for block in not_run(text) if not is_not_run(page, block)]
    assert [f"{page}:{block.line}: {block.text}" for block in missing] == []
    assert [f"{page}:{block.line}: {block.text}" for block in unexplained(excepted(page, text))] == []


def test_not_run_lists_only_blocks_that_exist_on_their_page() -> None:
    for page, reasons in NOT_RUN.items():
        shown = [block.text for block in excepted(page, (ROOT / "docs" / page).read_text(encoding="utf-8"))]
        for start in (start for starts in reasons.values() for start in starts):
            assert any(text.startswith(start) for text in shown), (page, start)


def fenced(language: str, text: str) -> str:
    return f"```{language}\n{text}\n```\n"


class TestReader:
    """Test the reader itself on small pages."""

    def test_reader_runs_shell_and_python_blocks_and_saves_files_in_one_folder_and_checks_the_exit_status(
        self, tmp_path: Path
    ) -> None:
        page = (
            fenced("bash", "pip install nothing-of-this-name\nmkdir inner\ncd inner\nexport WORD=said\nx=not-exported")
            + fenced('toml title="a.toml"', "[run]\nseed = 1")
            + fenced("python", "import sys\nfrom pathlib import Path\nnumber = 3")
            + fenced("console", '$ echo "$WORD$x" > b.txt\nsome output')
            + fenced('python exec="on" source="above"', 'Path("inner/c.txt").write_text(str(number))')
            + fenced('python exec="on"', 'Path("hidden.txt").write_text("hidden")')
            + fenced('console exec="on" source="console" returncode="3"', "$ exit 3")
        )
        work = follow(page, tmp_path)
        assert sorted(path.name for path in work.rglob("*.*")) == ["a.toml", "b.txt", "c.txt"]
        assert (work / "inner/a.toml").read_text() == "[run]\nseed = 1\n"
        assert (work / "inner/b.txt").read_text() == "said\n"
        assert (work / "inner/c.txt").read_text() == "3"

    def test_reader_saves_a_script_and_runs_it_only_if_the_page_says_so(self, tmp_path: Path) -> None:
        script = fenced("python", 'from pathlib import Path\n\nPath("made.txt").touch()')
        work = follow(f"Save this script as `a.py` and run it with\n`python a.py`:\n\n{script}", tmp_path / "run")
        assert sorted(path.name for path in work.iterdir()) == ["a.py", "made.txt"]
        work = follow(f"Save it as `a.py`:\n\n{script}\n{fenced('console', '$ cp a.py b.py')}", tmp_path / "saved")
        assert sorted(path.name for path in work.iterdir()) == ["a.py", "b.py"]

    @pytest.mark.parametrize(
        ("page", "said"),
        [
            (fenced("console", "$ touch a  # docs: hide\n$ ls a"), "line 1: exit status 2"),  # runs no hidden lines
            (fenced("bash", "true\nfalse\ntrue"), "line 1: exit status 1"),
            (fenced('bash returncode="3"', "exit 2"), "exit status 2"),
            ("\n" + fenced("python", "import scripts"), "line 2: Python failed\n(.|\n)*No module named 'scripts'"),
            (fenced("python", "from pathlib import Path") + fenced("bash", "ls *.py"), "line 4: exit status 2"),
            (fenced("bash", "spotball study serve nothing-there"), "printed no address\n(.|\n)*nothing-there"),
        ],
    )
    def test_reader_raises_an_error_with_the_line_of_a_failing_block(
        self, page: str, said: str, tmp_path: Path
    ) -> None:
        with pytest.raises(NotLiteralError, match=said):
            follow(page, tmp_path)

    def test_reader_requests_reach_only_the_local_replacements_of_services(
        self, tmp_path: Path, services: dict[str, str]
    ) -> None:
        addresses = ("https://api.openai.com/v1/nothing", "http://localhost:8000/v1/nothing")
        lines = ["import httpx", *(f"assert httpx.post('{url}').status_code == 404" for url in addresses)]
        follow(fenced("python", "\n".join(lines)), tmp_path / "known", environment=services)
        other = "\n".join(lines).replace("openai", "other")
        with pytest.raises(NotLiteralError, match="CERTIFICATE_VERIFY_FAILED"):
            follow(fenced("python", other), tmp_path / "other", environment=services)

    def test_prepared_folders_replace_only_commands_without_other_options(
        self, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        class Made(Prepared):
            def folder(self, name: str) -> Path:
                (tmp_path / name).mkdir(exist_ok=True)
                (tmp_path / name / f"{name}.txt").touch()
                return tmp_path / name

        kept = "spotball demo --out demo --help > help.txt\nspotball gen run --help > run.txt"
        page = fenced("bash", f"{kept}\nspotball demo --out made\nspotball gen run --demo --out items")
        work = follow(page, tmp_path / "page", prepared=Made(tmp_path_factory))
        found = sorted(path.relative_to(work).as_posix() for path in work.rglob("*.txt"))
        assert found == ["help.txt", "items/items.txt", "made/demo.txt", "run.txt"]

    @pytest.mark.slow
    def test_reader_keeps_a_server_running_until_the_end_of_the_page(self, tmp_path: Path) -> None:
        follow(fenced("bash", "spotball study serve --demo") + fenced("bash", "true"), tmp_path)

    def test_unexplained_finds_commands_without_a_reason_and_not_run_ignores_output(self) -> None:
        commands = fenced("text", "spotball run demo")
        for before in ("This runs a model.", "A key is needed.\n\nRun:"):
            assert len(unexplained(not_run(f"Text that needs nothing.\n\n{before}\n\n{commands}"))) == 1
        for before in ("This needs a key:", "Your own\nimages:"):
            assert len(unexplained(not_run(f"Text that needs nothing.\n\n{before}\n\n{commands}"))) == 0
        assert not_run(f"It prints:\n\n{fenced('text', 'accuracy 3')}") == []

    def test_reader_installs_a_package_from_a_folder(self, tmp_path: Path) -> None:
        project = '[project]\nname = "own"\nversion = "1"\n[project.entry-points.group]\na = "own:A"\n'
        page = (
            fenced('python title="own/own.py"', "A = 3")
            + fenced('toml title="own/pyproject.toml"', project + '[tool.setuptools]\npy-modules = ["own"]')
            + fenced("bash", "pip install ./own\ncd own")
            + fenced("python", "from importlib.metadata import entry_points\n(a,) = entry_points(group='group')")
            + fenced("python", "assert a.load() == 3")
        )
        follow(page, tmp_path / "first")
        with pytest.raises(NotLiteralError, match="line 16: Python failed"):
            follow(page.replace("pip install ./own\n", ""), tmp_path / "second")

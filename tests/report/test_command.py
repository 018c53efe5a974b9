"""`spotball report` as a process."""

from __future__ import annotations

from pathlib import Path

import pytest

from spotball_core.report.numbers.records import PageReport
from tests.cli.process import spotball, spotball_process
from tests.report.conftest import Written

BLOCKED = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == {name!r}:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocker())
from spotball_core.cli.app import main
sys.argv[0] = "spotball"
main()
"""


def test_it_writes_the_report_of_a_dataset_and_says_where(written: Written, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = spotball("report", written.study, "--reference", "human", "--bootstrap", "40", "--out", out)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1] == f"wrote {out}/report.html"
    assert (out / "report.html").read_text() == written.page


def test_files_with_their_scenes_find_their_pictures(written: Written, tmp_path: Path) -> None:
    files = [written.study / "responses-all.jsonl", "--scenes", written.study / "scenes.jsonl", "--reference", "human"]
    done = spotball("report", *files, "--bootstrap", "0", "--seed", "3", "--policy", "paper", "--out", tmp_path / "a")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "a/report.html").read_text()
    assert page.count("data:image/webp") == 5
    report = PageReport.model_validate_json((tmp_path / "a/report.json").read_text())
    assert (report.policy.name, report.policy.seed, report.policy.bootstrap) == ("paper", 3, 0)
    empty = tmp_path / "empty"
    empty.mkdir()
    options = ["--bootstrap", "0", "--image-folder", empty, "--quiet"]
    done = spotball("report", *files, *options, "--out", tmp_path / "b")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "data:image/webp" not in (tmp_path / "b/report.html").read_text()


def test_what_cannot_be_used_is_one_message_and_status_2(written: Written, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    for arguments, said in (
        ([written.study, "--out", tmp_path], "neither empty nor an earlier report"),
        ([written.study, "--out", tmp_path / "out", "--reference", "nobody"], "no respondent is called 'nobody'"),
        ([tmp_path / "nothing", "--out", tmp_path / "out"], "expected a dataset folder"),
    ):
        done = spotball("report", *arguments)
        assert done.returncode == 2, arguments
        assert said in done.stderr
        assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("name", ["matplotlib", "jinja2"])
def test_without_its_packages_it_names_the_extra(written: Written, tmp_path: Path, name: str) -> None:
    import sys

    start = [sys.executable, "-c", BLOCKED.format(name=name)]
    done = spotball_process("report", written.study, "--out", tmp_path / "out", start=start)
    assert done.returncode == 2
    assert 'pip install "spotball-core[report]"' in done.stderr
    assert list(tmp_path.iterdir()) == []

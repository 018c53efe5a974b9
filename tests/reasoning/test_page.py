"""Test that `spotball report --reasoning` adds a section with a figure and its signature to the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from spotball_core.report.build import write_page, write_report
from spotball_core.report.numbers.records import PageReport
from tests.cli.process import spotball
from tests.failures import codes
from tests.reasoning.test_analysis import analyzed
from tests.report.markup import parsed
from tests.report.study import scoring_of, write_study


@pytest.mark.slow
def test_report_command_with_reasoning_adds_a_reasoning_section_with_figure_and_signature(tmp_path: Path) -> None:
    study, report = write_study(tmp_path / "study"), analyzed()
    (tmp_path / "reasoning.json").write_text(report.model_dump_json(), encoding="utf-8")
    options = ["--bootstrap", "0", "--reference", "human", "--quiet"]
    done = spotball("report", study, *options, "--reasoning", tmp_path / "reasoning.json", "--out", tmp_path / "out")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    page = parsed((tmp_path / "out/report.html").read_text(encoding="utf-8"))
    sections = [one for one in page.all("main")[0].children if one.tag == "section"]
    names = [one.attributes["id"] for one in sections]
    assert names.index("reasoning") == names.index("mixture") + 1
    assert [link.attributes["href"] for link in page.all("nav")[0].all("a")] == [f"#{name}" for name in names]
    mine = sections[names.index("reasoning")]
    assert report.signature in mine.text
    assert [one.attributes["role"] for one in mine.all("div", class_="dots")] == ["img"] * 3
    assert len(mine.all("table")) == 3
    figure = (tmp_path / "out/figures/reasoning.svg").read_text(encoding="utf-8")
    assert report.signature in figure
    assert (tmp_path / "out/figures/reasoning.png").is_file()
    written = PageReport.model_validate_json((tmp_path / "out/report.json").read_bytes())
    assert written.page.reasoning == report
    write_page(written, tmp_path / "again", image_folders=[study])
    assert (tmp_path / "again/report.html").read_bytes() == (tmp_path / "out/report.html").read_bytes()
    # The output folder counts as that of an earlier report, so a report without the section may overwrite it.
    write_report(scoring_of(study, bootstrap=0), tmp_path / "out")
    assert not (tmp_path / "out/figures/reasoning.png").exists()


def test_report_command_with_an_invalid_reasoning_file_fails_and_writes_nothing(tmp_path: Path) -> None:
    study = write_study(tmp_path / "study")
    (tmp_path / "reasoning.json").write_text("{}", encoding="utf-8")
    done = spotball("report", study, "--reasoning", tmp_path / "reasoning.json", "--out", tmp_path / "out")
    assert (done.returncode, {*codes(done.stderr)}) == (2, {"missing-value"})
    assert "reasoning.json" in done.stderr
    assert not (tmp_path / "out").exists()

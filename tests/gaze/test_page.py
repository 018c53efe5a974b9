from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import polars as pl
import pytest

from spotball_core.errors import OptionError
from spotball_core.gaze.analysis import GazeOptions, GazeReport, analyze
from spotball_core.gaze.data.trials import Trials, together
from spotball_core.gaze.page.sections import all_sections
from spotball_core.gaze.page.write import write_gaze_report
from spotball_core.gaze.power.observers import Observer, factorial_design, simulate
from tests.failures import raises
from tests.report.markup import parsed

pytestmark = pytest.mark.slow

DESIGN = [one for one in factorial_design() if one.view != "right" and one.proximity != 2]


@pytest.fixture(scope="module")
def report() -> GazeReport:
    trials = together(
        [
            simulate(Observer("compromise", noise=0.3), DESIGN, prompts=2, respondent="a <b> & c"),
            simulate(Observer("coin", noise=0.1), DESIGN, prompts=2, respondent="coin"),
        ]
    )
    return analyze(trials, GazeOptions(bootstrap=100))


@pytest.fixture(scope="module")
def folder(report: GazeReport, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("gaze") / "report"
    write_gaze_report(report, out)
    return out


def test_report_page_has_all_sections_and_escapes_names(folder: Path, report: GazeReport) -> None:
    page = parsed((folder / "report.html").read_text(encoding="utf-8"))
    assert len(page.all("script")) == 1  # sorts and filters tables
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert "a <b>" not in text
    assert report.signature in text
    for title in (
        "Types",
        "Accuracy",
        "Proximity and view",
        "Do choices follow the head?",
        "Head and eyes",
        "Every test",
    ):
        assert f">{title} <a " in text


def test_report_writes_each_figure_as_png_and_svg(folder: Path, report: GazeReport) -> None:
    names = {picture.name for section in all_sections(report) for picture in section.pictures}
    assert names == {"gaze-accuracy", "gaze-curves", "gaze-wrongness", "gaze-log-odds", "gaze-conditions", "gaze-head"}
    expected = {f"{n}.{end}" for n in names for end in ("png", "svg")} | {"captions.md"}
    assert {path.name for path in (folder / "figures").iterdir()} == expected
    for path in (folder / "figures").glob("*.svg"):
        ElementTree.parse(path)


def test_report_json_next_to_the_page_equals_the_report(folder: Path, report: GazeReport) -> None:
    assert GazeReport.model_validate(json.loads((folder / "report.json").read_text(encoding="utf-8"))) == report


@pytest.mark.slow
def test_report_read_from_json_writes_an_identical_page(folder: Path, tmp_path: Path) -> None:
    write_gaze_report(GazeReport.model_validate_json((folder / "report.json").read_bytes()), tmp_path / "again")
    for name in ("report.html", "report.json"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_alt_texts_of_figures_contain_their_numbers(report: GazeReport) -> None:
    pictures = {picture.name: picture for section in all_sections(report) for picture in section.pictures}
    (cell,) = [one for one in report.respondents[1].cells if one.by == {"n_objects": "3", "dist_eye_head": "0"}]
    assert f"coin: 3 objects {cell.value:.0%}," in pictures["gaze-head"].alts[1]
    assert len(pictures["gaze-accuracy"].alts) == 3


def test_write_gaze_report_overwrites_a_report_but_not_other_files(
    folder: Path, report: GazeReport, tmp_path: Path
) -> None:
    write_gaze_report(report, folder)
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with raises(OptionError, "output-exists:--out"):
        write_gaze_report(report, tmp_path)


def test_report_of_natural_photos_only_has_no_head_sections(tmp_path: Path) -> None:
    natural = [one for one in DESIGN if one.head_target is None and len(one.objects) == 2]
    trials = simulate(Observer("eye"), natural, prompts=1)
    unmatched = trials.frame.with_columns(choice=pl.when(pl.int_range(pl.len()) > 3).then("choice"))
    found = analyze(Trials(unmatched), GazeOptions(bootstrap=0))
    write_gaze_report(found, tmp_path / "out")
    text = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert ">Head and eyes</h2>" not in text
    assert ">Do choices follow the head?</h2>" not in text

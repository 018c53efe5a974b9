"""Test the written report with its figures and response times, and the summary for the terminal."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from math import log
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from spotball_core.errors import OptionError
from spotball_core.gaze.analysis import GazeOptions, analyze
from spotball_core.gaze.checks import Effect
from spotball_core.gaze.data.trials import Trials, together
from spotball_core.gaze.mechanism.run import fit_mechanism
from spotball_core.gaze.page.sections import all_sections
from spotball_core.gaze.page.times import said_of, times
from spotball_core.gaze.page.write import write_gaze_report
from spotball_core.gaze.power.observers import Observer, factorial_design, simulate
from spotball_core.gaze.result import GazeReport
from spotball_core.gaze.summary import finding, headline, to_summary
from spotball_core.text.first_screen import WIDTH
from tests.failures import raises
from tests.report.markup import parsed

DESIGN = [one for one in factorial_design() if one.view != "right" and one.proximity != 2]
FRONT = [one for one in factorial_design() if one.view == "front" and one.proximity < 3]
NATURAL = [one for one in FRONT if one.proximity == 1 and one.head_target is None]


@pytest.fixture(scope="module")
def report() -> GazeReport:
    observers = {"a <b> & c": Observer("compromise", noise=0.3), "coin": Observer("coin", noise=0.1)}
    trials = [simulate(one, DESIGN, prompts=2, respondent=name) for name, one in observers.items()]
    return analyze(together(trials), GazeOptions(bootstrap=100))


@pytest.fixture(scope="module")
def folder(report: GazeReport, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("gaze") / "report"
    write_gaze_report(report, out)
    return out


@pytest.mark.slow
def test_report_page_has_all_sections_and_escapes_names(folder: Path, report: GazeReport) -> None:
    text = (folder / "report.html").read_text(encoding="utf-8")
    assert len(parsed(text).all("script")) == 1  # This script sorts and filters tables.
    assert "a <b>" not in text
    assert report.signature in text
    titles = ("Types", "Accuracy", "Proximity and view", "Do choices follow the head?", "Head and eyes", "Every test")
    assert all(f">{title} <a " in text for title in titles)


@pytest.mark.slow
def test_write_gaze_report_writes_each_figure_as_png_and_svg_with_a_text_description(
    folder: Path, report: GazeReport
) -> None:
    pictures = {picture.name: picture for section in all_sections(report) for picture in section.pictures}
    parts = ("accuracy", "curves", "wrongness", "log-odds", "conditions", "head")
    assert pictures.keys() == {f"gaze-{part}" for part in parts}
    expected = {f"{name}.{end}" for name in pictures for end in ("png", "svg")} | {"captions.md"}
    assert {path.name for path in (folder / "figures").iterdir()} == expected
    for path in (folder / "figures").glob("*.svg"):
        ElementTree.parse(path)
    # The descriptions of figures contain their numbers.
    (cell,) = [one for one in report.respondents[1].cells if one.by == {"n_objects": "3", "dist_eye_head": "0"}]
    assert f"coin: 3 objects {cell.value:.0%}," in pictures["gaze-head"].alts[1]
    assert len(pictures["gaze-accuracy"].alts) == 3


@pytest.mark.slow
def test_write_gaze_report_of_a_report_reloaded_from_json_writes_identical_files(
    folder: Path, report: GazeReport, tmp_path: Path
) -> None:
    read = GazeReport.model_validate_json((folder / "report.json").read_bytes())
    assert read == report
    write_gaze_report(read, tmp_path / "again")
    for name in ("report.html", "report.json"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


@pytest.mark.slow
def test_write_gaze_report_replaces_an_earlier_report_but_raises_option_error_for_other_files(
    folder: Path, report: GazeReport, tmp_path: Path
) -> None:
    write_gaze_report(report, folder)
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with raises(OptionError, "output-exists:--out"):
        write_gaze_report(report, tmp_path)


@pytest.mark.slow
def test_report_of_natural_photos_only_has_no_head_sections(tmp_path: Path) -> None:
    natural = [one for one in DESIGN if one.head_target is None and len(one.objects) == 2]
    trials = simulate(Observer("eye"), natural, prompts=1)
    unmatched = trials.frame.with_columns(choice=pl.when(pl.int_range(pl.len()) > 3).then("choice"))
    found = analyze(Trials(unmatched), GazeOptions(bootstrap=0))
    write_gaze_report(found, tmp_path / "out")
    text = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert ">Head and eyes</h2>" not in text
    assert ">Do choices follow the head?</h2>" not in text


def timed(seconds: list[float | None]) -> GazeReport:
    """Return a report of a person with these response times, repeated over photos, and of a model without times."""
    person = simulate(Observer("eye", noise=0.8), NATURAL, prompts=1, respondent="human", seed=4)
    times = pl.Series((seconds * len(person.frame))[: len(person.frame)], dtype=pl.Float64)
    slow = Trials(person.frame.with_columns(participant=pl.lit("p"), response_time=times))
    model = simulate(Observer("guess"), NATURAL, prompts=1, respondent="gpt")
    return analyze(together([slow, model]), GazeOptions(bootstrap=50))


def test_response_time_bins_are_powers_of_two() -> None:
    seconds = [0.01, 0.2499, 0.25, 0.4, 0.5, 1.0, 1.999, 2.0, 3.0, 4.0, 63.9, 64.0, 900.0, None, 0.0]
    report = timed(seconds)
    cells = {cell.by["seconds_from"]: cell for cell in report.respondents[0].cells if "seconds_from" in cell.by}
    counts: defaultdict[str, int] = defaultdict(int)
    for number in range(len(NATURAL)):
        value = seconds[number % len(seconds)]
        if value:
            start = 0.25
            while start < 64 and value >= 2 * start:
                start *= 2
            counts[f"{start:g}"] += 1
    assert {kind: cell.n_trials for kind, cell in cells.items()} == counts
    assert not [cell for cell in report.respondents[1].cells if "seconds_from" in cell.by]


def test_times_section_shows_only_respondents_with_response_times(tmp_path: Path) -> None:
    report = timed([0.1, 3.0, 100.0])
    (picture,) = times(report).pictures
    (alt,) = picture.alts
    shares = [cell.value for cell in report.respondents[0].cells if "seconds_from" in cell.by]
    assert alt.startswith("human: correct ")
    shown = alt.split(";")[0].removeprefix("human: correct ").split(", ")
    assert sorted(shown) == sorted(f"{one:.0%}" for one in shares)
    write_gaze_report(report, tmp_path / "report")
    text = (tmp_path / "report/report.html").read_text(encoding="utf-8")
    assert ">Response times <a " in text
    assert ">&lt;0.5<" in text
    assert ">64+<" in text
    assert (tmp_path / "report/figures/gaze-times.svg").is_file()
    assert times(timed([None])) is None


def test_response_time_effect_text_states_the_odds_ratio_per_doubling_or_the_ratio_of_times() -> None:
    counts = {"scale": "", "n_trials": 9, "n_stimuli": 9}
    # The odds halve if the time doubles.
    halved = Effect(of="response time", estimate=-1.0, ci95=(-2.0, 0.0), p=0.04, method="GLMM", **counts)
    assert said_of(halved) == (
        "if the response time doubles, the odds of a correct answer are multiplied by 0.50 (95% interval 0.25 to "
        "1.00); p = 0.04, GLMM."
    )
    longer = Effect(of="response time", estimate=log(1.5), ci95=None, p=0.04, method="t-test", **counts)
    assert said_of(longer) == "correct answers took 1.50 times as long as wrong ones; p = 0.04, t-test."


LONG = "organization/a-vision-language-model-with-a-very-long-name-2026"


@pytest.fixture(scope="module")
def guessing() -> GazeReport:
    trials = [simulate(Observer("guess"), FRONT[:60], prompts=1, respondent=name) for name in ("x", LONG, "y")]
    return analyze(together(trials), GazeOptions(bootstrap=0))


def test_summary_table_fits_80_columns_and_has_the_numbers_of_the_report(guessing: GazeReport) -> None:
    text = to_summary(guessing)
    lines = text.splitlines()
    body = [line for line in lines if not line.startswith(("warning: ", "spotball-gaze|"))]
    assert max(map(len, body)) <= WIDTH
    (row,) = [line for line in lines if line.startswith("x ")]
    result, chance = guessing.respondents[0], guessing.fleet.against_chance.respondents[0]
    assert f"  {result.type}  " in row
    assert [f"{result.n_trials:,}", f"{100 * chance.accuracy:.1f}", f"{100 * chance.chance:.1f}"] == row.split()[-4:-1]
    (shortened,) = [line for line in lines if line.startswith("organization…  ")]
    assert f"  {guessing.respondents[1].type}  " in shortened
    assert [line for line in lines if line.startswith("warning: ")] == [f"warning: {one}" for one in guessing.warnings]
    assert "--full" in text
    assert lines[-1] == guessing.signature


def test_headline_counts_respondents_by_mechanism(guessing: GazeReport) -> None:
    first, *others = guessing.respondents
    trials = simulate(Observer("head"), factorial_design(), prompts=1)
    mechanism = fit_mechanism(trials.frame)
    heads = [one.model_copy(update={"mechanism": mechanism}) for one in others]
    assert headline(guessing.model_copy(update={"respondents": (first, *heads)})) == (
        "Of 3 respondents, 2 have the mechanism head (organization…g-name-2026, y) and 1 has no cue model (x)."
    )


def test_title_states_what_respondents_follow_or_else_their_types(guessing: GazeReport) -> None:
    assert finding(guessing) == headline(guessing)
    pairs = zip(guessing.respondents, ("eye", "head", "eye"), strict=True)
    fitted = tuple(one.model_copy(update={"mechanism": SimpleNamespace(kind=kind)}) for one, kind in pairs)
    assert finding(guessing.model_copy(update={"respondents": fitted})) == (
        "x and y follow the eyes; organization…g-name-2026 follows the head."
    )


def test_headline_of_one_respondent_is_the_summary_of_the_respondent(guessing: GazeReport) -> None:
    one = guessing.model_copy(update={"respondents": guessing.respondents[:1]})
    assert headline(one) == f"x: {guessing.respondents[0].summary}"

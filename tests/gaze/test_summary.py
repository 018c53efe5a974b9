"""Test the first screen of a gaze analysis: its headline, and a table within 80 columns."""

from __future__ import annotations

import pytest

from spotball_core.gaze.analysis import GazeOptions, GazeReport, analyze
from spotball_core.gaze.data.trials import together
from spotball_core.gaze.power.observers import Observer, factorial_design, simulate
from spotball_core.gaze.summary import headline, to_summary
from spotball_core.text.first_screen import WIDTH

DESIGN = [one for one in factorial_design() if one.view == "front" and one.proximity < 3]
LONG = "organization/a-vision-language-model-with-a-very-long-name-2026"


@pytest.fixture(scope="module")
def report() -> GazeReport:
    trials = together(
        [simulate(Observer("guess"), DESIGN[:60], prompts=1, respondent=name) for name in ("x", LONG, "y")]
    )
    return analyze(trials, GazeOptions(bootstrap=0))


def test_summary_table_fits_80_columns_and_has_the_numbers_of_the_report(report: GazeReport) -> None:
    text = to_summary(report)
    lines = text.splitlines()
    body = [line for line in lines if not line.startswith(("warning: ", "spotball-gaze|"))]
    assert max(map(len, body)) <= WIDTH
    (row,) = [line for line in lines if line.startswith("x ")]
    result, chance = report.respondents[0], report.fleet.against_chance.respondents[0]
    assert f"  {result.type}  " in row
    assert [f"{result.n_trials:,}", f"{100 * chance.accuracy:.1f}", f"{100 * chance.chance:.1f}"] == row.split()[-4:-1]
    (shortened,) = [line for line in lines if line.startswith("organization…  ")]
    assert f"  {report.respondents[1].type}  " in shortened
    assert [line for line in lines if line.startswith("warning: ")] == [f"warning: {one}" for one in report.warnings]
    assert "--full" in text
    assert lines[-1] == report.signature


def test_headline_counts_respondents_by_type(report: GazeReport) -> None:
    x, long, y = report.respondents
    several = report.model_copy(
        update={
            "respondents": (
                x.model_copy(update={"type": "head-only"}),
                long.model_copy(update={"type": "human-level"}),
                y.model_copy(update={"type": "human-level"}),
            )
        }
    )
    assert headline(several) == (
        "Of 3 respondents, 2 have the type human-level (organization…g-name-2026, y) and 1 has the type head-only (x)."
    )


def test_headline_of_one_respondent_is_its_summary(report: GazeReport) -> None:
    one = report.model_copy(update={"respondents": report.respondents[:1]})
    assert headline(one) == f"x: {report.respondents[0].summary}"

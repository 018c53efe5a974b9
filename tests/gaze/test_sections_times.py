from __future__ import annotations

from collections import defaultdict
from math import log
from pathlib import Path

import polars as pl

from spotball_core.gaze.analysis import GazeOptions, GazeReport, analyze
from spotball_core.gaze.checks import Effect
from spotball_core.gaze.data.trials import Trials, together
from spotball_core.gaze.page.times import said_of, times
from spotball_core.gaze.page.write import write_gaze_report
from spotball_core.gaze.power.observers import Observer, factorial_design, simulate

DESIGN = [one for one in factorial_design() if one.view == "front" and one.proximity == 1 and one.head_target is None]


def timed(seconds: list[float | None]) -> GazeReport:
    """Return the report of a person with these times per photo, and of a model without times."""
    person = simulate(Observer("eye", noise=0.8), DESIGN, prompts=1, respondent="human", seed=4)
    slow = person.frame.with_columns(
        participant=pl.lit("p"),
        response_time=pl.Series((seconds * len(person.frame))[: len(person.frame)], dtype=pl.Float64),
    )
    return analyze(
        together([Trials(slow), simulate(Observer("guess"), DESIGN, prompts=1, respondent="gpt")]),
        GazeOptions(bootstrap=50),
    )


def test_response_time_bins_are_powers_of_two() -> None:
    seconds = [0.01, 0.2499, 0.25, 0.4, 0.5, 1.0, 1.999, 2.0, 3.0, 4.0, 63.9, 64.0, 900.0, None, 0.0]
    report = timed(seconds)
    cells = {cell.by["seconds_from"]: cell for cell in report.respondents[0].cells if "seconds_from" in cell.by}
    counts: defaultdict[str, int] = defaultdict(int)
    for number in range(len(DESIGN)):
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
    section = times(report)
    assert section is not None
    (picture,) = section.pictures
    (alt,) = picture.alts
    shares = [cell.value for cell in report.respondents[0].cells if "seconds_from" in cell.by]
    assert alt.startswith("human: correct ")
    assert sorted(alt.split(";")[0].removeprefix("human: correct ").split(", ")) == sorted(
        f"{one:.0%}" for one in shares
    )
    write_gaze_report(report, tmp_path / "report")
    text = (tmp_path / "report/report.html").read_text(encoding="utf-8")
    assert ">Response times <a " in text
    assert ">&lt;0.5<" in text
    assert ">64+<" in text
    assert (tmp_path / "report/figures/gaze-times.svg").is_file()
    assert times(timed([None])) is None


def test_response_time_effect_text_states_the_odds_ratio_per_doubling() -> None:
    counts = {"scale": "", "n_trials": 9, "n_stimuli": 9}
    # The odds halve if the time doubles.
    halved = Effect(of="response time", estimate=-1.0, ci95=(-2.0, 0.0), p=0.04, method="GLMM", **counts)
    assert said_of(halved) == (
        "if the response time doubles, the odds of a correct answer are multiplied by 0.50 (95% interval 0.25 to "
        "1.00); "
        "p = 0.04, GLMM."
    )
    longer = Effect(of="response time", estimate=log(1.5), ci95=None, p=0.04, method="t-test", **counts)
    assert said_of(longer) == "correct answers took 1.50 times as long as wrong ones; p = 0.04, t-test."

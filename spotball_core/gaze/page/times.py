"""Write the section on response times and accuracy, for respondents with response times (gaze paper, A.4)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from spotball_core.gaze.cells import SECONDS, Cell as Mean
from spotball_core.gaze.checks import Effect
from spotball_core.gaze.result import GazeReport
from spotball_core.gaze.tables import CHANCE_NAME
from spotball_core.pages.parts import PagePicture, Section
from spotball_core.plots.theme import FAINT, THEME
from spotball_core.plots.trends import TrendChart, TrendLine, TrendPanel, TrendPoint, trend_alts
from spotball_core.text.numbers import say_p
from spotball_core.text.words import shortened

_ROOM = 24


def times(report: GazeReport) -> Section | None:
    """Return the section on response times; None if no trial has a response time above 0."""
    timed = [
        (result.respondent, cells)
        for result in report.respondents
        if (cells := [cell for cell in result.cells if "seconds_from" in cell.by])
    ]
    if not timed:
        return None
    panels = [TrendPanel(shortened(name, _ROOM), "", _lines(cells)) for name, cells in timed]
    caption = (
        "Share of correct choices by response time, with 95% intervals over photos. Unmatched choices count as wrong. "
        "The dashed line shows random guessing on the same photos."
    )
    chart = TrendChart(tuple(panels), "response time (seconds)", "accuracy", percent=True, start=0.0, step=_named)
    alts = trend_alts(panels, percent=True)
    picture = PagePicture("gaze-times", "Accuracy by response time (Figure 9)", caption, chart, alts)
    sentences = tuple(
        f"{result.respondent}: {said_of(effect)}"
        for result in report.respondents
        if (effect := result.checks.response_time) is not None
    )
    return Section("times", "Response times", points=sentences, pictures=(picture,))


def said_of(effect: Effect) -> str:
    """Describe the effect of response times in a sentence."""

    def factor(value: float) -> str:
        # A model's log odds change per e-fold increase of time; convert this to a doubling.
        return f"{math.exp(value if effect.method == 't-test' else value * math.log(2)):.2f}"

    ends = f" (95% interval {factor(effect.ci95[0])} to {factor(effect.ci95[1])})" if effect.ci95 else ""
    p = f"p {say_p(effect.p)}, {effect.method}"
    if effect.method == "t-test":
        return f"correct answers took {factor(effect.estimate)} times as long as wrong ones{ends}; {p}."
    return (
        "if the response time doubles, the odds of a correct answer are multiplied by "
        f"{factor(effect.estimate)}{ends}; {p}."
    )


def _lines(cells: Sequence[Mean]) -> tuple[TrendLine, ...]:
    ordered = sorted(cells, key=lambda cell: float(cell.by["seconds_from"]))
    steps = [math.log2(float(cell.by["seconds_from"])) for cell in ordered]
    points = tuple(TrendPoint(step, cell.value, cell.ci95) for step, cell in zip(steps, ordered, strict=True))
    chance = tuple(TrendPoint(step, cell.chance) for step, cell in zip(steps, ordered, strict=True))
    color = THEME["people"][0]
    return TrendLine("correct", color, "o", points), TrendLine(CHANCE_NAME, FAINT, "", chance, dashed=True)


def _named(step: float) -> str:
    """Return the axis label of a class of response times, from the binary logarithm of its lower bound."""
    start = 2.0**step
    if start == SECONDS[-1]:
        return f"{start:g}+"
    return f"<{2 * start:g}" if start == SECONDS[0] else f"{start:g}–{2 * start:g}"

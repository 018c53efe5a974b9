"""Write the section of the cue model: a table of parameters, and charts of the choices of the head target by offset."""

from __future__ import annotations

from typing import Final

from spotball_core.gaze.result import GazeReport, RespondentResult
from spotball_core.gaze.weights import mechanism_table
from spotball_core.pages.parts import PagePicture, PageTable, Section, TableCell, TableRows
from spotball_core.plots.theme import THEME
from spotball_core.plots.trends import TrendChart, TrendLine, TrendPanel, TrendPoint, trend_alts
from spotball_core.text.words import shortened

_ROOM: Final = 24
_LOOKS: Final = {"2": ("model-2", "^"), "3": ("model-1", "o"), "4": ("people", "s")}

_LEAD: Final = (
    (
        "The cue model explains each choice by an internal position in the row of objects. With probability q, the "
        "respondent follows one cue alone: the position is the head target (with probability w) or the gaze target. "
        "Otherwise, the respondent combines both cues: the position lies between the targets, and w is the weight of "
        "the head."
    ),
    (
        "The model adds noise to the position. The respondent answers some trials at random; their share is the lapse "
        "rate. The mechanism is the simplest special case of the model that predicts held-out scenes as well as the "
        "best one. The mechanism `none` means that no special case fits."
    ),
)


def mechanisms(report: GazeReport) -> Section | None:
    """Return the section of the cue model; None if no respondent has a cue model."""
    named = [(result.respondent, result.mechanism) for result in report.respondents]
    if not any(mechanism for _, mechanism in named):
        return None
    _, names, heads, rows = mechanism_table(named)
    body = TableRows("", tuple(tuple(split_cell(cell) for cell in row) for row in rows))
    caption = (
        "Parameters of the cue model, with 95% profile likelihood intervals. A dash means that the choices do not "
        "determine the parameter."
    )
    table = PageTable("mechanisms", caption, tuple(head.capitalize() for head in heads), names, (body,))
    panels = [panel for result in report.respondents if (panel := _panel(result)).lines]
    words = (
        "Share of choices of the head target, by its offset. The offset is the number of objects from the gaze target "
        "to the head target; it is negative if the head target comes first. Markers show the observed shares, with 95% "
        "intervals over photos. Dashed lines show the cue model."
    )
    chart = TrendChart(tuple(panels), "offset from gaze to head target", "head target", percent=True, start=0.0)
    picture = PagePicture("gaze-curves", "Psychometric curves", words, chart, trend_alts(panels, percent=True))
    return Section("mechanism", "Mechanism", _LEAD, pictures=(picture,), tables=(table,))


def split_cell(text: str) -> TableCell:
    """Split a table cell's text into a value and, on a second line, its interval.

    Args:
        text: text of one or two lines.
    """
    value, _, small = text.partition("\n")
    return TableCell(value, small)


def _panel(result: RespondentResult) -> TrendPanel:
    """Return the chart panel of one respondent: observed and predicted shares of choices of the head target."""
    cells = [cell for cell in result.cells if cell.measure == "head" and "offset" in cell.by]
    lines = []
    for n, (color, marker) in _LOOKS.items():
        own = sorted((cell for cell in cells if cell.by["n_objects"] == n), key=lambda cell: int(cell.by["offset"]))
        observed = tuple(TrendPoint(float(cell.by["offset"]), cell.value, cell.ci95) for cell in own)
        if observed:
            lines.append(TrendLine(f"{n} objects", THEME[color][0], marker, observed, joined=False))
        curve = result.mechanism.curve if result.mechanism else ()
        expected = tuple(TrendPoint(float(point.offset), point.head) for point in curve if str(point.n_objects) == n)
        if observed and expected:
            lines.append(TrendLine("", THEME[color][0], "", expected, dashed=True))
    under = f"mechanism: {result.mechanism.kind}" if result.mechanism else ""
    return TrendPanel(shortened(result.respondent, _ROOM), under, tuple(lines))

"""Prepare dot charts for a page: the same values as in figure files, as rows that fit any width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spotball_core.plots.canvas import scale
from spotball_core.plots.dots import DotChart, DotPanel
from spotball_core.plots.inline import page_color
from spotball_core.text.numbers import interval, quantity

_TICKS = 4
"""Desired number of ticks on the scale."""


@dataclass(frozen=True, slots=True)
class RowMark:
    """A mark in a row, at a position in percent of the scale's width.

    Attributes:
        x: the position; None if the row shows only its note.
        ends: the positions of the interval's ends; None for no interval.
        color: a CSS color.
        name: the line's name, or a row's value and interval.
    """

    x: float | None
    ends: tuple[float, float] | None
    color: str
    name: str


@dataclass(frozen=True, slots=True)
class DotRow:
    """One row: the respondent (empty if it is that of the row above), the prompt, the dot, and the note."""

    respondent: str
    prompt: str
    dot: RowMark
    tick: float | None
    note: str


@dataclass(frozen=True, slots=True)
class DotRows:
    """The rows of one panel, with lines through all rows, the ticks of the scale, and a description."""

    title: str
    under: str
    lines: tuple[RowMark, ...]
    rows: tuple[DotRow, ...]
    ticks: tuple[tuple[float, str], ...]
    alt: str


def dot_rows(chart: DotChart, alts: Sequence[str]) -> tuple[DotRows, ...]:
    """Return the panels of a chart, with positions in percent.

    Args:
        chart: the chart.
        alts: a description of each panel.
    """
    return tuple(_panel(chart, panel, alt) for panel, alt in zip(chart.panels, alts, strict=True))


def _panel(chart: DotChart, panel: DotPanel, alt: str) -> DotRows:
    start, end = chart.limits

    def at(value: float) -> float:
        return round(100 * (value - start) / (end - start), 2)

    def across(ends: tuple[float, float] | None) -> tuple[float, float] | None:
        return (at(ends[0]), at(ends[1])) if ends else None

    rows, before = [], None
    for dot in panel.dots:
        name = f"{dot.respondent} {dot.prompt}".rstrip()
        value = "" if dot.value is None else f": {quantity(dot.value, chart.unit)} {interval(dot.ends, chart.unit)}"
        x = None if dot.value is None else at(dot.value)
        rows.append(
            DotRow(
                "" if dot.respondent == before else dot.respondent,
                dot.prompt,
                RowMark(x, across(dot.ends), page_color(dot.color), f"{name}{value}".rstrip()),
                None if dot.tick is None else at(dot.tick),
                chart.note(dot),
            )
        )
        before = dot.respondent
    lines = tuple(RowMark(at(line.value), across(line.ends), page_color(line.color), line.name) for line in panel.rules)
    ticks = zip(*scale(start, end, percent=chart.unit == "share", n=_TICKS), strict=True)
    return DotRows(panel.title, panel.under, lines, tuple(rows), tuple((at(x), text) for x, text in ticks), alt)

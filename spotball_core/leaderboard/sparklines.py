"""Place the values of a leaderboard's column on one axis, for the small charts in its cells."""

from __future__ import annotations

from spotball_core.leaderboard.columns import CEILING_SCORE, MetricColumn
from spotball_core.leaderboard.entries import Entry
from spotball_core.leaderboard.rankings import RankTable
from spotball_core.leaderboard.text import UNIFORM
from spotball_core.pages.dots import RowMark
from spotball_core.pages.parts import Sparkline
from spotball_core.plots.inline import page_color
from spotball_core.plots.theme import FAINT, look_of
from spotball_core.schema.report import Interval
from spotball_core.service.safe_text import printable

Drawn = tuple[float, Interval | None, str, str]
"""A value, its interval, its color, and its name."""


def sparklines(ranking: RankTable, column: MetricColumn) -> dict[int | None, Sparkline]:
    """Return the small chart of each entry with a value, by its position in the ranking; None is uniform guessing.

    Better values, or values nearer to the reference than uniform guessing, are further right. The axis ends at the
    values and intervals of uniform guessing, people and models. Baselines may be beyond it, because an oracle would
    leave little room for the others.
    """
    drawn: dict[int | None, Drawn] = {
        place: value for place, entry in enumerate(ranking.entries) if (value := _drawn(entry, column.key))
    }
    baselines = {place for place, entry in enumerate(ranking.entries) if entry.kind == "baseline"}
    known = [entry for entry in ranking.entries if entry.is_reference]
    references = [value for entry in known if (value := _drawn(entry, column.key))]
    uniform: list[Drawn] = []
    if column.key == CEILING_SCORE:
        uniform = [(0.0, None, FAINT, UNIFORM)]
        references = [(1.0, None, *_look(entry)) for entry in known]
    elif column.key in ranking.uniform:
        uniform = [(ranking.uniform[column.key], None, FAINT, UNIFORM)]
        drawn[None] = uniform[0]
    falls = column.better == "lower"
    if column.better not in ("lower", "higher") and references and uniform:
        falls = references[0][0] < uniform[0][0]
    on_axis = [value for place, value in drawn.items() if place not in baselines] or list(drawn.values())
    ends = [end for value, interval, _, _ in (*on_axis, *uniform, *references) for end in (value, *(interval or ()))]
    low, high = (min(ends), max(ends)) if ends else (0.0, 0.0)

    def at(value: float) -> float:
        share = (min(max(value, low), high) - low) / (high - low) if high > low else 0.5
        return round(100 * (1 - share if falls else share), 1)

    def mark(of: Drawn) -> RowMark:
        value, interval, color, name = of
        start, end = sorted(map(at, interval or (value, value)))
        return RowMark(at(value), (start, end) if interval else None, page_color(color), name)

    lines = tuple(map(mark, (*uniform, *references)))
    return {place: Sparkline(mark(of), lines, not low <= of[0] <= high) for place, of in drawn.items()}


def _drawn(entry: Entry, key: str) -> Drawn | None:
    metric = entry.metrics.get(key)
    if metric is None or metric.value is None:
        return None
    return metric.value, metric.ci95, *_look(entry)


def _look(entry: Entry) -> tuple[str, str]:
    return look_of(entry.respondent, entry.kind).color, printable(entry.respondent)

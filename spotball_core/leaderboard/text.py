"""Format the words and numbers of a leaderboard's tables, for HTML and Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spotball_core.leaderboard.columns import MetricColumn
from spotball_core.leaderboard.entries import Entry
from spotball_core.leaderboard.rankings import RankTable, has_value, value_of
from spotball_core.leaderboard.ranks import Rank
from spotball_core.service.safe_text import printable
from spotball_core.text.numbers import interval, number, quantity
from spotball_core.text.words import listed, shortened

UNIFORM = "uniform guessing"

_NAME = 80
"""Maximum number of characters of a name."""


@dataclass(frozen=True, slots=True)
class Score:
    """A value as text, its interval in brackets, and its rank with the rank interval; missing parts are empty."""

    value: str
    interval: str = ""
    rank: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """The text of one row of a table; `place` is the entry's position in the ranking, None for uniform guessing."""

    place: int | None
    name: str
    prompt: str
    source: str
    n_images: str
    n_responses: str
    scores: tuple[Score, ...]


def columns_of(ranking: RankTable, keys: tuple[str, ...]) -> list[MetricColumn]:
    """Return the columns of the metrics in `keys` that have a value in a ranking."""
    return [ranking.columns[key] for key in keys if key in ranking.columns and has_value(ranking, key)]


def head(column: MetricColumn) -> str:
    """Return a metric's title with its unit and an arrow toward better values."""
    unit = {"share": " (%)", "none": "", "ratio": ""}.get(column.unit, f" ({column.unit})")
    arrow = {"higher": " ↑", "lower": " ↓"}.get(column.better or "", "")
    return f"{column.title}{unit}{arrow}"


def lines(ranking: RankTable, columns: list[MetricColumn]) -> list[Line]:
    """Return the rows of a ranking's table, sorted by the first column's metric, including uniform guessing."""
    if not columns:
        return []
    shown_lines = [(place, _line(ranking, place, columns)) for place in ranking.order(columns[0].key)]
    out = [line for _, line in shown_lines]
    if any(column.key in ranking.uniform for column in columns):
        out.insert(
            _place_of_uniform(ranking, [place for place, _ in shown_lines], columns[0]), _uniform(ranking, columns)
        )
    return out


def best(ranking: RankTable, columns: list[MetricColumn]) -> Iterator[str]:
    """Yield a sentence on the first entry by the first column's metric, if there are several ranked entries."""
    places = ranking.ranks[columns[0].key] if columns else {}
    if len(places) < 2:
        return
    column, first = columns[0], min(places, key=lambda place: places[place].rank)
    entry, metric = ranking.entries[first], ranking.entries[first].metrics[column.key]
    name = shortened(printable(f"{entry.respondent} {entry.prompt or ''}".rstrip()), _NAME)
    value = quantity(metric.value or 0.0, column.unit)
    known = places[first].interval
    possible = f" Ranks {known[0]} to {known[1]} are possible." if known and known[1] > known[0] else ""
    yield f"{name} is the best of {len(places)} {ranking.ranked}s: {column.title.lower()} {value}.{possible}"


def remarks(ranking: RankTable, columns: list[MetricColumn]) -> Iterator[str]:
    """Yield sentences that introduce a ranking's table."""
    if ranking.is_average:
        yield f"Unweighted means over {listed([printable(str(sport)) for sport in ranking.sports])}."
    if ranking.differs:
        yield printable(ranking.differs)
    if any(entry.is_one_of_several for entry in ranking.entries):
        yield (
            "Some reports contain different scores for the same respondent and prompt. Each score is shown "
            "with its source."
        )
    for column in columns:
        if not ranking.ranks[column.key]:
            without_value = "no model has a value" if ranking.ranked == "model" else "no model or baseline has a value"
            no_target = "the reference has no single value"
            reason = column.why_not or (without_value if ranking.goal(column.key) else no_target)
            yield f"{column.title} has no ranks: {reason}."


def rank_text(rank: Rank | None) -> str:
    """Format a rank and its interval, such as 3 (2–5)."""
    if rank is None:
        return ""
    if rank.interval is None:
        return str(rank.rank)
    first, last = rank.interval
    return f"{rank.rank} ({first})" if first == last else f"{rank.rank} ({first}–{last})"


def _line(ranking: RankTable, place: int, columns: list[MetricColumn]) -> Line:
    entry = ranking.entries[place]
    return Line(
        place=place,
        name=shortened(printable(entry.respondent), _NAME) + _mark(ranking, entry),
        prompt=shortened(printable(entry.prompt or ""), _NAME),
        source=entry.sources[0] if entry.is_one_of_several else "",
        n_images=f"{entry.n_images:,}",
        n_responses=f"{entry.n_responses:,}",
        scores=tuple(_score(ranking, place, column) for column in columns),
    )


def _mark(ranking: RankTable, entry: Entry) -> str:
    """Return the label that explains why an entry has no ranks; empty for ranked entries."""
    if entry.is_reference:
        return " (reference)"
    if entry.kind == "human":
        return " (people)"
    return " (baseline)" if entry.kind == "baseline" and ranking.ranked != "baseline" else ""


def _score(ranking: RankTable, place: int, column: MetricColumn) -> Score:
    value = ranking.entries[place].metrics.get(column.key)
    if value is None or value.value is None:
        return Score("–")
    rank = ranking.ranks[column.key].get(place)
    return Score(number(value.value, column.unit), interval(value.ci95, column.unit), rank_text(rank))


def _uniform(ranking: RankTable, columns: list[MetricColumn]) -> Line:
    known = (ranking.uniform.get(column.key) for column in columns)
    scores = tuple(
        Score("–" if value is None else number(value, column.unit))
        for value, column in zip(known, columns, strict=True)
    )
    return Line(None, UNIFORM, "", "", f"{ranking.n_images:,}", "", scores)


def _place_of_uniform(ranking: RankTable, order: list[int], column: MetricColumn) -> int:
    """Return the number of entries that are at least as good as uniform guessing."""
    values = [value_of(ranking.entries[place], column.key) for place in order]
    own, goal = ranking.uniform.get(column.key), ranking.goal(column.key)
    known = [value for value in values if value is not None]
    if own is None or goal is None:
        return len(known)
    if isinstance(goal, str):
        return sum(value >= own if goal == "higher" else value <= own for value in known)
    return sum(abs(value - goal.value) <= abs(own - goal.value) for value in known)

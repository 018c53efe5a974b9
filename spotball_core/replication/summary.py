"""Summarize a replication on one screen: how many published values are reproduced, by their place in the paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from spotball_core.replication.published import published
from spotball_core.replication.record import ReplicatedFigure, Replication
from spotball_core.replication.text import foot
from spotball_core.schema.result import Forms
from spotball_core.text.first_screen import IN_PYTHON, FirstScreen
from spotball_core.text.words import plural

MORE = "Add --full to see every value with its note. Add --format markdown or json to choose the format."

COLUMNS: Mapping[str, type] = {
    **dict.fromkeys(("where", "sport", "respondent", "prompt", "quantity", "published"), str),
    **dict.fromkeys(("reproduced", "standard"), float),
    **dict.fromkeys(("status", "note", "signature", "signature_reproduced"), str),
}
"""Name and type of each column of a replication's rows."""


@dataclass(frozen=True)
class PlaceCounts:
    """Number of values with each status, for one place in the paper.

    Attributes:
        title: title of the place in the paper.
        match: number of values that are reproduced to their printed precision.
        explained: number of values that differ for a known reason.
        unexplained: number of values that differ without a known reason.
        no_data: number of values that cannot be checked with the given data.
    """

    title: str
    match: int
    explained: int
    unexplained: int
    no_data: int

    @property
    def checked(self) -> int:
        """Number of values that can be checked."""
        return self.match + self.explained + self.unexplained


def count(title: str, items: Sequence[ReplicatedFigure]) -> PlaceCounts:
    """Return how many values have each status."""
    statuses = [item.status for item in items]
    unexplained = sum(item.unexplained for item in items)
    return PlaceCounts(
        title,
        match=statuses.count("match"),
        explained=statuses.count("mismatch") - unexplained,
        unexplained=unexplained,
        no_data=statuses.count("no data"),
    )


def headline(replication: Replication) -> str:
    """State in one sentence how many published values are reproduced."""
    total = count("all", replication.items)
    if not total.checked:
        return f"None of the {plural(total.no_data, 'published value')} can be checked with these data."
    values, are = plural(total.checked, "published value"), "is" if total.match == 1 else "are"
    parts = [f"{total.match:,} of {values} that can be checked {are} reproduced to the printed precision"]
    if total.explained:
        parts.append(f"{total.explained:,} {'differs' if total.explained == 1 else 'differ'} for a known reason")
    if total.unexplained:
        parts.append(
            f"{total.unexplained:,} {'differs' if total.unexplained == 1 else 'differ'} without a known reason"
        )
    if total.no_data:
        parts.append(f"{total.no_data:,} cannot be checked with these data")
    return "; ".join(parts) + "."


def to_summary(replication: Replication, *, to_terminal: bool = False, more: str = MORE) -> str:
    """Return the headline, a table with a row per place in the paper, the unexplained values and the signatures.

    Args:
        replication: all published values.
        to_terminal: whether the text may use the width of the terminal that standard output is connected to.
        more: how to see more than the summary.
    """
    return _screen(replication, more).text(to_terminal=to_terminal)


def _html(replication: Replication) -> str:
    return _screen(replication, IN_PYTHON).html("Number of published values by place in the paper")


def _screen(replication: Replication, more: str) -> FirstScreen:
    titles = published().titles
    places = [
        count(titles[where], list(items)) for where, items in groupby(replication.items, key=lambda item: item.where)
    ]
    checked = [place for place in places if place.checked]
    rows = [*checked, count("all", replication.items)]
    notes = []
    if unchecked := [place for place in places if not place.checked]:
        names = ", ".join(place.title.partition(":")[0] for place in unchecked)
        notes.append(f"No value can be checked in these places: {names}.")
    return FirstScreen(
        headline(replication),
        ["place in the paper", "match", "known\nreason", "no known\nreason", "no\ndata"],
        [[row.title, *(f"{n:,}" for n in (row.match, row.explained, row.unexplained, row.no_data))] for row in rows],
        n_names=1,
        notes=[*notes, more],
        signature=foot(replication),
    )


def frame_rows(replication: Replication) -> Iterator[tuple[object, ...]]:
    """Yield one row per published value."""
    for item in replication.items:
        names = (item.where, item.sport, item.respondent, item.prompt, item.quantity)
        values = (item.published, item.reproduced, item.standard, item.status, item.note)
        yield (*names, *values, replication.signature, replication.signature_reproduced)


FORMS = Forms(text=partial(to_summary, more=IN_PYTHON), html=_html, columns=COLUMNS, rows=frame_rows)

"""Write a replication as text, for a terminal or as Markdown, with a section for each place in the paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING

from spotball_core.errors import SHOWN_PROBLEMS
from spotball_core.replication.published import parts, published
from spotball_core.replication.record import ReplicatedFigure, Replication
from spotball_core.schema.result import Forms
from spotball_core.service.safe_text import markdown_row, markdown_text, rich_text
from spotball_core.text.first_screen import IN_PYTHON, FirstScreen
from spotball_core.text.tables import print_lines, printed_text
from spotball_core.text.words import plural

if TYPE_CHECKING:
    from rich.console import Console


HEADS = ("published", "reproduced", "standard", "status")

_MOST_DECIMALS = 4
_ABOUT = (
    "The published value is the number that the paper prints. The reproduced value is computed with the published "
    "method, and the standard value with the standard policy of `spotball score`. A match agrees with the published "
    "value to its printed precision."
)


@dataclass(frozen=True)
class _Section:
    """The text about one place in the paper.

    Attributes:
        title: title of the place.
        rows: items with a reproduced or a standard value, each with the letter of its note (empty without a note).
        notes: the letter of each distinct note.
        without: items with neither value, in groups: the number of items, their names, and the data that they need.
    """

    title: str
    rows: list[tuple[ReplicatedFigure, str]]
    notes: dict[str, str]
    without: list[tuple[int, str, str | None]]


def to_text(replication: Replication, *, width: int = 100) -> str:
    """Return the replication as tables that are at most `width` characters wide, with notes below each table."""
    return printed_text(lambda console: _print(replication, console), width)


def _print(replication: Replication, console: Console) -> None:
    from rich.padding import Padding
    from rich.table import Table

    console.print(rich_text(_summary(replication)), rich_text(_ABOUT), sep="\n")
    for section in _sections(replication):
        console.print()
        console.print(rich_text(section.title))
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column("", overflow="fold")
        for head in HEADS:
            table.add_column(head, justify="left" if head == "status" else "right", no_wrap=True)
        for quantity, rows in groupby(section.rows, key=lambda row: row[0].quantity):
            table.add_row(rich_text(quantity))
            for item, letter in rows:
                table.add_row(rich_text(f"  {item.name}"), *_cells(item), f"{item.status} {letter}".strip())
        if section.rows:
            console.print(Padding(table, (0, 0, 0, 2)))
        for note, letter in section.notes.items():
            console.print(Padding(rich_text(f"{letter}  {note}"), (0, 0, 0, 2)))
        for line in _lacking(section):
            console.print(Padding(rich_text(line), (0, 0, 0, 2)))
    console.print()
    print_lines(foot(replication), console)


def to_markdown(replication: Replication) -> str:
    """Return the replication as Markdown tables, with notes below each table and the signatures at the end."""
    lines = [_summary(replication), "", _ABOUT, ""]
    for section in _sections(replication):
        lines += [f"**{markdown_text(section.title)}**", ""]
        if section.rows:
            lines += [markdown_row(("quantity", "of", *HEADS)), markdown_row(("---", "---", *["---:"] * 3, "---"))]
            lines += [
                markdown_row((item.quantity, item.name, *_cells(item), f"{item.status} {letter}".strip()))
                for item, letter in section.rows
            ]
            lines.append("")
        if section.notes:
            lines += [*(f"- {letter}: {markdown_text(note)}" for note, letter in section.notes.items()), ""]
        for line in _lacking(section):
            lines += [markdown_text(line), ""]
    return "\n".join([*lines, *(f"{markdown_text(line)}  " for line in foot(replication).splitlines())]) + "\n"


# Content -------------------------------------------------------------------------------------------------


def _summary(replication: Replication) -> str:
    statuses = [item.status for item in replication.items]
    unexplained = len(replication.unexplained)
    explanation = f"{unexplained} unexplained" if unexplained else "each with a known cause"
    mismatches = statuses.count("mismatch")
    return (
        f"{_number(len(statuses), 'published value')}: {_number(statuses.count('match'), 'match', 'matches')}, "
        f"{_number(mismatches, 'mismatch', 'mismatches')}{f' ({explanation})' if mismatches else ''}, "
        f"{statuses.count('no data')} without data to check them"
    )


def _sections(replication: Replication) -> Iterator[_Section]:
    titles = published().titles
    for where, items in groupby(replication.items, key=lambda item: item.where):
        by_quantity: dict[str, list[ReplicatedFigure]] = {}
        for item in items:
            by_quantity.setdefault(item.quantity, []).append(item)
        all_items = [item for group in by_quantity.values() for item in group]
        shown = [item for item in all_items if item.reproduced is not None or item.standard is not None]
        notes: dict[str, str] = {}
        rows = []
        for item in shown:
            letter = notes.setdefault(item.note, _letter(len(notes))) if item.note else ""
            rows.append((item, letter))
        without: dict[str | None, list[ReplicatedFigure]] = {}
        for item in all_items:
            if item.reproduced is None and item.standard is None:
                without.setdefault(item.note, []).append(item)
        lacking = [(len(group), _covering(group, shown), need) for need, group in without.items()]
        yield _Section(titles[where], rows, notes, lacking)


def _lacking(section: _Section) -> list[str]:
    return [
        f"no data for {_number(count, 'value')}{f' ({need})' if need else ''}: {names}"
        for count, names, need in section.without
    ]


def _covering(without: Sequence[ReplicatedFigure], shown: Sequence[ReplicatedFigure]) -> str:
    """Return short names for items without data: a whole sport or respondent if none of its items has data."""
    sports = {item.sport for item in shown}
    respondents = {(item.sport, item.respondent) for item in shown}
    names: dict[str, None] = {}
    for item in without:
        if item.sport is None:
            names[f"{item.respondent} {item.quantity}" if item.respondent else item.quantity] = None
        elif item.sport not in sports:
            names[item.sport] = None
        elif item.respondent is None or (item.sport, item.respondent) in respondents:
            names[item.name if item.prompt or item.respondent is None else f"{item.name} over prompts"] = None
        else:
            names[f"{item.sport}/{item.respondent}"] = None
    return ", ".join(names)


def _cells(item: ReplicatedFigure) -> tuple[str, str, str]:
    decimals = _decimals(item)
    printed = item.published or "-"
    if item.published and len(item.published.partition(".")[2]) > _MOST_DECIMALS:
        printed = f"{float(item.published):.{decimals}f}"
    reproduced, standard = (
        "-" if value is None else f"{value:.{decimals}f}" for value in (item.reproduced, item.standard)
    )
    return printed, reproduced, standard


def _decimals(item: ReplicatedFigure) -> int:
    """Return the number of decimals to print; it is 3 if the published value is a bound."""
    if item.published is None:
        return 0 if item.quantity.startswith("images") else 1 if "px" in item.quantity else 3
    bound, number = parts(item.published)
    return 3 if bound else min(_MOST_DECIMALS, max(0, -int(number.as_tuple().exponent)))


def foot(replication: Replication) -> str:
    """Return the lines to print below a replication: its unexplained figures and its signatures."""
    lines = [f"standard: {replication.signature}", f"reproduced: {replication.signature_reproduced}"]
    unexplained = [f"unexplained: {item.where}, {item.name}, {item.quantity}" for item in replication.unexplained]
    if more := unexplained[SHOWN_PROBLEMS:]:
        unexplained[SHOWN_PROBLEMS:] = [f"... and {len(more)} more unexplained"]
    return "\n".join([*unexplained, *lines])


def _number(n: int, singular: str, plural: str | None = None) -> str:
    return f"{n} {singular if n == 1 else plural or singular + 's'}"


def _letter(number: int) -> str:
    """Return a, b, ..., z, aa, ab, ..."""
    first, last = divmod(number, 26)
    return (_letter(first - 1) if first else "") + chr(ord("a") + last)


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

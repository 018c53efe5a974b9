"""Write a replication as text, for a terminal or as Markdown, with a section for each place in the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from spotball_core.errors import SHOWN_PROBLEMS
from spotball_core.replication.published import parts, published
from spotball_core.replication.record import ReplicatedFigure, Replication
from spotball_core.service.safe_text import markdown_row, markdown_text, rich_text
from spotball_core.text.tables import print_lines, printed_text

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

"""Format the summary that a command prints first: a sentence to quote, a narrow table, and notes."""

from __future__ import annotations

import io
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Literal

from spotball_core.service.safe_text import rich_text

WIDTH = 80
"""Width of the text in columns if standard output is not a terminal."""

_NARROWEST = 40

_GAP = 2
"""Blanks between columns."""

_SHORTEST = 8
"""Minimum number of characters of a shortened name."""


def first_screen(
    headline: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    n_names: int,
    n_words: int = 0,
    about: str = "",
    warnings: Iterable[str] = (),
    notes: Iterable[str] = (),
    signature: str = "",
    to_terminal: bool = False,
) -> str:
    """Return a summary of a result as text. Names that are too long are shortened; numbers are not.

    Args:
        headline: the result in a sentence.
        heads: headings of the table's columns. A heading may have two lines.
        rows: the rows of the table.
        n_names: number of leading columns that contain names, which may be shortened.
        n_words: number of columns after the names that contain words, which are never shortened. The remaining columns
            contain numbers.
        about: text above the table that names its subject.
        warnings: warnings below the table, one line each. On a terminal, they are wrapped between words.
        notes: sentences below the warnings.
        signature: last lines, which are not wrapped, such as the signature of the scores or paths.
        to_terminal: whether the text has the width of the terminal, if standard output is a terminal.
    """
    from rich.console import Console
    from rich.table import Table

    on_terminal = to_terminal and sys.stdout.isatty()
    width = max(Console().width, _NARROWEST) if on_terminal else WIDTH
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    widths = [_width(head, [row[column] for row in rows]) for column, head in enumerate(heads)]
    _shorten(widths, n_names, width - _GAP * (len(heads) - 1))
    for column, (head, column_width) in enumerate(zip(heads, widths, strict=True)):
        justify: Literal["left", "right"] = "left" if column < n_names + n_words else "right"
        table.add_column(
            rich_text(head), justify=justify, width=column_width, no_wrap=True, overflow="ellipsis", header_style=""
        )
    for row in rows:
        table.add_row(*map(rich_text, row))
    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=on_terminal or None)

    def say(text: str, style: str = "") -> None:
        lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
        console.print(rich_text("\n".join(lines), style), soft_wrap=True)

    say(headline, "bold")
    console.print()
    if about:
        say(about)
        console.print()
    console.print(table)
    console.print()
    for line in (f"warning: {warning}" for warning in warnings):
        if on_terminal:
            say(line)
        else:
            console.print(rich_text(line), soft_wrap=True)
    for note in notes:
        say(note)
    if signature:
        console.print(rich_text(signature), soft_wrap=True)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _width(head: str, cells: Iterable[str]) -> int:
    """Return the smallest width of a column at which no text is cut off."""
    from rich.cells import cell_len

    return max(cell_len(text) for text in (*head.split("\n"), *cells))


def _shorten(widths: list[int], n_names: int, available: int) -> None:
    """Make the widest columns of names narrower until all columns fit, or until no name can be shortened further."""
    while n_names and sum(widths) > available:
        widest = max(range(n_names), key=lambda column: widths[column])
        if widths[widest] <= _SHORTEST:
            return
        widths[widest] -= 1

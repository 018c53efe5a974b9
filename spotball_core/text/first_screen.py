"""Write the summary that a command prints first: a sentence to quote, a narrow table, and a pointer to the rest."""

from __future__ import annotations

import io
import sys
import textwrap
from collections.abc import Iterable, Sequence

from spotball_core.service.safe_text import rich_text

WIDTH = 80
"""Width of the text in columns if standard output is not a terminal."""

_NARROWEST = 40


def first_screen(
    headline: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    n_names: int,
    about: str = "",
    warnings: Iterable[str] = (),
    notes: Iterable[str] = (),
    signature: str,
    to_terminal: bool = False,
) -> str:
    """Write a summary of a result. Names that are too long are shortened; numbers are not.

    Args:
        headline: the result in a sentence.
        heads: the heads of the table's columns; a head may have two lines.
        rows: the rows of the table.
        n_names: number of leading columns that are names; the others are numbers.
        about: what the table is about.
        warnings: warnings, printed on one line each.
        notes: sentences below the table.
        signature: the signature of the numbers.
        to_terminal: whether the text may use the width of the terminal that standard output is connected to.
    """
    from rich.console import Console
    from rich.table import Table

    on_terminal = to_terminal and sys.stdout.isatty()
    width = max(Console().width, _NARROWEST) if on_terminal else WIDTH
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column, head in enumerate(heads):
        if column < n_names:
            table.add_column(rich_text(head), no_wrap=True, overflow="ellipsis", header_style="")
        else:
            widest = max(len(text) for text in (*head.split("\n"), *(row[column] for row in rows)))
            table.add_column(head, justify="right", min_width=widest, no_wrap=True, header_style="")
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
        console.print(rich_text(line), soft_wrap=True)
    for note in notes:
        say(note)
    console.print(rich_text(signature), soft_wrap=True)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"

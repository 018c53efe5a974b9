"""Format the summary that a command prints first: a sentence to quote, a narrow table, and notes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from spotball_core.service.safe_text import rich_text
from spotball_core.text.tables import is_terminal, printed_text, tables_as_html

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 80
"""Width of the text in columns if standard output is not a terminal."""

IN_PYTHON = "Call to_frame() to get all numbers."
"""Note in Python, where commands print which options to add."""

_NARROWEST = 40

_GAP = 2
"""Blanks between columns."""

_SHORTEST = 8
"""Minimum number of characters of a shortened name."""


@dataclass(frozen=True)
class FirstScreen:
    """A summary of a result.

    Attributes:
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
    """

    headline: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    n_names: int
    n_words: int = 0
    about: str = ""
    warnings: Sequence[str] = ()
    notes: Sequence[str] = ()
    signature: str = ""

    def text(self, *, to_terminal: bool = False) -> str:
        """Return the summary as text. Names that are too long are shortened; numbers are not.

        Args:
            to_terminal: whether the text has the width of the terminal, if standard output is a terminal.
        """
        wrap_warnings = is_terminal(to_terminal)
        return printed_text(
            lambda console: self._print(console, wrap_warnings), WIDTH, narrowest=_NARROWEST, to_terminal=to_terminal
        )

    def html(self, caption: str = "") -> str:
        """Return the summary as HTML, with complete names.

        Args:
            caption: the table's caption. Default: `about`.
        """
        table = (caption or self.about, self.n_names, self.heads, self.rows)
        foot = [*(f"warning: {warning}" for warning in self.warnings), *self.notes, *self.signature.splitlines()]
        return tables_as_html([self.headline], [table], foot)

    def _print(self, console: Console, wrap_warnings: bool) -> None:
        from rich.table import Table

        table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
        widths = [_width(head, [row[column] for row in self.rows]) for column, head in enumerate(self.heads)]
        _shorten(widths, self.n_names, console.width - _GAP * (len(self.heads) - 1))
        for column, (head, column_width) in enumerate(zip(self.heads, widths, strict=True)):
            justify: Literal["left", "right"] = "left" if column < self.n_names + self.n_words else "right"
            table.add_column(
                rich_text(head), justify=justify, width=column_width, no_wrap=True, overflow="ellipsis", header_style=""
            )
        for row in self.rows:
            table.add_row(*map(rich_text, row))

        def say(text: str, style: str = "") -> None:
            lines = textwrap.wrap(text, console.width, break_long_words=False, break_on_hyphens=False)
            console.print(rich_text("\n".join(lines), style), soft_wrap=True)

        say(self.headline, "bold")
        console.print()
        if self.about:
            say(self.about)
            console.print()
        console.print(table)
        console.print()
        for line in (f"warning: {warning}" for warning in self.warnings):
            if wrap_warnings:
                say(line)
            else:
                console.print(rich_text(line), soft_wrap=True)
        for note in self.notes:
            say(note)
        if self.signature:
            console.print(rich_text(self.signature), soft_wrap=True)


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

"""Format tables as text for a terminal, as Markdown, as LaTeX and as HTML."""

from __future__ import annotations

import io
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from spotball_core.service.safe_text import html_text, latex_text, markdown_row, markdown_text, rich_text

if TYPE_CHECKING:
    from rich.console import Console


_WIDE = 80

Titled = tuple[str, int, Sequence[str], Sequence[Sequence[str]]]
"""A table: its title, the number of leading columns that contain names, the column headings, and the rows."""


def print_tables(tables: Iterable[Titled], foot: str, console: Console) -> None:
    """Print tables, and the text `foot` below the last table.

    A table that is wider than the console is split into several tables, so that no number is cut.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    for title, n_names, heads, rows in tables:
        widths = [_width(head, [row[i] for row in rows]) for i, head in enumerate(heads)]
        for number, columns in enumerate(columns_that_fit(widths, n_names, console.width)):
            table = Table(title=None if number else rich_text(title, "bold"), title_justify="left", header_style="")
            table.box = SIMPLE_HEAD
            for i in columns:
                # Names may be wrapped, numbers may not.
                if i < n_names:
                    table.add_column(rich_text(heads[i]), overflow="fold")
                else:
                    table.add_column(rich_text(heads[i]), justify="right", min_width=widths[i])
            for row in rows:
                table.add_row(*(rich_text(row[i]) for i in columns))
            console.print(table)
    print_lines(foot, console)


def print_lines(text: str, console: Console) -> None:
    """Print lines; on a terminal, they are wrapped between words."""
    lines = text.splitlines()
    if console.is_terminal:
        wrapped = (textwrap.wrap(line, console.width, break_long_words=False, break_on_hyphens=False) for line in lines)
        lines = [part for parts in wrapped for part in parts or [""]]
    console.print(rich_text("\n".join(lines)), soft_wrap=True)


def _width(head: str, cells: list[str]) -> int:
    """Return the minimum width of a column. Its heading may be wrapped between words, its cells only at line breaks."""
    return max(len(part) for part in (*head.split(), *(line for cell in cells for line in cell.split("\n"))))


def columns_that_fit(widths: list[int], n_names: int, width: int) -> Iterator[list[int]]:
    """Yield the column indices of each table: all columns of names, and as many of numbers as fit, at least one."""
    names = list(range(n_names))
    group: list[int] = []
    for i in range(n_names, len(widths)):
        # Each column has a space on both sides and a separator; the table has one space on its left.
        if group and sum(widths[j] + 3 for j in (*names, *group, i)) + 1 > width:
            yield names + group
            group = []
        group.append(i)
    yield names + group


def tables_as_text(tables: Iterable[Titled], foot: str, *, to_terminal: bool = False) -> str:
    """Return the text that `print_tables` prints: 80 columns wide, or with `to_terminal` as wide as the terminal."""
    return printed_text(lambda console: print_tables(tables, foot, console), _WIDE, to_terminal=to_terminal)


def is_terminal(to_terminal: bool) -> bool:
    """Return whether a text is for the terminal, and standard output is a terminal."""
    return to_terminal and sys.stdout.isatty()


def printed_text(show: Callable[[Console], None], width: int, *, narrowest: int = 1, to_terminal: bool = False) -> str:
    """Return the text that a function prints to a console.

    Args:
        show: the function.
        width: number of columns.
        narrowest: minimum number of columns on a terminal.
        to_terminal: whether the text has the width of the terminal, if standard output is a terminal. Other texts
            have no colors.
    """
    from rich.console import Console

    on_terminal = is_terminal(to_terminal)
    # None: the environment variables that Rich reads, such as FORCE_COLOR, decide.
    colored = (on_terminal or None) if to_terminal else False
    out = io.StringIO()
    if on_terminal:
        width = max(Console().width, narrowest)
    # In a notebook, Rich displays the text instead of writing it to the file, unless force_jupyter is False.
    console = Console(file=out, width=width, force_terminal=colored, force_jupyter=False)
    show(console)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def paragraphs(texts: Iterable[str], *, to_terminal: bool = False) -> str:
    """Return texts on lines of their own; on a terminal, they are wrapped between words."""

    def show(console: Console) -> None:
        for text in texts:
            print_lines(text, console)

    return printed_text(show, _WIDE, to_terminal=to_terminal)


def beside(name: str, text: str) -> str:
    """Return a name with a text to its right, wrapped to 80 columns.

    Examples:
        >>> print(beside("scene  ", "A line of scenes.jsonl, which describes an image, its players and the ball."))
        scene  A line of scenes.jsonl, which describes an image, its players and the
               ball.
    """
    indent = " " * len(name)
    lines = textwrap.wrap(text, _WIDE, initial_indent=name, subsequent_indent=indent, break_on_hyphens=False)
    return "\n".join(lines) or name.rstrip()


def tables_as_markdown(tables: Iterable[Titled], foot: str) -> str:
    """Return tables in Markdown, with the text `foot` below the last table."""
    lines: list[str] = []
    for title, n_names, heads, rows in tables:
        rules = ["---"] * n_names + ["---:"] * (len(heads) - n_names)
        lines += [f"**{markdown_text(title)}**", "", *map(markdown_row, (heads, rules, *rows)), ""]
    for line in foot.splitlines():
        if lines and lines[-1].startswith("- ") and not line.startswith("- "):
            # Otherwise the line would become part of the list's last item.
            lines.append("")
        lines.append(f"{markdown_text(line)}  ")
    return "\n".join(lines) + "\n"


def tables_as_latex(tables: Iterable[Titled], foot: str) -> str:
    """Return tables in LaTeX, with rules of the package booktabs. The titles and `foot` are written as comments."""
    lines: list[str] = []
    for title, n_names, heads, rows in tables:
        columns = "l" * n_names + "r" * (len(heads) - n_names)
        lines += [f"% {latex_text(title)}", rf"\begin{{tabular}}{{{columns}}}", r"\toprule"]
        head, *body = (f"{' & '.join(map(latex_text, row))} \\\\" for row in (heads, *rows))
        lines += [head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}", ""]
    return "\n".join([*lines, *(f"% {latex_text(line)}" for line in foot.splitlines())]) + "\n"


_LEFT, _RIGHT, _NUMBER = (
    f' style="{style}"' for style in ("text-align: left", "text-align: right", "text-align: right; white-space: nowrap")
)


def tables_as_html(headlines: Iterable[str], tables: Iterable[Titled], foot: Iterable[str]) -> str:
    """Return sentences, tables and the lines below the last table as HTML, without style sheets or scripts.

    Examples:
        >>> print(tables_as_html(["1 < 2."], [("Scores", 1, ["name", "n"], [["a&b", "1"]])], ["v:1"]))
        <div>
        <p><strong>1 &lt; 2.</strong></p>
        <table>
        <caption style="text-align: left">Scores</caption>
        <thead>
        <tr><th scope="col" style="text-align: left">name</th><th scope="col" style="text-align: right">n</th></tr>
        </thead>
        <tbody>
        <tr><th scope="row" style="text-align: left">a&amp;b</th><td style="...">1</td></tr>
        </tbody>
        </table>
        <p><small>v:1</small></p>
        </div>
    """
    lines = ["<div>", *(f"<p><strong>{html_text(sentence)}</strong></p>" for sentence in headlines)]
    for title, n_names, heads, rows in tables:
        lines += ["<table>", f"<caption{_LEFT}>{html_text(title)}</caption>", "<thead>"]
        lines += [_row(heads, n_names, "col"), "</thead>", "<tbody>"]
        lines += [*(_row(row, n_names, "row") for row in rows), "</tbody>", "</table>"]
    small = "<br>".join(map(html_text, foot))
    return "\n".join([*lines, f"<p><small>{small}</small></p>", "</div>"])


def _row(cells: Sequence[str], n_names: int, scope: Literal["col", "row"]) -> str:
    """Return a row of headings (scope "col"), or a row whose first `n_names` cells are headings (scope "row")."""
    parts = []
    for i, cell in enumerate(cells):
        if scope == "col" or i < n_names:
            style = _LEFT if i < n_names else _RIGHT
            parts.append(f'<th scope="{scope}"{style}>{html_text(cell)}</th>')
        else:
            parts.append(f"<td{_NUMBER}>{html_text(cell)}</td>")
    return f"<tr>{''.join(parts)}</tr>"

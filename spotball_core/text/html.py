"""Format tables as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from spotball_core.service.safe_text import html_text
from spotball_core.text.tables import Titled

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

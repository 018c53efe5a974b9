"""Make text from data safe to show in a terminal, in Markdown, in HTML, in LaTeX, or in a CSV file."""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl
    from rich.text import Text

# Single surrogates stand for bytes in a file's name that are not UTF-8. They cannot be printed.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_HTML = re.compile(r"<(?=[A-Za-z/!?])|&(?=#?\w+;)")
_HTML_NAMES = {"<": "&lt;", "&": "&amp;"}

_LATEX: Final = {sign: f"\\{sign}" for sign in "#$%&_{}"} | {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "±": r"$\pm$",
}

_SIGNS: Final = r"=+\-@＝＋－＠"
_START: Final = rf"^(){{}}('*[{_SIGNS}\t\r\n])"
_LATER: Final = rf"([;\t\r\n][ \t\r\n\"]*){{}}('*[{_SIGNS}])"
_FORMULAS: Final = [pattern.format("") for pattern in (_LATER, _START)]
_MARKED: Final = [pattern.format("'") for pattern in (_START, _LATER)]


def printable(text: str) -> str:
    r"""Return a text in which control characters are written as `\uXXXX`, as in JSON. Tabs and line breaks are kept.

    A terminal would interpret control characters: they can clear the screen, change the title, or hide text.

    Examples:
        >>> print(printable("a\x1b[2Jb"))
        a\u001b[2Jb
    """
    return _CONTROL.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def show(text: str, *, err: bool = False, end: str = "\n", styled: bool = False) -> None:
    """Print a text.

    All commands print with this function, so that terminals do not interpret control characters in data.

    Args:
        err: whether to print to standard error, and flush.
        end: printed after the text.
        styled: the text has colors from Rich, whose input was made safe by `rich_text`.
    """
    print(text if styled else printable(text), end=end, file=sys.stderr if err else sys.stdout, flush=err)


def rich_text(text: str, style: str = "") -> Text:
    """Return the text for Rich: control characters are escaped, and markup such as `[red]` is shown literally."""
    from rich.text import Text

    return Text(printable(text), style=style)


def markdown_text(text: str) -> str:
    r"""Return a text for a line of Markdown: HTML and links in it are shown literally.

    Examples:
        >>> print(markdown_text("<b>a</b> [b](c) p < 0.05"))
        &lt;b>a&lt;/b> [b]\(c) p < 0.05
    """
    safe = _HTML.sub(lambda sign: _HTML_NAMES[sign[0]], printable(text))
    return safe.replace("](", "]\\(").replace("\n", " ")


def markdown_row(cells: Iterable[str]) -> str:
    r"""Return a row of a Markdown table.

    Examples:
        >>> print(markdown_row(["a|b", "1"]))
        | a\|b | 1 |
    """
    return "| " + " | ".join(markdown_text(cell).replace("|", "\\|") for cell in cells) + " |"


def html_text(text: str) -> str:
    r"""Return a text for HTML: all characters are shown literally, and line breaks are kept.

    Examples:
        >>> print(html_text("<b>a</b> & 'b'\nc"))
        &lt;b&gt;a&lt;/b&gt; &amp; &#x27;b&#x27;<br>c
    """
    return html.escape(printable(text)).replace("\n", "<br>")


def latex_text(text: str) -> str:
    r"""Return a text for LaTeX, on one line: all characters are shown literally.

    Examples:
        >>> print(latex_text("50% of a_b & c"))
        50\% of a\_b \& c
    """
    return "".join(_LATEX.get(sign, sign) for sign in printable(text).replace("\n", " "))


def csv_cells(values: Iterable[object]) -> list[object]:
    """Return the values of a CSV row, with an apostrophe before each text that a spreadsheet would run as a formula.

    Such a text starts with `=`, `+`, `-`, `@` or one of these signs in full width, after any apostrophes. It starts a
    value, or follows a semicolon, a tab or a line break in a value, where spreadsheets of some languages begin a new
    cell even between quotation marks. A tab or a line break at the start of a value gets an apostrophe, too. Numbers
    are unchanged. `csv_restored` removes the apostrophes.

    Examples:
        >>> csv_cells(["=1+1", "it's", "'=1", "x;=1+1", -1.5, None])
        ["'=1+1", "it's", "''=1", "x;'=1+1", -1.5, None]
    """

    def safe(text: str) -> str:
        for pattern in _FORMULAS:
            text = re.sub(pattern, r"\1'\2", text)
        return text

    return [safe(value) if isinstance(value, str) else value for value in values]


def csv_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose text columns are converted as in `csv_cells`."""
    import polars as pl

    text = pl.col(pl.String)
    for pattern in _FORMULAS:
        text = text.str.replace_all(pattern, "${1}'$2")
    return frame.with_columns(text)


def csv_restored(text: pl.Expr) -> pl.Expr:
    """Return a text column, read from CSV, without the apostrophes that `csv_cells` added."""
    for pattern in _MARKED:
        text = text.str.replace_all(pattern, "$1$2")
    return text

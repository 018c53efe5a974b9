"""Read the single cell that a short text names, such as the text after `Cell:`, or the reason why it is missing.

If a text can be read in two ways, no cell is returned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from spotball_core.errors import GridError
from spotball_core.grid import Grid, row_number

Unread = Literal["no answer", "several answers", "a range", "outside the grid", "cut off"]
"""Reasons why a text names no cell."""


@dataclass(frozen=True, slots=True)
class ReadCell:
    """The cell that a text names, in its canonical spelling, or the reason why it is missing."""

    cell: str | None
    problem: Unread | None = None


# Repetitions are bounded or possessive throughout, so that reading takes time in proportion to the text.
_GAP = r"\s{0,2}[,\-_]?\s{0,2}"
# Several letters count only if they touch the number or are capitals: "in 4" is not a cell.
_LETTERS = r"(?:[A-Za-z]{1,3}(?=[-_]?[0-9])|[A-Z]{1,3}|[a-z])"
_AFTER_NUMBER = r"(?!(?:st|nd|rd|th)\b)(?:(?<=[0-9\-_])[A-Za-z]{1,3}|[A-Z]{1,3}|[a-z])"
_ROW, _COL = r"row\s{0,2}[:=]?\s{0,2}", r"col(?:umn|\.)?\s{0,2}[:=]?\s{0,2}"
_BETWEEN = r"\s{0,2}(?:[,;/|]|and\b)?\s{0,2}"
_SPELLINGS = (
    rf"(?P<row_a>{_LETTERS})(?P<gap_a>{_GAP})(?P<col_a>[0-9]{{1,4}})",
    rf"(?P<col_b>[0-9]{{1,4}})(?P<gap_b>{_GAP})(?P<row_b>{_AFTER_NUMBER})",
    rf"(?i:{_ROW})(?P<row_c>[A-Za-z]{{1,3}})(?i:{_BETWEEN}{_COL})(?P<col_c>[0-9]{{1,4}})",
    rf"(?i:{_COL})(?P<col_d>[0-9]{{1,4}})(?i:{_BETWEEN}{_ROW})(?P<row_d>[A-Za-z]{{1,3}})",
)
# Not part of a word or of a number such as 4.5. Spellings in words come first: "row D" contains no other spelling.
_ANY = rf"(?<!\w)(?:{'|'.join(reversed(_SPELLINGS))})(?!\w)(?![.,][0-9])"
_CELL = re.compile(rf"[(\[{{<\s]{{0,6}}{_ANY}")
_MENTION = re.compile(_ANY)
_CLOSED = re.compile(r"\s{0,3}[)\]}>]")

_MARKUP = re.compile(r"\\(?:boxed|text|textbf|mathbf|mathrm)\b|[*`$\"'“”„«»‘’]|(?<![^\W_])_|_(?![^\W_])")
_PLACEHOLDER = re.compile(r"\s{0,9}[<\[]([^<>\[\]]*+)([>\]]?)")
_LEAD = re.compile(
    r"(?:(?:the|grid|cell|square|label|ball|is|it|would|be|at|in|most|likely|probably)\b[\s:,]{0,3}){0,8}", re.I
)
_NAMING = re.compile(r"(?:(?:the|final|grid|cell|guess)\b\s{0,3}){0,4}", re.I)
_JOINING = re.compile(r"\b(?:or|and|to|through|between|from|either)\b", re.I)

_SPAN = re.compile(r"\s{0,3}(?:-{1,2}>?|~|\.{2,3}|…|→|to\b|through\b|thru\b|until\b)\s{0,3}", re.I)
_OR = re.compile(r"[\s,;(\[]{0,4}(?:and\s?/\s?)?or\b", re.I)
_ALSO = re.compile(r"\s{0,3}(?:[/&|+,;]|and\b)\s{0,3}", re.I)
# Parts that continue a range or a list although they are not cells: D4-5, D4/E. Not "D4, 2 meters away".
_PART = re.compile(r"(?:[0-9]{1,4}|[A-Z])(?!\s?[\w%])")
_FROM = re.compile(r"[\W_]{0,9}(?:somewhere\s)?(?:between|from|among)\b", re.I)
_CELL_LIKE = re.compile(r"[^\W\d_][\s\-,]?\d|\d[\s\-,]?[^\W\d_](?!\w)")

_LONGEST_ALONE = 400


def read_value(value: str, grid: Grid, *, unfinished: bool = False) -> ReadCell | None:
    """Return the cell in the text after `Cell:`, or None if the text names nothing or is an unfilled placeholder.

    The text must begin with a cell. Words after it may explain the cell, but must not name another cell of the grid.

    Args:
        value: text in plain characters; see `plain_text.plain`.
        grid: the grid of the cells.
        unfinished: whether the text was cut off at the end of `value`, so that `D1` may be the start of `D10`.

    Examples:
        >>> grid = Grid.standard()
        >>> read_value(" **D4** (near the net)", grid)
        ReadCell(cell='D4', problem=None)
        >>> read_value("D4 or D5", grid)
        ReadCell(cell=None, problem='several answers')
        >>> read_value("<What grid cell is it? A label like F4.>", grid)
    """
    value = _filled_in(_MARKUP.sub(" ", value), grid).lstrip()
    match = _CELL.match(value)
    if match is None:
        value = _without(_LEAD, value)
        match = _CELL.match(value)
    if match is None:
        return _nothing_read(value)
    row, gap, col, end = _parts(match)
    closed = _CLOSED.match(value, end)
    tail = value[closed.end() if closed else end :]
    if gap.strip("-_") and not closed and re.match(r"\s{0,3}\w", tail):
        # "A 4 meter gap" does not name a cell.
        return ReadCell(None, "no answer")
    cell = _in_grid(row, col, grid)
    if problem := _contested(cell, tail, grid):
        return ReadCell(None, problem)
    if unfinished and end == len(value) and _extends(match, grid):
        return ReadCell(None, "cut off")
    return ReadCell(cell) if cell else ReadCell(None, "outside the grid")


def read_alone(text: str, grid: Grid, *, unfinished: bool = False) -> ReadCell | None:
    """Return the result for a text that consists only of cells, or None for any other text.

    Examples:
        >>> read_alone("`4d`.", Grid.standard())
        ReadCell(cell='D4', problem=None)
        >>> read_alone("D4 it is", Grid.standard())
    """
    if len(text) > _LONGEST_ALONE:
        return None
    bare = _MARKUP.sub(" ", text).strip("#>|- \t\r\n")
    bare = _without(_NAMING, bare.lstrip(":"))
    left = _CELL.sub(" ", bare)
    if left == bare or re.search(r"\w", _JOINING.sub(" ", left)):
        return None
    return read_value(bare, grid, unfinished=unfinished and text.endswith(bare))


def _without(start: re.Pattern[str], text: str) -> str:
    match = start.match(text)
    return text[match.end() :] if match else text


def _filled_in(value: str, grid: Grid) -> str:
    """Return a value without a leading placeholder such as <Answer with a label like F4.>."""
    match = _PLACEHOLDER.match(value)
    if match is None or not match[1].strip():
        return value
    rest = value[match.end() :]
    return match[1] + (" " if match[2] else "") + rest if read_alone(match[1], grid) else rest


def _parts(match: re.Match[str]) -> tuple[str, str, str, int]:
    """Return the row's letters, the text between row and column, the column's number, and the offset after the cell."""
    for kind in "abcd":
        if match[f"row_{kind}"] is not None:
            gap = match[f"gap_{kind}"] if kind in "ab" else ""
            end = max(match.end(f"row_{kind}"), match.end(f"col_{kind}"))
            return match[f"row_{kind}"], gap, match[f"col_{kind}"], end
    raise AssertionError("no spelling of a cell without a row")


def _in_grid(row: str, col: str, grid: Grid) -> str | None:
    try:
        return grid.label(row + col)
    except GridError:
        return None


def _mentioned(text: str, grid: Grid) -> Iterator[str | None]:
    """Yield each cell that a text mentions, or None for a cell outside the grid."""
    for match in _MENTION.finditer(text):
        row, gap, col, _ = _parts(match)
        # "a 2-on-1 break" does not name a cell, nor does a lowercase letter that is separated from the number.
        if gap.strip("-_,") and row.islower():
            continue
        yield _in_grid(row, col, grid)


def _contested(cell: str | None, tail: str, grid: Grid) -> Unread | None:
    """Return why the cell is not the only answer, according to the text after it, or None if it is the only one."""
    if (span := _SPAN.match(tail)) and _continues(tail, span):
        return "a range"
    if _OR.match(tail) or ((also := _ALSO.match(tail)) and _continues(tail, also)):
        return "several answers"
    if any(other not in (None, cell) for other in _mentioned(tail, grid)):
        return "several answers"
    return None


def _continues(tail: str, joint: re.Match[str]) -> bool:
    return bool(_CELL.match(tail, joint.end()) or _PART.match(tail, joint.end()))


def _nothing_read(value: str) -> ReadCell | None:
    """Return why a value that does not begin with a cell has no answer, or None if nothing in it resembles a cell."""
    if not _CELL_LIKE.search(value):
        return None
    labels = {match[0].upper() for match in _MENTION.finditer(value)}
    if labels and _FROM.match(value):
        return ReadCell(None, "a range")
    return ReadCell(None, "several answers" if len(labels) > 1 else "no answer")


def _extends(match: re.Match[str], grid: Grid) -> bool:
    """Return whether the cell could be the start of another cell of the grid if the text continued."""
    row, _, col, end = _parts(match)
    if match.string[end - 1].isdigit():
        return int(col) * 10 <= grid.cols
    return row_number(row) * 26 + 1 <= grid.rows

"""Find the cells that answers name: by a label, by row and column, or by a point."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from unicodedata import category, normalize

from spotball_core.errors import GridError
from spotball_core.grid import Grid, parse_label
from spotball_core.io.answer_options import POINT_SIZES, FirstIndex, PointScale

if TYPE_CHECKING:
    import polars as pl


def number(column: str) -> pl.Expr:
    """Return an expression: the values of a column as numbers; null for values that are not numbers."""
    import polars as pl

    return pl.col(column).cast(pl.Float64, strict=False)


def not_finite(column: str) -> pl.Expr:
    """Return an expression: whether a row has a value in the column that is not a finite number."""
    import polars as pl

    return pl.col(column).is_not_null() & ~number(column).is_finite().fill_null(False)


def not_whole(column: str, least: int | None = None) -> pl.Expr:
    """Return an expression: whether a row has a value in the column that is not an integer (of at least `least`)."""
    import polars as pl

    value = number(column)
    is_whole = value.is_finite() & (value == value.floor())
    if least is not None:
        is_whole = is_whole & (value >= least)
    return pl.col(column).is_not_null() & ~is_whole.fill_null(False)


def located(answers: pl.DataFrame, grid: Grid, first_index: FirstIndex | None = None) -> pl.DataFrame:
    """Add the position of the cell that each answer names, by `cell` or by `row` and `col`.

    Args:
        answers: the answers, as text or numbers.
        grid: the grid.
        first_index: see `AnswerOptions`.

    Returns:
        The answers with three more columns: `_row` and `_col`, counted from 1, which may be beyond the grid and are
        null if the answer names no position; and `_index`, the cell's index, null outside the grid.
    """
    import polars as pl

    if "cell" in answers.columns:
        places = _positions(answers["cell"].unique(), grid, first_index)
        answers = answers.join(places, left_on="cell", right_on="label", how="left", maintain_order="left")
    else:
        answers = answers.with_columns(_row=pl.lit(None, pl.Float64), _col=pl.lit(None, pl.Float64))
    if "row" in answers.columns:
        shift = 1 - (1 if first_index is None else first_index)
        row, col = number("row") + shift, number("col") + shift
        answers = answers.with_columns(_row=pl.coalesce("_row", row), _col=pl.coalesce("_col", col))
    return answers.with_columns(_index=_index(grid))


def named(labels: pl.Series, grid: Grid) -> pl.DataFrame:
    """Return a table with each `label` and the index of the cell that it names (`cell`); null if it names no cell."""
    return _positions(labels, grid).select("label", cell=_index(grid))


def cell_at(grid: Grid) -> pl.Expr:
    """Return an expression: the index of the cell that contains the point (`_x`, `_y`); null outside the image."""
    import polars as pl

    cell: pl.Expr = pl.lit(0)
    inside = pl.lit(True)
    for name, size, step, count, stride in (
        ("_x", "_width", "_cell_width", grid.cols, 1),
        ("_y", "_height", "_cell_height", grid.rows, grid.cols),
    ):
        value = pl.col(name)
        # Use edges rounded like NumPy's linspace, which `Grid.indices_at` compares with. The step is precomputed
        # because Polars divides by multiplying with the reciprocal, which rounds differently.
        place = sum((value >= pl.col(step) * k).cast(pl.Int64) for k in range(1, count))
        cell, inside = cell + place * stride, inside & value.is_between(0, pl.col(size))
    return pl.when(inside).then(cell)


def in_pixels(scale: PointScale | None) -> dict[str, pl.Expr]:
    """Return expressions for `_x` and `_y`: `x` and `y` in pixels of images with the size `_width` and `_height`."""
    import polars as pl

    size = POINT_SIZES[scale or "image"]
    sides = (("_x", "x", "_width"), ("_y", "y", "_height"))
    return {name: number(c) if size is None else number(c) * pl.col(side) / size for name, c, side in sides}


def _index(grid: Grid) -> pl.Expr:
    import polars as pl

    row, col = pl.col("_row"), pl.col("_col")
    inside = row.is_between(1, grid.rows) & col.is_between(1, grid.cols)
    return pl.when(inside).then((row - 1) * grid.cols + col - 1).cast(pl.Int64)


# "['D6']", "“D6”" and "Cell D6".
_OPEN, _CLOSE = r"[\s\[({\"'“”‘’«„]{0,5}", r"[\s\])}\"'“”‘’»]{0,5}"
_WRAPPED = re.compile(rf"{_OPEN}(?:cell\b[\s:=]{{0,5}})?{_OPEN}(\w{{1,20}}(?:\s{{1,5}}\w{{1,20}})?){_CLOSE}", re.I)

# "Row D, Column 6", "D-6", "(D, 6)", "**D6**", "$\\boxed{D6}$" and "D6.".
_MARK = r"[\s\[\](){}\"'“”‘’«»„*_`$.]{0,9}"
_SPELLED = re.compile(
    rf"{_MARK}(?:\\(?:boxed|text|mathrm)\{{)?{_MARK}(?:row\b[\s:=]{{0,5}})?([a-z]{{1,2}}|\d{{1,3}}(?=[\s,-]*[a-z]))"
    rf"[\s,;|$-]{{0,5}}(?:(?:col|column)\b[\s:=]{{0,5}})?([a-z]{{1,2}}|\d{{1,3}}){_MARK}",
    re.I,
)

# "row 4, column 6" and "R4C6".
_NUMBERED = re.compile(r"\s*r(?:ow)?\s*[:=]?\s*(\d{1,3})[\s,;]*c(?:ol(?:umn)?)?\s*[:=]?\s*(\d{1,3})\s*", re.I)

_LONGEST = 200
"""Maximum number of characters of a spelling of a cell."""

WRAPPED = r"(?i)[^\sa-z0-9]|\bcell\b|\brow\b"
"""Regular expression for signs and words in a label that are not part of it."""


INDEX = r"^\s*\d{1,6}(?:\.0{1,6})?\s*$"
"""Regular expression for a whole number instead of a label."""


def _positions(labels: pl.Series, grid: Grid, first_index: FirstIndex | None = None) -> pl.DataFrame:
    """Return a table with each `label` and the `_row` and `_col` that it names, from 1; null if it is not a label.

    A label may be in brackets or quotation marks, and after the word "cell". With `first_index`, it may be a number.
    """
    import polars as pl

    def position(label: str) -> tuple[int | None, int | None]:
        if first_index is not None and re.match(INDEX, label):
            row, col = divmod(int(float(label)) - first_index, grid.cols)
            return row + 1, col + 1
        try:
            return parse_label(label)
        except GridError:
            pass
        # Full-width letters become ASCII letters, and invisible signs are removed.
        plain = "".join(sign for sign in normalize("NFKC", label[:_LONGEST]) if category(sign) != "Cf")
        if numbers := _NUMBERED.fullmatch(plain):
            return int(numbers[1]), int(numbers[2])
        match = _WRAPPED.fullmatch(plain) or _SPELLED.fullmatch(plain)
        try:
            return parse_label("".join(match.groups()) if match else "")
        except GridError:
            return None, None

    rows = [(label, *position(label)) for label in labels.drop_nulls()]
    return pl.DataFrame(rows, schema={"label": pl.String, "_row": pl.Float64, "_col": pl.Float64}, orient="row")

"""Parse numbers in columns of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

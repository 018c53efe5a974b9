"""The one pass over all rows: those that say the same become one, with what tells whether a closer look is needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from spotball_core.io import samples

if TYPE_CHECKING:
    import polars as pl


def grouped(rows: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Rows that say the same as one, spelt as they are.

    Args:
        rows: of a source.
        keys: columns that are kept where there are any, beside those that name cells.

    Returns:
        `n`, how many rows there are of each; `apart`, how many of these are points or distributions and so name no
        cell; whether there is a `point`, and a distribution (`spread`); and where rows have a sample, the columns of
        `samples.sums`.
    """
    import polars as pl

    columns = rows.collect_schema().names()
    by = [column for column in (*keys, "cell", "row", "col") if column in columns]
    point, spread = is_point(columns), pl.lit(False)
    if "probabilities" in columns:
        spread = pl.col("probabilities").is_not_null()
    carried = {"n": pl.len()}
    if "x" in columns or "probabilities" in columns:
        carried |= {"apart": (point | spread).sum(), "point": point.any(), "spread": spread.any()}
    if "sample" in columns:
        carried |= samples.sums(columns, by)
    groups = rows.group_by(by).agg(**carried)
    if "apart" not in carried:
        groups = groups.with_columns(apart=pl.lit(0, pl.UInt32), point=pl.lit(False), spread=pl.lit(False))
    return groups


def is_point(columns: Sequence[str]) -> pl.Expr:
    """Whether a row of these columns answers by a point, or by half of one."""
    import polars as pl

    return pl.any_horizontal(pl.col("x", "y").is_not_null()) if "x" in columns else pl.lit(False)

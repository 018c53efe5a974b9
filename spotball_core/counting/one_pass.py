"""Group equal rows in one pass over the data, and compute sums that show whether rows must be read again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from spotball_core.counting import samples
from spotball_core.io.cells import number
from spotball_core.io.sources import Source

if TYPE_CHECKING:
    import polars as pl

ROWS_AT_ONCE = 2_500_000
"""Number of rows of a Parquet file that are grouped at a time."""

GROUPS_HELD = 300_000
"""Minimum number of new groups that are collected before they are combined, because each combination takes time."""


def grouped(rows: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Group rows whose keys and cells are spelled in the same way.

    Args:
        rows: rows of a source.
        keys: columns to group by in addition to `cell`, `row` and `col`. Columns that do not exist are ignored.

    Returns:
        One row per group. `n` is the number of rows, and `apart` the number of those whose answer is a point or a
        distribution. `point` is true if any row has a point, and `spread` if any row has a distribution. If the rows
        have samples, the columns of `samples.sums` are added.
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
        rows = rows.with_columns(number("sample").alias(samples.NUMBER))
        carried |= samples.sums()
    groups = rows.group_by(by).agg(**carried)
    if "apart" not in carried:
        groups = groups.with_columns(apart=pl.lit(0, pl.UInt32), point=pl.lit(False), spread=pl.lit(False))
    return groups


def is_point(columns: Sequence[str]) -> pl.Expr:
    """Return an expression: whether a row with these columns has at least one coordinate of a point."""
    import polars as pl

    return pl.any_horizontal(pl.col("x", "y").is_not_null()) if "x" in columns else pl.lit(False)


def in_parts(source: Source, keys: Sequence[str], collect: Callable[[pl.LazyFrame], pl.DataFrame]) -> pl.DataFrame:
    """Return a source's groups (see `grouped`), with its keys as categories, which need less memory than text.

    A Parquet file is read in parts with a limited number of rows. If it were read as a whole, the memory that Polars
    needs would grow with the number of rows, because Polars keeps rows whose group has not occurred recently.
    """
    import polars as pl

    def groups_of(rows: pl.LazyFrame) -> pl.DataFrame:
        groups = collect(grouped(rows, keys))
        return groups.with_columns(pl.col(key).cast(pl.Categorical) for key in keys if key in groups.columns)

    if source.path is None or source.path.suffix != ".parquet":
        return groups_of(source.frame)
    total = collect(source.frame.select(pl.len())).item()
    parts: list[pl.DataFrame] = []
    for start in range(0, max(total, 1), ROWS_AT_ONCE):
        parts.append(groups_of(source.frame.slice(start, ROWS_AT_ONCE)))
        if sum(map(len, parts[1:])) > max(GROUPS_HELD, len(parts[0])):
            parts = [_added(parts)]
    return _added(parts)


def _added(groups: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Combine equal groups from several parts of a source. The result equals that of `grouped` for the whole source."""
    import polars as pl

    if len(groups) == 1:
        return groups[0]
    together = pl.concat(groups)
    sums = {name: pl.col(name).sum() for name in ("n", "apart")}
    sums |= {name: pl.col(name).any() for name in ("point", "spread")}
    if "samples" in together.columns:
        sums |= samples.summed()
    by = [column for column in together.columns if column not in sums]
    return together.group_by(by).agg(**sums).select(together.columns)

"""Check that each sample occurs once: with sums if samples are numbered consecutively, otherwise by comparing rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spotball_core.io.cells import not_whole, number

if TYPE_CHECKING:
    import polars as pl

NUMBER = "_sample"
"""The column that `numbered` adds: the sample's number."""

_EXACT = 2**52
"""Sums are used only for groups whose lowest sample number is at most this number, which floats represent exactly."""

GIVEN = ("respondent", "prompt", "sport", "image")
"""The columns that identify an answered image.

The sample's number and the participant are added to identify a sample.
"""


def identity(columns: list[str]) -> list[str]:
    """Return the columns that identify a sample, given the columns of a table returned by `numbered`."""
    return [*GIVEN, NUMBER, *(c for c in ("participant",) if c in columns)]


def numbered(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the rows that have a sample, with its number in the column `NUMBER`: `1` and `1.0` are the same number."""
    import polars as pl

    return rows.filter(pl.col("sample").is_not_null()).with_columns(number("sample").alias(NUMBER))


def sums() -> dict[str, pl.Expr]:
    """Return expressions for the sums that `out_of_order` needs for groups of rows with a column `NUMBER`."""
    import polars as pl

    return {"samples": pl.col("sample").count(), "low": pl.col(NUMBER).min(), "hashes": pl.col(NUMBER).hash().sum()}


def summed() -> dict[str, pl.Expr]:
    """Return expressions that combine the columns of `sums` over several groups."""
    import polars as pl

    return {"samples": pl.col("samples").sum(), "low": pl.col("low").min(), "hashes": pl.col("hashes").sum()}


def out_of_order(groups: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Return the groups whose samples may not be numbered low, low + 1, ..., high with each number once.

    A group of n samples with the lowest number low is omitted only if the hashes of its numbers have the same sum as
    those of low, low + 1, ..., low + n - 1. For other numbers, the sums are equal with a probability of only 1 in 2^64.
    The returned groups can still be valid: gaps are allowed, and participants that are not counted separately may each
    have a sample 1. Use `repeated` to decide.

    Args:
        groups: groups with the columns of `sums`, and keys filled in.
        keys: the columns that identify a group.

    Returns:
        A table with the columns `keys` and one row per such group.
    """
    import polars as pl

    totals = groups.filter(pl.col("samples") > 0).group_by(keys).agg(**summed())
    low = pl.col("low")
    orderly = totals.filter((low.is_between(1, _EXACT) & (low == low.floor())).fill_null(False))
    if orderly.is_empty():
        return totals.select(keys)
    n = orderly["samples"].to_numpy().astype(np.int64)
    first = orderly["low"].to_numpy().astype(np.int64)
    start, end = first.min(), (first + n).max()
    if end - start > 10 * n.sum():
        return totals.select(keys)  # Numbers so far apart would need a long list of hashes.
    hashes = pl.Series(np.arange(start, end, dtype=np.float64)).hash().to_numpy()
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])
    ordered = orderly["hashes"].to_numpy().astype(np.uint64) == running[first - start + n] - running[first - start]
    return totals.join(orderly.filter(pl.Series(ordered)), on=keys, how="anti", nulls_equal=True).select(keys)


def repeated(rows: pl.LazyFrame) -> pl.DataFrame:
    """Return the samples that occur more than once, or whose number is not an integer of at least 1.

    To save memory, rows are first compared by a hash of eight bytes. Only rows with equal hashes are compared in full.
    """
    import polars as pl

    keys = identity(rows.collect_schema().names())
    rows = rows.with_columns(_hash=pl.struct(keys).hash(), _odd=not_whole("sample", least=1))
    marks = rows.select("_hash", "_odd").collect(engine="streaming")
    hashes = np.sort(marks["_hash"].to_numpy())
    twice = pl.Series(np.unique(hashes[1:][hashes[1:] == hashes[:-1]]))
    suspects = rows.filter(pl.col("_hash").is_in(twice.implode()) | pl.col("_odd"))
    if twice.is_empty() and not marks["_odd"].any():
        suspects = suspects.clear()
    samples = suspects.group_by(keys).agg(n=pl.len(), odd=pl.col("_odd").any())
    return samples.filter((pl.col("n") > 1) | pl.col("odd")).collect(engine="streaming")

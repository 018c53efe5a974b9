"""Whether each sample is there once: known from sums where samples are numbered in order, else by looking at each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spotball_core.io.numbers import not_whole, number

if TYPE_CHECKING:
    import polars as pl

NUMBER = "_sample"
"""The column that `numbered` adds: the sample's number."""

GIVEN = ("respondent", "prompt", "sport", "image")
"""Who answered what: with its number, and the participant, what makes a sample one of its own."""


def identity(columns: list[str]) -> list[str]:
    """What makes a sample one of its own, among the columns of `numbered`."""
    return [*GIVEN, NUMBER, *(c for c in ("participant",) if c in columns)]


def numbered(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Rows that have a sample, with its number: `1` and `1.0` are one."""
    import polars as pl

    return rows.filter(pl.col("sample").is_not_null()).with_columns(number("sample").alias(NUMBER))


def sums(columns: list[str], by: list[str]) -> dict[str, pl.Expr]:
    """What the groups of a pass over rows need to carry for `out_of_order`.

    Args:
        columns: of the rows, which also have their sample's number as `NUMBER`.
        by: what they are grouped by. Participants who are not told apart by it are only noticed: they may be as many
            as there are rows.
    """
    import polars as pl

    value = pl.col(NUMBER)
    people = pl.col("participant").is_not_null() if "participant" in columns else pl.lit(False)
    return {
        "samples": pl.col("sample").count(),
        "low": value.min(),
        "high": value.max(),
        "hashes": value.hash().sum(),
        "people": pl.lit(False) if "participant" in by else people.any(),
    }


def summed() -> dict[str, pl.Expr]:
    """The columns of `sums` of several groups together."""
    import polars as pl

    added = {name: pl.col(name).sum() for name in ("samples", "hashes")}
    return added | {"low": pl.col("low").min(), "high": pl.col("high").max(), "people": pl.col("people").any()}


def out_of_order(groups: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """The groups with samples that are not known to be low, low + 1, ..., high, each once.

    As many numbers as from low to high, whose hashes sum to those of low to high, are these numbers, but for a chance
    of one in 2^64. Others need not be wrong: gaps are allowed, and participants may have a sample 1 each. Only
    `repeated` can tell.

    Args:
        groups: with the columns of `sums`, and keys filled in.
        keys: those keys.

    Returns:
        The keys of such groups.
    """
    import polars as pl

    whole = groups.filter(pl.col("samples") > 0).group_by(keys).agg(**summed())
    low, high = pl.col("low"), pl.col("high")
    spaced = (high - low + 1 == pl.col("samples")) & (low >= 1) & (low == low.floor())
    dense = whole.filter(~pl.col("people") & spaced.fill_null(False))
    if dense.is_empty():
        return whole.select(keys)
    n = dense["samples"].to_numpy().astype(np.int64)
    start, end = float(dense["low"].to_numpy().min()), float(dense["high"].to_numpy().max())
    if end - start >= 10 * n.sum():
        return whole.select(keys)  # numbers so far apart would need a long list of hashes
    hashes = pl.Series(np.arange(start, end + 1)).hash().to_numpy()
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])
    first = (dense["low"].to_numpy() - start).astype(np.int64)
    ordered = dense["hashes"].to_numpy().astype(np.uint64) == running[first + n] - running[first]
    return whole.join(dense.filter(pl.Series(ordered)), on=keys, how="anti", nulls_equal=True).select(keys)


def repeated(rows: pl.LazyFrame) -> pl.DataFrame:
    """Samples that are there more than once, and samples that are no number, of rows with keys filled in.

    What is there twice has one hash twice: eight bytes a row tell which few rows to compare.
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

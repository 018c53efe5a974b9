"""Whether each sample is there once: known from sums where samples are numbered in order, else by looking at each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from spotball_core.counts import KEYS
from spotball_core.io.numbers import not_whole, number

if TYPE_CHECKING:
    import polars as pl

NUMBER = "_sample"
"""The column that `numbered` adds: the sample's number."""


def identity(columns: list[str]) -> list[str]:
    """What makes a sample one of its own, among the columns of `numbered`."""
    return ["respondent", "prompt", "sport", "image", NUMBER, *(c for c in ("participant",) if c in columns)]


def numbered(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Rows that have a sample, with its number: `1` and `1.0` are one."""
    import polars as pl

    return rows.filter(pl.col("sample").is_not_null()).with_columns(number("sample").alias(NUMBER))


def summed(rows: pl.LazyFrame, columns: list[str]) -> pl.LazyFrame:
    """How many samples each respondent gave to each image, their least and largest number, and their hashes' sum.

    Keys are as they are spelt: one pass over the rows groups them into few.
    """
    import polars as pl

    value = pl.col(NUMBER)
    return (
        numbered(rows)
        .group_by([column for column in ("_source", *KEYS, "participant") if column in columns])
        .agg(
            n=pl.len(),
            low=value.min(),
            high=value.max(),
            hashes=value.hash().sum(),
            odd=not_whole("sample", least=1).any(),
        )
    )


def are_in_order(sums: pl.LazyFrame, keys: list[str]) -> bool:
    """Whether each respondent's samples of an image are low, low + 1, ..., high, each once.

    As many numbers as from low to high, whose hashes sum to those of low to high, are these numbers, but for a chance
    of one in 2^64. Others need not be wrong: gaps are allowed, and only `repeated` can tell.

    Args:
        sums: of `summed`, with keys filled in.
        keys: those keys.
    """
    import polars as pl

    groups = (
        sums.group_by(keys)
        .agg(pl.col("n", "hashes").sum(), pl.col("low").min(), pl.col("high").max(), pl.col("odd").any())
        .collect()
    )
    if groups.is_empty():
        return True
    if groups["odd"].any() or (groups["high"] - groups["low"] + 1 != groups["n"]).any():
        return False
    n = groups["n"].to_numpy().astype(np.int64)
    start, end = float(groups["low"].to_numpy().min()), float(groups["high"].to_numpy().max())
    if end - start >= 10 * n.sum():
        return False  # numbers so far apart would need a long list of hashes
    hashes = pl.Series(np.arange(start, end + 1)).hash().to_numpy()
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])
    low = (groups["low"].to_numpy() - start).astype(np.int64)
    return bool((groups["hashes"].to_numpy().astype(np.uint64) == running[low + n] - running[low]).all())


def repeated(rows: pl.LazyFrame, columns: list[str]) -> pl.DataFrame:
    """Samples that are there more than once, and samples that are no number, of rows with keys filled in."""
    import polars as pl

    samples = rows.group_by(identity(columns)).agg(n=pl.len(), odd=not_whole("sample", least=1).any())
    return samples.filter((pl.col("n") > 1) | pl.col("odd")).collect(engine="streaming")

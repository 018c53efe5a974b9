"""The bootstrap, in the form that scoring needs: weights to multiply per-image statistics with.

A resample of n units drawn with replacement is a vector of how often each was drawn. Statistics that are sums over
units, or functions of sums, follow for all resamples at once from one matrix product; nothing is scored again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.errors import OptionError
from spotball_core.grid import FloatArray

CONFIDENCE = 0.95


def resample_weights(n: int, resamples: int, seed: int | np.random.Generator = 0) -> FloatArray:
    """How often each of n units is drawn in each resample of n.

    Args:
        n: number of units, such as images; at least 1.
        resamples: number of resamples.
        seed: seed, or a generator to draw from. The same n, resamples and seed give the same weights, so that what
            is scored on the same images is resampled alike.

    Returns:
        Shape (resamples, n), each row sums to n.

    Raises:
        OptionError: for fewer than 1 unit or a negative number of resamples.

    Examples:
        >>> resample_weights(3, 2, seed=0).sum(axis=1).tolist()
        [3.0, 3.0]
    """
    drawn = weight_blocks(n, resamples, seed, block=max(1, resamples))
    return np.concatenate([np.empty((0, n)), *drawn])


def weight_blocks(n: int, resamples: int, seed: int | np.random.Generator = 0, *, block: int) -> Iterator[FloatArray]:
    """The rows of `resample_weights`, at most `block` at a time: the same numbers, whatever the blocks.

    Raises:
        OptionError: as `resample_weights`, before the first block.

    Examples:
        >>> [len(rows) for rows in weight_blocks(3, 5, block=2)]
        [2, 2, 1]
    """
    if n < 1 or resamples < 0:
        raise OptionError(f"{resamples} resamples of {n} units cannot be drawn")
    generator = np.random.default_rng(seed)
    chances = np.full(n, 1 / n)
    starts = range(0, resamples, block)
    return (generator.multinomial(n, chances, size=min(block, resamples - at)).astype(float) for at in starts)


def percentile_interval(values: ArrayLike, confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """The percentile interval of a statistic's bootstrap values; resamples where it is undefined (NaN) are left out.

    Returns:
        (low, high); None where no resample has a value.

    Examples:
        >>> percentile_interval([0.0, 1.0, 2.0, 3.0, 4.0], confidence=0.5)
        (1.0, 3.0)
    """
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    if not len(known):
        return None
    low, high = np.quantile(known, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)

"""The bootstrap, in the form that scoring needs: weights to multiply per-image statistics with.

A resample of n units drawn with replacement is a vector of how often each was drawn. Statistics that are sums over
units, or functions of sums, follow for all resamples at once from one matrix product; nothing is scored again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.errors import OptionError
from spotball_core.typing import FloatArray

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


def bootstrap_interval(
    value: float,
    drawn: ArrayLike,
    left_out: ArrayLike = (),
    *,
    bounds: tuple[float | None, float | None] = (None, None),
    confidence: float = CONFIDENCE,
) -> tuple[float, float] | None:
    """Compute the bias-corrected and accelerated (BCa) interval of a statistic.

    The interval is for the statistic's mean over samples of the same size. Three things are corrected:

    - Bias of resampling. Resamples repeat units, so that an entropy of resamples is below that of the sample, all
      the more the fewer units there are. The resamples' values are shifted back by the jackknife's estimate of that.
    - Skewness, as Efron (1987) does: by the resamples' median and by the units' influence on the value.
    - Few units. Quantiles are those of Student's t, and widened by sqrt(n / (n - 1)) (Hesterberg, 2015, "expanded").

    Where no resample differs from a value at a bound (no image had a hit), resampling knows nothing of what was not
    seen. The other end is then the largest mean, or the least, that n units all at the bound still allow.

    Args:
        value: of the sample.
        drawn: of the resamples; undefined ones (NaN) are excluded.
        left_out: of the sample without each of its n units; without these, skewness is that of the resamples alone.
        bounds: the least and the largest possible value; None for no bound.
        confidence: of the interval, in (0, 1).

    Returns:
        (low, high), which hold the value; None where no resample has a value.

    Examples:
        >>> bootstrap_interval(1.5, [0.0, 1.0, 2.0, 3.0], confidence=0.5)
        (0.75, 2.25)
        >>> low, high = bootstrap_interval(0.0, [0.0, 0.0], [0.0] * 50, bounds=(0.0, 1.0))
        >>> low, round(high, 3)  # 1 - 0.025 ** (1 / 50)
        (0.0, 0.071)
    """
    known = np.asarray(drawn, dtype=float)
    known = known[np.isfinite(known)]
    if not len(known):
        return None
    low, high = bounds
    influence = np.asarray(left_out, dtype=float)
    n = len(influence)
    if np.ptp(known) == 0 and known[0] == value and n:
        if low is None or high is None or value not in bounds:
            return value, value
        reach = (high - low) * (1 - ((1 - confidence) / 2) ** (1 / n))
        return (low, low + reach) if value == low else (high - reach, high)
    influence = influence[np.isfinite(influence)]
    shifted = known - ((n - 1) * (influence.mean() - value) if len(influence) else 0.0)
    normal = NormalDist()
    # Rounding must not decide on which side a resample is that equals the sample.
    rounding = 1e-9 * np.ptp(known)
    at_least, at_most = shifted >= value - rounding, shifted <= value + rounding
    below = float((at_most.mean() + 1 - at_least.mean()) / 2)
    median = normal.inv_cdf(min(max(below, 0.5 / len(shifted)), 1 - 0.5 / len(shifted)))
    acceleration = _acceleration(influence)
    ends = []
    for tail in ((1 - confidence) / 2, (1 + confidence) / 2):
        z = median + expanded(normal.inv_cdf(tail), n)
        ends.append(np.quantile(shifted, normal.cdf(median + z / max(1 - acceleration * z, 0.1))))
    first, last = min(ends[0], value), max(ends[1], value)
    if low is not None:
        first = max(first, min(low, value))
    if high is not None:
        last = min(last, max(high, value))
    return float(first), float(last)


def _acceleration(left_out: FloatArray) -> float:
    """How the statistic's standard error changes with its value (Efron, 1987, eq. 7.3); 0 where it cannot be told."""
    change = left_out.mean() - left_out if len(left_out) else left_out
    largest = np.abs(change).max(initial=0.0)
    if largest == 0:
        return 0.0
    # Relative to the largest, so that the powers of tiny changes do not vanish.
    change = change / largest
    return float((change**3).sum() / (6 * (change**2).sum() ** 1.5))


def expanded(z: float, n: int) -> float:
    """Bring a normal quantile to Student's t with n - 1 degrees of freedom, and widen it for n units."""
    if n < 3:
        return z
    freedom = n - 1
    # Cornish and Fisher's expansion. At 95%, it is off by 0.023 for 5 degrees of freedom and by 0.003 for 10.
    t = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return t * math.sqrt(n / freedom)

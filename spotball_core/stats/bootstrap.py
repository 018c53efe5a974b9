"""Bootstrap statistics with a matrix of resampling weights.

A resample of n units drawn with replacement is a vector of counts: how often each unit was drawn. One matrix product
gives the sums over units of all resamples, so that metrics do not have to be computed again from each resample's
answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spotball_core.errors import OptionError
from spotball_core.typing import FloatArray, IntArray

SmallIntArray = NDArray[np.uint8]

CONFIDENCE = 0.95

MOST_WEIGHTS = 100_000_000
"""Maximum number of weights in a cached matrix, which has one byte per weight."""

_AT_ONCE = 2_000_000
"""Number of weights that are drawn at a time, to limit memory."""


def resample_weights(n: int, resamples: int, seed: int | np.random.Generator = 0) -> FloatArray:
    """Return the number of times each of n units is drawn, for each resample of n units.

    Args:
        n: number of units, such as images; at least 1.
        resamples: number of resamples.
        seed: seed, or a generator to draw from. The same n, resamples and seed give the same weights, so that groups
            scored on the same images are resampled identically.

    Returns:
        Shape (resamples, n); each row sums to n.

    Raises:
        OptionError: if there is no unit, or the number of resamples is negative.

    Examples:
        >>> resample_weights(3, 2, seed=0).sum(axis=1).tolist()
        [3.0, 3.0]
    """
    drawn = weight_blocks(n, resamples, seed, block=max(1, resamples))
    return np.concatenate([np.empty((0, n)), *drawn])


def weight_blocks(n: int, resamples: int, seed: int | np.random.Generator = 0, *, block: int) -> Iterator[FloatArray]:
    """Yield the rows of `resample_weights`, at most `block` at a time; the numbers do not depend on `block`.

    Raises:
        OptionError: in the cases of `resample_weights`, before the first block.

    Examples:
        >>> [len(rows) for rows in weight_blocks(3, 5, block=2)]
        [2, 2, 1]
    """
    return (weights.astype(float) for weights in small_weight_blocks(n, resamples, seed, block=block))


def small_weight_blocks(
    n: int, resamples: int, seed: int | np.random.Generator = 0, *, block: int
) -> Iterator[SmallIntArray]:
    """Yield the numbers of `weight_blocks` with one byte each.

    Raises:
        OptionError: in the cases of `resample_weights`, before the first block.
    """
    if n < 1:
        raise OptionError(f"found {n}, expected at least 1", field="n")
    if resamples < 0:
        raise OptionError(f"found {resamples}, expected at least 0", field="resamples")
    starts = range(0, resamples, block)
    if isinstance(seed, int) and n * resamples <= MOST_WEIGHTS:
        weights = _cached_weights(n, resamples, seed)
        return (weights[at : at + block] for at in starts)
    generator = np.random.default_rng(seed)
    return (_drawn(n, min(block, resamples - at), generator) for at in starts)


@lru_cache(maxsize=4)
def _cached_weights(n: int, resamples: int, seed: int) -> SmallIntArray:
    """Return the weights as a read-only array. Groups that are scored on the same images use the same weights."""
    weights = _drawn(n, resamples, np.random.default_rng(seed))
    weights.flags.writeable = False
    return weights


def _drawn(n: int, resamples: int, generator: np.random.Generator) -> SmallIntArray:
    # No unit is drawn more than 255 times: for 256 or more units, the probability is below 1e-500.
    weights = np.empty((resamples, n), dtype=np.uint8)
    size = max(1, _AT_ONCE // n)
    for at in range(0, resamples, size):
        part = weights[at : at + size]
        part[:] = generator.multinomial(n, np.full(n, 1 / n), size=len(part))
    return weights


def percentile_interval(values: ArrayLike, confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """Return the percentile interval of bootstrap values; undefined resamples (NaN) are excluded.

    Returns:
        (low, high); None if no resample has a value.

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


def standard_error(values: ArrayLike) -> float | None:
    """Return the standard error that bootstrap values show: their standard deviation; None for fewer than two values.

    Undefined resamples (NaN) are excluded.
    """
    known = np.asarray(values, dtype=float)
    known = known[np.isfinite(known)]
    return float(known.std(ddof=1)) if len(known) > 1 else None


def bootstrap_interval(
    value: float,
    drawn: ArrayLike,
    left_out: ArrayLike = (),
    *,
    bounds: tuple[float | None, float | None] = (None, None),
    confidence: float = CONFIDENCE,
) -> tuple[float, float] | None:
    """Compute the bias-corrected and accelerated (BCa) interval of a statistic.

    The interval is for the statistic's mean over samples of the same size. It has three corrections:

    - Resampling bias: resamples repeat units, so an entropy of resamples is below that of the sample, especially with
      few units. The resamples' values are shifted back by the jackknife estimate of this bias.
    - Skewness: the interval's ends are moved according to the resamples' median and each unit's influence on the value
      (Efron, 1987).
    - Small samples: with few units, an interval from normal quantiles is too narrow. Quantiles of Student's t are used,
      widened by sqrt(n / (n - 1)) (Hesterberg, 2015, "expanded").

    If all resamples equal a value at a bound (for example, no image had a hit), resampling says nothing about unseen
    cases. The other end is then the most extreme mean at which all n units would still be at the bound with a
    probability of (1 - confidence) / 2.

    Args:
        value: the statistic of the sample.
        drawn: the statistic of each resample; undefined values (NaN) are excluded.
        left_out: the statistic with each of the n units omitted in turn. If empty, only skewness is corrected, from the
            resamples' median.
        bounds: the lowest and highest possible value; None for no bound.
        confidence: confidence level, in (0, 1).

    Returns:
        (low, high), an interval that contains the value; None if no resample has a value, or for a single unit, which
        does not show how much units differ.

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
            return (value, value) if n > 1 else None
        reach = (high - low) * (1 - ((1 - confidence) / 2) ** (1 / n))
        return (low, low + reach) if value == low else (high - reach, high)
    influence = influence[np.isfinite(influence)]
    shifted = known - ((n - 1) * (influence.mean() - value) if len(influence) else 0.0)
    normal = NormalDist()
    # Rounding must not decide whether a resample equal to the sample counts as below or above it.
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
    """Return how fast the standard error changes with the value (Efron, 1987, eq. 7.3); 0 if it is undefined."""
    change = left_out.mean() - left_out if len(left_out) else left_out
    largest = np.abs(change).max(initial=0.0)
    if largest == 0:
        return 0.0
    # Scale by the largest change, so that powers of tiny changes do not underflow.
    change = change / largest
    return float((change**3).sum() / (6 * (change**2).sum() ** 1.5))


def expanded(z: float, n: int) -> float:
    """Convert a normal quantile to Student's t for n units, times sqrt(n / (n - 1)); unchanged if n is below 3."""
    if n < 3:
        return z
    freedom = n - 1
    # Cornish and Fisher's expansion. At 95%, its error is 0.023 for 5 degrees of freedom and 0.003 for 10.
    t = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return t * math.sqrt(n / freedom)


@dataclass(frozen=True, slots=True)
class RankIntervals:
    """Ranks (1 is best) and their joint confidence intervals, each of shape (n,)."""

    rank: IntArray
    low: IntArray
    high: IntArray


def rank_intervals(
    values: FloatArray, drawn: FloatArray, *, highest_first: bool, n_units: int, confidence: float = CONFIDENCE
) -> RankIntervals:
    """Rank values, with intervals that jointly contain all true ranks (Mogstad, Romano, Shaikh and Wilhelm, 2024).

    Two values are distinguished if the confidence interval of their difference excludes 0. These intervals are joint
    over all pairs: their width comes from the largest standardized difference in each resample. The best possible rank
    of a value is 1 plus the number of values that are distinguishably better; its worst possible rank is n minus the
    number of values that are distinguishably worse.

    Args:
        values: shape (n,).
        drawn: the values in each bootstrap resample, shape (n, n_resamples). Values that use the same units must come
            from the same resamples of units. Resamples with an undefined value (NaN) are excluded.
        highest_first: whether the highest value is the best.
        n_units: number of resampled units, such as images; the intervals are wider if there are few.
        confidence: the joint confidence that all intervals contain the true ranks, in (0, 1).

    Returns:
        The ranks and intervals. Equal values share the best rank that they cover.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> values = np.array([0.1, 0.5, 0.52])
        >>> found = rank_intervals(
        ...     values, values[:, None] + rng.normal(0, 0.02, (3, 500)), highest_first=True, n_units=50
        ... )
        >>> found.rank.tolist(), found.low.tolist(), found.high.tolist()
        ([3, 2, 1], [3, 1, 1], [3, 2, 2])
    """
    sign = 1.0 if highest_first else -1.0
    ahead = sign * (values[None, :] - values[:, None])  # [j, k]: how much better k is than j
    rank = 1 + (ahead > 0).sum(axis=1)
    first, second = np.triu_indices(len(values), 1)
    known = drawn[:, np.isfinite(drawn).all(axis=0)]
    if not len(first) or known.shape[1] < 2:
        n = np.full(len(values), len(values))
        return RankIntervals(rank, np.ones_like(n), n)
    differences = sign * (known[second] - known[first])
    errors = differences.std(axis=1, ddof=1)
    moved = np.abs(differences - differences.mean(axis=1, keepdims=True))
    standardized = np.divide(moved, errors[:, None], out=np.zeros_like(moved), where=errors[:, None] > 0)
    critical = expanded(float(np.quantile(standardized.max(axis=0), confidence)), n_units)
    clear = np.zeros((len(values), len(values)), dtype=bool)
    clear[first, second] = clear[second, first] = np.abs(ahead[first, second]) > critical * errors
    better = clear & (ahead > 0)
    return RankIntervals(rank, 1 + better.sum(axis=1), len(values) - better.sum(axis=0))

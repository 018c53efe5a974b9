"""Compute ranks with confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spotball_core.stats.bootstrap import CONFIDENCE, expanded
from spotball_core.typing import FloatArray, IntArray


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

r"""Compute confidence sequences: intervals that stay valid if you look at the data repeatedly and stop at any time.

The method is the hedged capital process of Waudby-Smith and Ramdas (2024, "Estimating means of bounded random variables
by betting", Theorem 3, https://arxiv.org/abs/2010.09686). For each candidate mean $m$, a gambler bets that the next
value is above $m$, and another one that it is below. If $m$ is the true mean, no strategy makes money on average, so by
Ville's inequality the capital ever exceeds $1 / \alpha$ with a probability of at most $\alpha$. The interval contains
the candidates for which it did not.
"""

from __future__ import annotations

import math

import numpy as np

from spotball_core.typing import FloatArray

_CANDIDATES = 2001
"""Number of candidate means. Interval ends are rounded outward to the next candidate."""

_LARGEST_BET = 0.5
"""Largest share of the capital that a bet can lose."""


def confidence_sequence(values: FloatArray, *, low: float, high: float, alpha: float = 0.05) -> FloatArray:
    """Return an interval of the mean after each value, all of which jointly contain the mean with confidence 1 - alpha.

    Args:
        values: independent values from one distribution, in the order in which they were observed, shape (n,).
        low: the lowest possible value.
        high: the highest possible value.
        alpha: probability that any of the intervals misses the mean.

    Returns:
        The lower and upper ends, shape (n, 2). Intervals never become wider.

    Examples:
        >>> ends = confidence_sequence(np.array([0.0, 1.0] * 100), low=0.0, high=1.0)
        >>> [round(float(end), 2) for end in ends[-1]]
        [0.38, 0.62]
    """
    x = (np.asarray(values, dtype=float) - low) / (high - low)
    n = np.arange(1, len(x) + 1)
    means = (0.5 + np.cumsum(x)) / (n + 1)
    variances = (0.25 + np.cumsum((x - means) ** 2)) / (n + 1)
    # Each bet depends only on earlier values.
    before = np.concatenate([[0.25], variances[:-1]])
    bets = np.sqrt(2 * math.log(2 / alpha) / (before * n * np.log(1 + n)))
    m = np.linspace(0, 1, _CANDIDATES)
    above, below = (_LARGEST_BET / np.maximum(room, 1e-12) for room in (m, 1 - m))
    up, down, inside = np.zeros_like(m), np.zeros_like(m), np.ones(len(m), dtype=bool)
    ends = np.empty((len(x), 2))
    step = 1 / (_CANDIDATES - 1)
    for place, (value, bet) in enumerate(zip(x, bets, strict=True)):
        up += np.log1p(np.minimum(bet, above) * (value - m))
        down += np.log1p(-np.minimum(bet, below) * (value - m))
        still = inside & (np.maximum(up, down) < math.log(2 / alpha))
        # If no candidate is left, which has a probability of at most alpha, the last interval is kept.
        inside = still if still.any() else inside
        kept = np.flatnonzero(inside)
        ends[place] = max(m[kept[0]] - step, 0.0), min(m[kept[-1]] + step, 1.0)
    return low + (high - low) * ends

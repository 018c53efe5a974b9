"""Compute ranks and their intervals from values and 95% intervals alone.

The intervals are widened to simultaneous (Bonferroni) confidence intervals: with 95% confidence, all of them contain
their true values. An entry is then certainly better than another if their intervals do not overlap. An entry's rank
interval follows from the numbers of entries that are certainly better and certainly worse. The rank intervals are
simultaneous too, for any dependence between entries (Klein, Wright and Wieczorek, 2020). Entries with the same images
are correlated, but reports do not store the correlation. `stats.ranks` uses the responses, and therefore the
correlation, and gives shorter intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from spotball_core.stats.bootstrap import CONFIDENCE, expanded
from spotball_core.typing import BoolArray, FloatArray


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value, its 95% interval, and the number of images behind it.

    Attributes:
        value: the value.
        ci95: the 95% interval; None if there is none.
        n_images: number of images; for a mean of several independent values, the smallest of their numbers of images.
        bounds: the lowest and the highest possible value; each is None if there is no such bound.
    """

    value: float
    ci95: tuple[float, float] | None
    n_images: int
    bounds: tuple[float | None, float | None] = (None, None)


@dataclass(frozen=True, slots=True)
class Rank:
    """The rank of an entry (1 is the best), and the interval of the rank.

    Attributes:
        rank: the rank by value; equal values share a rank.
        interval: the best and the worst rank that the entries' intervals allow; None if no entry has an interval.
    """

    rank: int
    interval: tuple[int, int] | None


Goal = Literal["higher", "lower"] | Estimate
"""Which values are better: higher ones, lower ones, or those nearer to an estimate."""


def ranks(entries: Sequence[Estimate], goal: Goal) -> list[Rank]:
    """Rank entries by their values, and compute an interval for each rank.

    Args:
        entries: the entries to rank.
        goal: which values are better.

    Returns:
        The rank of each entry, with a simultaneous 95% confidence interval.

    Examples:
        >>> entries = [Estimate(0.1, (0.05, 0.15), 50), Estimate(0.4, (0.3, 0.5), 50), Estimate(0.12, (0.05, 0.2), 50)]
        >>> ranks(entries, "higher")
        [Rank(rank=3, interval=(2, 3)), Rank(rank=1, interval=(1, 1)), Rank(rank=2, interval=(2, 3))]
    """
    if not entries:
        return []
    values = np.array([entry.value for entry in entries])
    # Smaller is better.
    loss = {"higher": -values, "lower": values}[goal] if isinstance(goal, str) else np.abs(values - goal.value)
    places = [1 + int((loss < own).sum()) for own in loss]
    if all(entry.ci95 is None for entry in entries):
        return [Rank(place, None) for place in places]
    target = () if isinstance(goal, str) else (goal,)
    widened = [_widened(entry, len(entries) + len(target)) for entry in (*entries, *target)]
    lows, highs = np.array(widened[: len(entries)]).T
    sides = goal if isinstance(goal, str) else widened[-1]
    better = [_surely_worse(low, high, lows, highs, sides) for low, high in zip(lows, highs, strict=True)]
    n_worse_than = [int(worse.sum()) for worse in better]
    n_better_than = np.sum(better, axis=0)
    return [
        Rank(place, (1 + int(ahead), len(entries) - behind))
        for place, ahead, behind in zip(places, n_better_than, n_worse_than, strict=True)
    ]


def _widened(estimate: Estimate, n_intervals: int) -> tuple[float, float]:
    """Return the simultaneous (Bonferroni) 95% confidence interval of an estimate that is one of `n_intervals`."""
    if estimate.ci95 is None:
        return -np.inf, np.inf
    tail = (1 - CONFIDENCE) / 2
    quantiles = (expanded(NormalDist().inv_cdf(part), estimate.n_images) for part in (tail / n_intervals, tail))
    wide, narrow = quantiles
    factor = wide / narrow
    low, high = estimate.ci95
    below, above = max(estimate.value - low, 0.0), max(high - estimate.value, 0.0)
    if estimate.value in estimate.bounds:
        # The far end may be the largest mean that n images at the bound allow (`stats.bootstrap`).
        n = max(estimate.n_images, 1)
        factor = max(factor, (1 - (tail / n_intervals) ** (1 / n)) / (1 - tail ** (1 / n)))
    elif not (below and above):
        # Resamples on one side only, as for a matched distance near 0, give no information about the other side.
        below = above = max(below, above)
    return estimate.value - factor * below, estimate.value + factor * above


def _surely_worse(
    low: float, high: float, lows: FloatArray, highs: FloatArray, goal: Literal["higher", "lower"] | tuple[float, float]
) -> BoolArray:
    """Return which intervals have only values that are worse than all from `low` to `high`, shape (n_entries,)."""
    if goal == "higher":
        return np.asarray(highs < low)
    if goal == "lower":
        return np.asarray(lows > high)
    # For every target in its interval, the farthest value of the one must be nearer than any value of the other. The
    # difference of the two distances is linear between these places, so its maximum is at one of them.
    first, last = float(goal[0]), float(goal[1])
    with np.errstate(invalid="ignore"):
        places = [np.full_like(lows, place) for place in (first, last, np.clip((low + high) / 2, first, last))]
        places += [np.clip(ends, first, last) for ends in (lows, highs)]
        nearer = [
            np.maximum(np.abs(low - place), np.abs(high - place))
            < np.maximum(np.maximum(lows - place, place - highs), 0.0)
            for place in places
        ]
    return np.asarray(np.all(nearer, axis=0))

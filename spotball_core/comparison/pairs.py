"""Represent one metric of two respondents on the same images, in the form that resampling and permuting need."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spotball_core.metrics.inputs import ratio
from spotball_core.metrics.metric import Metric, Statistic
from spotball_core.scoring.estimates import Estimator
from spotball_core.stats.permutation import ROUNDING, Swaps
from spotball_core.stats.power import smallest_difference
from spotball_core.text.numbers import ALPHA
from spotball_core.typing import BoolArray, FloatArray


@dataclass(frozen=True)
class MetricPair:
    """One metric of respondents a and b: numbers for each image, and a function from their sums to the metric's value.

    Attributes:
        sums: what each image adds, shape (2, n_images, k), a first; 0 for images that are not used.
        swapped: `sums` with the two respondents' labels swapped.
        combine: function from sums, shape (..., k), to values, shape (...).
        enters: which images are used, because the metric has a value for both, shape (n_images,).
        values: each image's values, shape (2, n_images); None if the metric has no value per image.
    """

    sums: FloatArray
    swapped: FloatArray
    combine: Callable[[FloatArray], FloatArray]
    enters: BoolArray
    values: FloatArray | None

    @property
    def totals(self) -> FloatArray:
        """Return the metric of a and of b, shape (2,)."""
        return self.combine(self.sums.sum(axis=1))

    def drawn(self, times: FloatArray) -> FloatArray:
        """Return the metric of a and of b in each resample of images.

        Args:
            times: number of times each image is drawn, shape (n_resamples, n_images).

        Returns:
            Shape (2, n_resamples).
        """
        return self.combine(times @ self.sums)

    def left_out(self) -> FloatArray:
        """Return the metric of a and of b with each used image omitted in turn, shape (2, n_used)."""
        return self.combine(self.sums.sum(axis=1, keepdims=True) - self.sums)[:, self.enters]

    def p_value(self, swaps: Swaps) -> float:
        """Return the two-sided p value: the share of label swaps that give a difference at least as large."""
        totals, change = self.sums.sum(axis=1), self.swapped - self.sums
        a, b = self.combine(totals)
        least = abs(a - b) - ROUNDING * (abs(a) + abs(b))
        as_extreme = 0
        # 32-bit floats are twice as fast, and exact for small whole numbers.
        is_small = (change == np.floor(change)).all() and np.abs(change).sum(axis=1).max() < 2**24
        kind: Any = np.float32 if is_small else np.float64
        # With equal numbers of answers, what a swap adds to one side, it takes from the other.
        mirrored = np.array_equal(change[1], -change[0])
        moved = (change[:1] if mirrored else change).astype(kind)
        for ways in swaps.blocks(width=2 * change.shape[-1]):
            added = ways.astype(kind) @ moved
            both = np.concatenate([added, -added]) if mirrored else added
            a, b = self.combine(totals[:, None] + both)
            # Swaps that leave the metric undefined are no evidence against the null hypothesis.
            as_extreme += int((~(np.abs(a - b) < least)).sum())
        return swaps.p_value(as_extreme)

    def detectable(self, swaps: Swaps, tests: int, resampled: FloatArray | None = None) -> float | None:
        """Return the smallest true difference that is detected with 80% power.

        It is None if no p value can be significant, or differences do not vary.

        Args:
            swaps: the ways to swap labels.
            tests: number of tests for which p values are corrected.
            resampled: the metric in resamples of images and participants, shape (2, n_resamples); None if participants
                are not resampled.
        """
        left_out = self.left_out()
        n = left_out.shape[1]
        if n < 2 or 2.0 ** (1 - min(n, 1000)) > ALPHA / tests or 1 / len(swaps) > ALPHA / tests:
            return None
        # The jackknife's standard error, for images; the bootstrap's, for images and participants.
        drawn = left_out if resampled is None else resampled
        differences = drawn[0] - drawn[1]
        variance = float(np.nanvar(differences)) * (n - 1 if resampled is None else 1)
        return smallest_difference(math.sqrt(variance), df=n - 1, alpha=ALPHA / tests) if variance > 0 else None

    @property
    def effect_size(self) -> float | None:
        """The mean of the images' differences, divided by their standard deviation (n - 1).

        None if the metric has no value per image, there are fewer than two images, or all differences are equal.
        """
        if self.values is None or self.enters.sum() < 2:
            return None
        a, b = self.values[:, self.enters]
        spread = (a - b).std(ddof=1)
        if spread <= ROUNDING * (np.abs(a) + np.abs(b)).max():
            return None
        return float((a - b).mean() / spread)


def pair_of(estimator: Estimator, metric: Metric, mass: FloatArray, unparsed: FloatArray) -> MetricPair:
    """Return what each image adds to a metric, for two respondents' answers.

    Args:
        estimator: provides the images, the reference and the policy.
        metric: the metric.
        mass: counts of cells, shape (2, n_images, n_cells), a first.
        unparsed: number of unparsed responses, shape (2, n_images).
    """
    # Compute them separately, so that random draws for one do not depend on the other or on the order.
    return paired([estimator.statistic(metric, *answers) for answers in zip(mass, unparsed, strict=True)])


def paired(statistics: Sequence[Statistic]) -> MetricPair:
    """Return what each image adds to a metric, from the metric's statistics of two respondents, a first."""
    sums = np.stack([statistic.sums for statistic in statistics], dtype=float)
    combine = statistics[0].combine
    answered = np.stack([statistic.answered for statistic in statistics])
    enters = statistics[0].enters & statistics[1].enters & (answered > 0).all(axis=0)
    # In the other's place, answers are rescaled to the other's number of answers. Otherwise the number of answers, not
    # their content, would distinguish the two.
    scale = np.where(enters, ratio(answered, answered[::-1]), 0.0)
    swapped = np.stack([other.scaled(factor) for other, factor in zip(statistics[::-1], scale, strict=True)])
    values = None if statistics[0].values is None else np.stack([ratio(s[..., 0], s[..., 1]) for s in sums])
    entering = enters[:, None]
    return MetricPair(sums * entering, swapped * entering, combine, enters, values)

"""One metric of two respondents on the same images, in the form that resampling and permuting need."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spotball_core.estimates import Estimator, Statistic
from spotball_core.grid import BoolArray, FloatArray
from spotball_core.metrics.inputs import ratio
from spotball_core.metrics.registry import Metric
from spotball_core.stats.permutation import ROUNDING, Swaps

COUNTED = frozenset(
    {
        *("wasserstein", "wasserstein_1d", "normalized_entropy", "image_entropy", "top_k_accuracy"),
        *("log_score", "brier_score", "energy_score"),
    }
)
"""Metrics that, counted from few answers, come out otherwise than counted from many of the same kind."""


@dataclass(frozen=True)
class Pair:
    """One metric of respondents a and b, as numbers that add over images.

    Attributes:
        sums: what each image adds, shape (2, n_images, k), a first; 0 for images that do not enter.
        swapped: the same where the respondents' labels are swapped.
        combine: from added numbers, shape (..., k), to values, shape (...).
        enters: images that enter, for both alike, shape (n_images,).
        values: each image's own values, shape (2, n_images); None where a metric has none.
    """

    sums: FloatArray
    swapped: FloatArray
    combine: Callable[[FloatArray], FloatArray]
    enters: BoolArray
    values: FloatArray | None

    @property
    def totals(self) -> FloatArray:
        """The metric of a and of b, shape (2,)."""
        return self.combine(self.sums.sum(axis=1))

    def drawn(self, times: FloatArray) -> FloatArray:
        """The metric of a and of b where each image enters a number of times.

        Args:
            times: shape (n_resamples, n_images).

        Returns:
            Shape (2, n_resamples).
        """
        return self.combine(times @ self.sums)

    def p_value(self, swaps: Swaps) -> float:
        """Two-sided p value of the difference: how often swapped labels give one at least as large."""
        totals, change = self.sums.sum(axis=1), self.swapped - self.sums
        a, b = self.combine(totals)
        least = abs(a - b) - ROUNDING * (abs(a) + abs(b))
        as_extreme = 0
        for ways in swaps.blocks(width=2 * change.shape[-1]):
            a, b = self.combine(totals[:, None] + ways @ change)
            # Where swapping leaves the metric without a value, nothing speaks against the null hypothesis.
            as_extreme += int((~(np.abs(a - b) < least)).sum())
        return swaps.p_value(as_extreme)

    @property
    def effect_size(self) -> float | None:
        """Mean over standard deviation (n - 1) of the images' differences; None without values or without spread."""
        if self.values is None or self.enters.sum() < 2:
            return None
        a, b = self.values[:, self.enters]
        spread = (a - b).std(ddof=1)
        if spread <= ROUNDING * (np.abs(a) + np.abs(b)).max():
            return None
        return float((a - b).mean() / spread)


def pair_of(estimator: Estimator, metric: Metric, mass: FloatArray, unparsed: FloatArray) -> Pair:
    """One metric of two respondents' answers.

    Args:
        estimator: knows the images, the reference and the policy.
        metric: which one.
        mass: shape (2, n_images, n_cells), a first.
        unparsed: shape (2, n_images).
    """
    statistic = estimator.statistic(metric, mass, unparsed)
    answered = mass.sum(axis=-1) + (unparsed if metric.key == "accuracy" else 0.0)
    enters = _enter(statistic, answered)
    if metric.over == "images":
        swapped = statistic.sums[::-1]
    else:
        # In the other's place, answers count as many as the other's: else who answered more often, not how, would
        # tell the two apart.
        scale = np.where(enters, ratio(answered, answered[::-1]), 0.0)
        swapped = estimator.statistic(metric, mass[::-1] * scale[..., None], unparsed[::-1] * scale).sums
    here = enters[:, None]
    return Pair(statistic.sums * here, swapped * here, statistic.combine, enters, _values(statistic, metric))


def thinned_pair_of(estimator: Estimator, metric: Metric, draws: FloatArray) -> Pair:
    """One metric of two respondents' answers, thinned to the same number on each image: its mean over draws.

    Args:
        estimator: as for `pair_of`.
        metric: one that unparsed answers do not enter.
        draws: shape (n_draws, 2, n_images, n_cells), from `thinned`.
    """
    statistic = estimator.statistic(metric, draws, np.zeros(draws.shape[:-1]))
    enters = _enter(statistic, draws.sum(axis=-1))
    sums = np.moveaxis(statistic.sums, 0, -2) * enters[:, None, None]
    values = _values(statistic, metric)
    if values is not None:
        # A mean over images of a mean over draws: the draws can be averaged at once.
        sums = sums.mean(axis=-2)
        return Pair(sums, sums[::-1], statistic.combine, enters, values.mean(axis=0))
    n_draws, k = sums.shape[-2:]

    def combine(added: FloatArray) -> FloatArray:
        mean: FloatArray = statistic.combine(added.reshape(*added.shape[:-1], n_draws, k)).mean(axis=-1)
        return mean

    sums = sums.reshape(*sums.shape[:-2], n_draws * k)
    return Pair(sums, sums[::-1], combine, enters, None)


def thinned(mass: FloatArray, n: FloatArray, draws: int, generator: np.random.Generator) -> FloatArray:
    """Answers drawn without replacement, some number of each image's.

    Args:
        mass: whole numbers of answers, shape (n_images, n_cells).
        n: how many of each image's, shape (n_images,); whole, and no more than there are.
        draws: how many times.
        generator: to draw from.

    Returns:
        Shape (draws, n_images, n_cells).

    Examples:
        >>> thinned(np.array([[4.0, 4.0], [0.0, 2.0]]), np.array([2.0, 2.0]), 3, np.random.default_rng(0)).sum(axis=-1)
        array([[2., 2.],
               [2., 2.],
               [2., 2.]])
    """
    out = np.empty((draws, *mass.shape))
    for image, (counts, least) in enumerate(zip(mass.astype(np.int64), n.astype(np.int64), strict=True)):
        out[:, image] = generator.multivariate_hypergeometric(counts, least, size=draws, method="marginals")
    return out


def _enter(statistic: Statistic, answered: FloatArray) -> BoolArray:
    enters = np.broadcast_to(statistic.enters, answered.shape) & (answered > 0)
    return np.asarray(enters.reshape(-1, enters.shape[-1]).all(axis=0))


def _values(statistic: Statistic, metric: Metric) -> FloatArray | None:
    return None if metric.over == "pool" else ratio(statistic.sums[..., 0], statistic.sums[..., 1])

"""Compute means per guess from totals per image, with intervals from a bootstrap over images."""

from __future__ import annotations

import numpy as np

from spotball_core.schema.report import MetricValue
from spotball_core.stats.bootstrap import bootstrap_interval, resample_weights
from spotball_core.typing import FloatArray


class ImageSums:
    """Compute means per guess from sums over each image's guesses. All intervals use the same resamples of images."""

    def __init__(self, sizes: FloatArray, bootstrap: int, seed: int) -> None:
        """Draw the resamples.

        Args:
            sizes: number of guesses to each image, shape (n_images,).
            bootstrap: number of resamples; 0 for no intervals.
            seed: seed of the resamples.
        """
        self.sizes = sizes
        self._times = resample_weights(len(sizes), bootstrap, seed) if bootstrap else None

    def mean(self, totals: FloatArray) -> MetricValue:
        """Return the mean per guess; `totals` are the sums over each image's guesses, shape (n_images,)."""
        return self.quotient(totals, self.sizes)

    def quotient(self, upper: FloatArray, lower: FloatArray) -> MetricValue:
        """Return the quotient of two sums over images; its value is None if the denominator is not above 0."""
        return self._value(upper, lower, np.zeros(len(upper)), np.ones(len(upper)))

    def difference(self, totals: FloatArray, others: FloatArray, other_sizes: FloatArray) -> MetricValue:
        """Return a respondent's mean per guess minus another respondent's mean per guess on the same images."""
        return self._value(totals, self.sizes, others, other_sizes)

    def standard_error(self, totals: FloatArray) -> float:
        """Return the standard error of the mean per guess, by linearization over images."""
        n = len(totals)
        residuals = (totals - self.sizes * (totals.sum() / self.sizes.sum())) / self.sizes.sum()
        return float(np.sqrt((residuals**2).sum() * n / max(n - 1, 1)))

    def _value(self, upper: FloatArray, lower: FloatArray, second: FloatArray, third: FloatArray) -> MetricValue:
        sums = np.stack([upper, lower, second, third], axis=-1)
        total = sums.sum(axis=0)
        if total[1] <= 0 or total[3] <= 0:
            return MetricValue(value=None, reason="the explainable gain is not above 0")
        value = float(_combined(total))
        if self._times is None:
            return MetricValue(value=value, n_images=len(upper))
        interval = bootstrap_interval(value, _combined(self._times @ sums), _combined(total - sums))
        return MetricValue(value=value, ci95=interval, n_images=len(upper))


def _combined(sums: FloatArray) -> FloatArray:
    """Return (first / second) - (third / fourth); NaN if a denominator is not above 0."""
    known = (sums[..., 1] > 0) & (sums[..., 3] > 0)
    lower = np.where(known[..., None], sums[..., 1::2], 1.0)
    values: FloatArray = np.where(known, sums[..., 0] / lower[..., 0] - sums[..., 2] / lower[..., 1], np.nan)
    return values

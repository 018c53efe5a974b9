r"""Estimate variance components of a metric: between images, within an image (answers), and between people or prompts.

With $k$ answers to an image, the image's value is $x_i = \mu + b_i + e_i$, where $b_i$ differs between images with
variance $\sigma_B^2$, and the answers' noise $e_i$ has the variance $w(k)$:

- If the value is the mean of the answers' scores, $w(k) = \sigma_W^2 / k$. The closed form is the method of moments:
  $\hat\sigma_W^2$ is the mean over images of the scores' variance $s_i^2$ (with $k_i - 1$), and
  $\hat\sigma_B^2 = S^2 - \mathrm{mean}(s_i^2 / k_i)$, where $S^2$ is the variance of the images' values. Both are
  unbiased for unequal numbers of answers and for images with unequal noise.
- Other metrics, such as distances between distributions, are computed for disjoint random samples of half and a quarter
  of the answers. Half of the squared difference between two samples estimates $w$ for their size, and
  $w(k) = f / k + s / k^2$ (the first two terms of Hoeffding's decomposition) is fitted to both sizes.

A metric that is not a mean of the images' values is represented by the jackknife's pseudo-values
$n T - (n - 1) T_{(-i)}$, whose mean and variance are those that the metric has over benchmarks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spotball_core.metrics.inputs import ratio
from spotball_core.metrics.metric import Metric, Statistic
from spotball_core.scoring.estimates import Estimator
from spotball_core.typing import FloatArray, IntArray

SPLITS = 10
"""Number of pairs of random samples of the answers, for metrics that are not means of the answers' scores."""

_ROUNDING = 1e-9
"""If the mean of the answers' scores differs by less from the images' values, a metric is a mean of answers."""


@dataclass(frozen=True)
class Answered:
    """One respondent's values of a metric for each image, and how they vary with its answers.

    Arrays have the shape (n_images,), with NaN where the metric has no value.

    Attributes:
        values: each image's value.
        answers: each image's number of answers.
        first: estimates of the coefficient of 1 / k in the variance of each image's value; NaN if it is unknown.
        second: estimates of the coefficient of 1 / k^2; 0 for means of answers.
        scores: the scores of answers, see `answer_scores`; None if the metric is not a mean.
    """

    values: FloatArray
    answers: FloatArray
    first: FloatArray
    second: FloatArray
    scores: FloatArray | None = None

    @property
    def step(self) -> float:
        """The difference between the two scores of an answer, if there are only two; else 0."""
        if self.scores is None:
            return 0.0
        values = np.unique(self.scores[np.isfinite(self.scores)])
        return float(values[1] - values[0]) if len(values) == 2 else 0.0

    @property
    def filled(self) -> tuple[FloatArray, FloatArray]:
        """`first` and `second`, with their means where they are unknown, as for images with one answer."""
        return _filled(self.first), _filled(self.second)

    @property
    def noise(self) -> FloatArray:
        """The variance of each image's value that the pilot's answers cause."""
        first, second = self.filled
        return first / self.answers + second / self.answers**2


def answered(estimator: Estimator, metric: Metric, generator: np.random.Generator) -> Answered:
    """Return the values of a metric for a respondent's images, and the variance that the answers cause."""
    statistic = estimator.own(metric)
    answers = np.where(statistic.enters, statistic.answered, np.nan)
    scores = answer_scores(estimator, metric)
    if scores is None:
        return Answered(pseudo_values(statistic), answers, *_halved(estimator, metric, generator))
    means, variances = moments(*scored(scores, estimator.answers.mass, estimator.answers.unparsed))
    return Answered(np.where(statistic.enters, means, np.nan), answers, variances, np.zeros_like(answers), scores)


def answer_scores(estimator: Estimator, metric: Metric) -> FloatArray | None:
    """Return the score of an answer with each cell, and last of an unparsed answer, shape (n_images, n_cells + 1).

    Scores are NaN for answers that the metric excludes. The result is None if the metric is not a mean of scores.
    """
    if metric.over == "pool" or metric.is_matched or metric.by_size:
        return None
    scores, statistic = _scores(estimator, metric), estimator.own(metric)
    means, _ = moments(*scored(scores, estimator.answers.mass, estimator.answers.unparsed))
    own = _values(statistic)
    error = np.nanmax(np.abs(means - own), initial=0.0, where=statistic.enters)
    return scores if error < _ROUNDING * max(1, np.nanmax(np.abs(own), initial=0.0)) else None


def scored(scores: FloatArray, mass: FloatArray, unparsed: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return scores without NaN, and how often each was given: shape (..., n_images, n_cells + 1)."""
    counts = np.concatenate([mass, unparsed[..., None]], axis=-1)
    return np.nan_to_num(scores), np.where(np.isfinite(scores), counts, 0.0)


def pseudo_values(statistic: Statistic) -> FloatArray:
    """Return the jackknife's pseudo-value of each image, shape (n_images,); NaN for images that are not used."""
    n = int(statistic.enters.sum())
    values = np.full(len(statistic.enters), np.nan)
    values[statistic.enters] = n * statistic.total() - (n - 1) * statistic.leave_one_out()
    return values


def moments(scores: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the variance (n - 1) of each image's answers; NaN without answers, or for one answer.

    Args:
        scores: the score of each kind of answer, shape (n_images, n_kinds).
        counts: how often each was given, in the same shape.

    Examples:
        >>> means, variances = moments(np.array([[0.0, 1.0]]), np.array([[3.0, 1.0]]))
        >>> float(means[0]), float(variances[0])
        (0.25, 0.25)
    """
    n = counts.sum(axis=1)
    means = ratio((counts * scores).sum(axis=1), n)
    squares = (counts * (scores - means[:, None]) ** 2).sum(axis=1)
    return means, np.where(n > 1, squares / np.maximum(n - 1, 1), np.nan)


def _scores(estimator: Estimator, metric: Metric) -> FloatArray:
    """Return the metric's value of each image for one answer with each cell, and last for an unparsed answer."""
    n_images, n_cells = estimator.answers.mass.shape
    scores, none = np.empty((n_images, n_cells + 1)), np.zeros(n_images)
    for cell in range(n_cells):
        mass = np.zeros((n_images, n_cells))
        mass[:, cell] = 1.0
        scores[:, cell] = _values(estimator.statistic(metric, mass, none))
    scores[:, n_cells] = _values(estimator.statistic(metric, np.zeros((n_images, n_cells)), none + 1))
    return scores


def _values(statistic: Statistic) -> FloatArray:
    sums = statistic.sums.astype(float)
    return np.where(statistic.enters, ratio(sums[:, 0], sums[:, 1]), np.nan)


def _halved(estimator: Estimator, metric: Metric, generator: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return the coefficients of 1 / k and 1 / k^2, from disjoint samples of half and a quarter of the answers."""
    mass, least = estimator.answers.mass.astype(int), metric.least_responses
    total = mass.sum(axis=1)
    half, quarter = total // 2, total // 4
    large = half * _squared(estimator, metric, mass, half, generator)
    large = np.where(half >= least, large, np.nan)
    if not np.isfinite(large).any() or (quarter < least).any():
        return large, np.zeros_like(large)
    small = quarter * _squared(estimator, metric, mass, quarter, generator)
    second = (small - large) / (1 / quarter - 1 / half)
    first = large - second / half
    if not (_mean(second) > 0 and _mean(first) > 0):
        return large, np.zeros_like(large)
    return first, second


def _squared(
    estimator: Estimator, metric: Metric, mass: IntArray, size: IntArray, generator: np.random.Generator
) -> FloatArray:
    """Return half of the mean squared difference between two disjoint samples of the answers, for each image."""
    nothing, total = np.zeros(len(mass)), np.zeros(len(mass))
    for _ in range(SPLITS):
        pair = _disjoint(mass, size, generator)
        first, second = (pseudo_values(estimator.statistic(metric, part, nothing)) for part in pair)
        total += (first - second) ** 2 / 2
    return total / SPLITS


def _disjoint(mass: IntArray, size: IntArray, generator: np.random.Generator) -> FloatArray:
    """Draw two disjoint samples of each image's answers, shape (2, n_images, n_cells)."""
    n_cells = mass.shape[1]
    parts = np.zeros((2, *mass.shape))
    for image, (counts, n) in enumerate(zip(mass, size, strict=True)):
        cells = generator.permutation(np.repeat(np.arange(n_cells), counts))
        for part in (0, 1):
            parts[part, image] = np.bincount(cells[part * n : (part + 1) * n], minlength=n_cells)
    return parts


def crossed(totals: FloatArray, counts: FloatArray, squares: float) -> tuple[float, float, float]:
    r"""Estimate the variances between rows, between columns and within, in a crossed design with unequal counts.

    Henderson's first method equates four sums of squares with their expectations under
    $y_{pim} = \mu + p_p + b_i + e_{pim}$. The estimates are unbiased, and can be negative.

    Args:
        totals: sum of the scores in each row and column, such as person and image, shape (n_rows, n_columns).
        counts: number of scores, in the same shape.
        squares: sum of all squared scores.

    Returns:
        The variance between rows, between columns, and within; NaN if the design does not determine them.

    Examples:
        >>> rows, columns, within = crossed(np.array([[1.0, 2.0], [3.0, 4.0]]), np.ones((2, 2)), 30.0)
        >>> round(rows, 9), round(columns, 9), abs(round(within, 9))
        (2.0, 0.5, 0.0)
    """
    n, of_rows, of_columns = counts.sum(), counts.sum(axis=1), counts.sum(axis=0)
    rows, columns = of_rows > 0, of_columns > 0
    mean = totals.sum() ** 2 / n
    found = np.array(
        [
            squares - mean,
            (totals.sum(axis=1)[rows] ** 2 / of_rows[rows]).sum() - mean,
            (totals.sum(axis=0)[columns] ** 2 / of_columns[columns]).sum() - mean,
        ]
    )
    row_share, column_share = (of_rows**2).sum() / n, (of_columns**2).sum() / n
    mixed_rows = (counts[rows] ** 2 / of_rows[rows, None]).sum()
    mixed_columns = (counts[:, columns] ** 2 / of_columns[columns]).sum()
    expected = np.array(
        [
            [n - row_share, n - column_share, n - 1],
            [n - row_share, mixed_rows - column_share, rows.sum() - 1],
            [mixed_columns - row_share, n - column_share, columns.sum() - 1],
        ]
    )
    if np.linalg.matrix_rank(expected) < 3:
        return float("nan"), float("nan"), float("nan")
    row, column, within = np.linalg.solve(expected, found)
    return float(row), float(column), float(within)


def _filled(values: FloatArray) -> FloatArray:
    return np.where(np.isfinite(values), values, _mean(values))


def _mean(values: FloatArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")

r"""Allocate answers to the images on which they differ most, in rounds, without bias of the estimate.

The noise of a mean over images is smallest if an image's number of answers is proportional to the standard deviation of
its answers (Neyman, 1934). The deviations are estimated from all answers of the earlier rounds. To these, the estimate
adds answers of the average image: as many as $\sigma_W^2 / \sigma_B^2$, the variance between answers divided by that
between images, so that an image with few and equal answers still receives some.

An image's mean over all of its answers would be biased, because its number of answers depends on the first ones. An
image's value is therefore $\sum_t w_t \bar y_t$, with its mean $\bar y_t$ in round t, and weights $w_t$ that are the
same for all images: the round's share of all answers. Given the earlier rounds, each $\bar y_t$ is unbiased, and so is
their sum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.metrics.metric import Metric
from spotball_core.planning.components import answer_scores, moments, scored
from spotball_core.scoring.estimates import Estimator
from spotball_core.typing import FloatArray, IntArray

FIRST = 5
"""Number of answers to each image in the first round."""


def round_sizes(answers: int) -> tuple[int, ...]:
    """Return the mean number of answers per image of each round: all answers double from round to round.

    Args:
        answers: mean number of answers per image in all rounds, above `FIRST`.

    Examples:
        >>> round_sizes(20), round_sizes(50)
        ((5, 5, 10), (5, 5, 10, 30))
    """
    if answers <= FIRST:
        raise OptionError(
            f"found {answers}, expected more than {FIRST}: the first round asks {FIRST} times about each image",
            field="--samples",
        )
    totals = [FIRST]
    # The last round is at least as large as a third of all earlier rounds.
    while totals[-1] * 2 < 0.75 * answers:
        totals.append(totals[-1] * 2)
    return tuple(map(int, np.diff([0, *totals, answers])))


def allocation(estimator: Estimator, metric: Metric, size: int) -> IntArray:
    """Return the number of answers to each image in the next round, shape (n_images,); at least 1.

    Args:
        estimator: the answers of all earlier rounds.
        metric: a metric whose value of an image is the mean of its answers' scores.
        size: mean number of answers per image in the next round.

    Raises:
        OptionError: for other metrics.
    """
    of_answers = answer_scores(estimator, metric)
    if of_answers is None:
        raise OptionError(
            f"{metric.key} is not a mean over answers. Use a metric such as accuracy or euclidean_error",
            field="--adaptive",
        )
    scores, counts = scored(of_answers, estimator.answers.mass, estimator.answers.unparsed)
    n = counts.sum(axis=1)
    means, variances = moments(scores, counts)
    known = n > 1
    if not known.any():
        return np.full(len(n), size)
    within = float(variances[known].mean())
    between = float(means[known].var()) - float((variances[known] / n[known]).mean())
    # If images do not differ, the average image says everything.
    added = within / between if between > within / 1e6 else 1e6
    first, second = ((counts * scores**power).sum(axis=1) for power in (1, 2))
    mean, square = (float((sums[known] / n[known]).mean()) for sums in (first, second))
    expected, expected_square = (first + added * mean) / (n + added), (second + added * square) / (n + added)
    return _whole(np.sqrt(np.maximum(expected_square - expected**2, 0.0)), len(n) * size)


def combined(values: Sequence[FloatArray], sizes: Sequence[int]) -> FloatArray:
    """Return each image's value from its means in all rounds, without bias; NaN if a mean is NaN.

    Args:
        values: the images' means of each round, shape (n_images,) each.
        sizes: mean number of answers per image in each round.

    Examples:
        >>> combined([np.array([0.0, 1.0]), np.array([0.5, 0.5])], [5, 15]).tolist()
        [0.375, 0.625]
    """
    return np.asarray(sizes) / sum(sizes) @ np.stack(values)


def _whole(deviations: FloatArray, total: int) -> IntArray:
    """Return whole numbers of at least 1 that sum to the total and are otherwise proportional to the deviations."""
    if not deviations.any():
        deviations = np.ones_like(deviations)
    low, high = 0.0, total / deviations[deviations > 0].min()
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if np.maximum(middle * deviations, 1).sum() > total else (middle, high)
    shares = np.maximum(low * deviations, 1)
    whole = np.floor(shares + 1e-9).astype(int)
    # The largest remainders are rounded up.
    whole[np.argsort(whole - shares, kind="stable")[: total - whole.sum()]] += 1
    return whole

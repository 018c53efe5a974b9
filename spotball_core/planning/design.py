r"""Predict the power of a paired comparison, and find the numbers of images and answers that it needs.

With n images and k answers of each respondent to each image, the variance of an estimated difference is

$$v(n, k) = \frac1n \Big(\sigma_B^2 + \frac{f}{k} + \frac{s}{k^2}\Big) + \frac{\sigma_P^2}{k} \Big(1 - \frac1n\Big)$$

where $\sigma_B^2$ is the variance of the true differences between images, f and s describe the answers' noise of both
respondents (see `components`), and $\sigma_P^2$ is the variance between participants, if each of k people answers every
image. More answers therefore cannot replace images, and more images cannot replace people.

If answers are right or wrong, the sum of the differences only takes multiples of 1 / k. A p value counts ties, so the
sum must be larger by half of the distance between two values that swapped labels can give, which is 1 / k.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spotball_core.planning.components import Answered
from spotball_core.stats.bootstrap import percentile_interval, resample_weights
from spotball_core.stats.power import power_of, smallest_difference
from spotball_core.typing import FloatArray

ANSWERS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200)
"""Numbers of answers per image that the search for the cheapest design considers."""

ENOUGH = 0.05
"""More answers help little if infinitely many would shrink the smallest detectable difference by at most this share."""

_MOST_IMAGES = 10_000_000


@dataclass(frozen=True)
class Spread:
    """The variance of a metric's difference between two respondents; see the module.

    Attributes:
        between: variance of the true difference between images.
        first: coefficient of 1 / k in the answers' noise.
        second: coefficient of 1 / k^2.
        people: variance between participants; 0 for respondents without participants.
        step: the difference between the two scores of an answer, if there are only two; else 0.
        least: minimum number of answers per image that the metric needs.
        alpha: significance level of one test, after the correction for several tests.
        power: the probability with which a difference is to be detected.
        only: the number of answers for which the spread holds, because the pilot has too few answers per image to
            separate their noise from the differences between images; None if it holds for any number.
    """

    between: float
    first: float
    second: float
    people: float
    step: float
    least: int
    alpha: float
    power: float
    only: int | None = None

    def variance(self, images: int, answers: int) -> float:
        """Return the variance of the estimated difference."""
        own = self.between + self.first / answers + self.second / answers**2
        return own / images + self.people / answers * (1 - 1 / images)

    def smallest(self, images: int, answers: int) -> float | None:
        """Return the smallest difference that is detected; None if no difference can be significant."""
        if not self._testable(images) or answers < self.least or self.only not in (None, answers):
            return None
        se = math.sqrt(self.variance(images, answers))
        found = smallest_difference(se, df=images - 1, alpha=self.alpha, power=self.power)
        return found + self.step / (images * answers)

    def power_at(self, effect: float, images: int, answers: int) -> float:
        """Return the probability that a true difference is detected."""
        se = math.sqrt(self.variance(images, answers))
        if not self._testable(images):
            return 0.0
        ties = self.step / (images * answers)
        if se == 0:
            return float(abs(effect) > ties)
        return power_of(effect, se, df=images - 1, alpha=self.alpha, ties=ties)

    def images(self, effect: float, answers: int) -> int | None:
        """Return the smallest number of images with which an effect is detected; None if no number is enough."""
        low, high = 1, _MOST_IMAGES
        smallest = self.smallest(high, answers)
        if smallest is None or smallest > effect:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            smallest = self.smallest(middle, answers)
            low, high = (low, middle) if smallest is not None and smallest <= effect else (middle, high)
        return high

    @property
    def enough_answers(self) -> int | None:
        """The number of answers from which more help little (`ENOUGH`); None if it is above those in `ANSWERS`."""
        most = (1 + ENOUGH) ** 2 * self.between
        enough = (k for k in ANSWERS if k >= self.least and self.between + self.first / k + self.second / k**2 <= most)
        return None if self.only or self.people else next(enough, None)

    def _testable(self, images: int) -> bool:
        """Return whether swapping the labels of this number of images can give a significant p value."""
        return images > 1 and 2.0 ** (1 - min(images, 1000)) <= self.alpha


@dataclass(frozen=True)
class Cheapest:
    """The cheapest design that detects an effect: numbers of images and of answers per image, and its cost."""

    images: int
    answers: int
    cost: float


def cheapest(
    spreads: Sequence[tuple[Spread, float]],
    *,
    price_answer: float,
    price_image: float,
    answers: Sequence[int] = ANSWERS,
) -> Cheapest | None:
    """Return the cheapest design with which all effects are detected, each with the power of its spread.

    Args:
        spreads: the spread and the effect of each metric.
        price_answer: price of one answer of both respondents together.
        price_image: price of one image.
        answers: the numbers of answers to consider.
    """
    designs = []
    for n_answers in answers:
        needed = [spread.images(effect, n_answers) for spread, effect in spreads]
        if all(n is not None for n in needed):
            images = max(n for n in needed if n is not None)
            designs.append(Cheapest(images, n_answers, images * (price_image + n_answers * price_answer)))
    return min(designs, key=lambda design: (design.cost, design.images), default=None)


@dataclass(frozen=True)
class Paired:
    """The differences between two respondents, per image: what a spread is estimated from.

    Attributes:
        differences: differences between the images' values, shape (n_images,).
        noise: their variances that the pilot's answers cause.
        first: their coefficients of 1 / k.
        second: their coefficients of 1 / k^2.
        only: see `Spread`.
        step: see `Spread`.
    """

    differences: FloatArray
    noise: FloatArray
    first: FloatArray
    second: FloatArray
    only: int | None
    step: float

    def spread(self, *, people: float, least: int, alpha: float, power: float) -> Spread:
        """Return the estimated spread."""
        return Spread(*self.parts(), people, self.step, least, alpha, power, self.only)

    def parts(self) -> tuple[float, float, float]:
        """Return the variance of the true differences between images, and both coefficients of the answers' noise."""
        between, first, second = self._means(np.ones((1, len(self.differences))))[:, 0]
        return max(float(between), 0.0), float(first), float(second)

    def variance_interval(self, answers: int, *, resamples: int, seed: int) -> tuple[float, float] | None:
        """Return the 95% bootstrap interval, over images, of the variance of an image's difference with k answers."""
        if len(self.differences) < 2:
            return None
        between, first, second = self._means(resample_weights(len(self.differences), resamples, seed))
        return percentile_interval(np.maximum(between, 0.0) + first / answers + second / answers**2)

    def _means(self, weights: FloatArray) -> FloatArray:
        """Return the variance between images and the coefficients, for weights of the images, shape (3, n_rows)."""
        n = len(self.differences)
        first, second, noise = (weights @ values / n for values in (self.first, self.second, self.noise))
        mean = weights @ self.differences / n
        variance = (weights @ self.differences**2 / n - mean**2) * n / max(n - 1, 1)
        return np.stack([variance - noise, first, second])


def paired(a: Answered, b: Answered | None) -> Paired:
    """Return the differences between two respondents; without b, those between two respondents like a.

    Two respondents like a are assumed to be as different from each other on each image as two random images are.
    """
    used = np.isfinite(a.values) & (True if b is None else np.isfinite(b.values))
    # The variance of the difference of two independent values is twice that of one.
    differences = math.sqrt(2) * a.values[used] if b is None else a.values[used] - b.values[used]
    noises = [np.stack([side.noise, *side.filled])[:, used] for side in (a, b or a)]
    noise, first, second = np.sum(noises, axis=0)
    separable = bool(np.isfinite(noise).all())
    if not separable:
        noise = first = second = np.zeros_like(differences)
    only = None if separable else int(np.median(a.answers[used]))
    return Paired(differences, noise, first, second, only, a.step)

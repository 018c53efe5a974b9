"""Fit the weights of a mixture of known distributions by maximum likelihood.

The log likelihood is concave in the weights, so it has one maximum, and the gradient bounds the distance from it. Many
fits share each matrix product, so that fits to resamples take little more time than one fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.typing import BoolArray, FloatArray

TOLERANCE = 1e-8
"""Fits end when the log likelihood is within this distance of its maximum, in nats per answer."""

_MOST_STEPS = 500
_LEAST_SIZE, _PROMISE, _ROUNDING = 1e-12, 1e-4, 1e-15
"""Minimum step size, required share of the predicted decrease of the loss, and tolerance for rounding errors.

The gradient predicts how much a step decreases the loss. Steps are halved until the loss falls by the required share.
"""

_BATCH = 1_000_000
"""Maximum number of multiplications of a matrix product in a batch of fits.

Smaller batches need more calls from Python. Larger matrix products start threads, which cost more time than they
save.
"""

_NEAR_ZERO, _LEAST_SHARE, _ZERO = 1e-3, 0.1, 1e-9
"""A weight that is below the first value and has to decrease is excluded from the Newton step.

After a step, a weight is at least the second value times the old weight, because an outcome may be possible only with
this weight. A weight below the third value may become 0.
"""

_LEAST_RIDGE, _RIDGE = 1e-10, 0.01
"""Values added to the Hessian's diagonal, relative to its mean.

The first is a constant, the second a share of the distance from the maximum. Without them, steps could become
arbitrarily long if parts are equal or answers are few.
"""


@dataclass(frozen=True, slots=True)
class _Fits:
    """Several fits of the weights of the same parts, to different counts or with different allowed parts.

    Attributes:
        counts: how often each outcome was seen, as shares of all answers, shape (n_fits, n_outcomes).
        parts: each part's probability of each outcome, shape (n_outcomes, n_parts).
        products: products of the probabilities of each pair of parts, shape (n_outcomes, n_pairs); pairs are in the
            order of `np.triu_indices`.
        allowed: which parts each fit may use, shape (n_fits, n_parts).
    """

    counts: FloatArray
    parts: FloatArray
    products: FloatArray
    allowed: BoolArray

    def only(self, fits: BoolArray) -> _Fits:
        """Return the selected fits; `fits` states for each fit whether it is selected."""
        return _Fits(self.counts[fits], self.parts, self.products, self.allowed[fits])

    def probabilities(self, weights: FloatArray) -> FloatArray:
        """Return the probability of each outcome, shape (n_fits, n_outcomes); 1 for outcomes that were not seen."""
        probability: FloatArray = weights @ self.parts.T
        np.copyto(probability, 1.0, where=self.counts <= 0)
        return probability

    def loss(self, weights: FloatArray, probability: FloatArray) -> FloatArray:
        """Return the loss, which is minimized over weights of at least 0. At its minimum, the weights sum to 1."""
        with np.errstate(divide="ignore"):
            terms = np.log(probability)
        terms *= self.counts
        loss: FloatArray = weights.sum(axis=-1) - terms.sum(axis=-1)
        return loss

    def derivatives(self, probability: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the gradient of the log likelihood per answer, and its negated Hessian."""
        share = self.counts / probability
        gradient = share @ self.parts
        share /= probability
        curvature = np.empty((*gradient.shape, gradient.shape[1]))
        rows, columns = np.triu_indices(gradient.shape[1])
        curvature[:, rows, columns] = curvature[:, columns, rows] = share @ self.products
        return gradient, curvature


def fit_weights(
    counts: FloatArray, parts: FloatArray, allowed: BoolArray, start: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the maximum-likelihood weights of several fits, to different counts or with different allowed parts.

    Projected Newton steps (Bertsekas 1982) minimize the sum of the weights minus the log likelihood per answer over
    weights of at least 0. At the minimum, the weights sum to 1.

    Args:
        counts: how often each outcome was seen, shape (n_fits, n_outcomes); not all 0.
        parts: each part's probability of each outcome, shape (n_outcomes, n_parts).
        allowed: which parts each fit may use, shape (n_fits, n_parts). For every seen outcome, at least one of them
            must have a probability above 0, as a uniform part does.
        start: weights from which every fit starts, shape (n_parts,), 0 for parts that are not allowed (default: equal
            weights). They must give every seen outcome a probability above 0. Fits to resamples take half as many steps
            if they start from the weights of the sample.

    Returns:
        Weights, shape (n_fits, n_parts), where each row sums to 1, and their log likelihoods, shape (n_fits,), which
        are within 1e-8 nats per answer of the maximum.

    Raises:
        OptionError: if a seen outcome has no probability in any allowed part, or the maximum is not reached.

    Examples:
        >>> weights, _ = fit_weights(np.array([[3.0, 1.0]]), np.array([[0.5, 1.0], [0.5, 0.0]]), np.ones((1, 2), bool))
        >>> weights.round(6).tolist()
        [[0.5, 0.5]]
    """
    weights = allowed / allowed.sum(axis=-1, keepdims=True) if start is None else np.tile(start, (len(counts), 1))
    if ((counts > 0) & (weights @ parts.T <= 0)).any():
        raise OptionError(
            "an answer has probability 0 in every part of the mixture. Add a uniform part", code="cannot-estimate"
        )
    total = counts.sum(axis=-1, keepdims=True)
    rows, columns = np.triu_indices(parts.shape[1])
    products = parts[:, rows] * parts[:, columns]
    size = max(1, _BATCH // products.size)
    for first in range(0, len(counts), size):
        block = slice(first, first + size)
        weights[block] = _minimized(
            weights[block], _Fits(counts[block] / total[block], parts, products, allowed[block])
        )
    weights /= weights.sum(axis=-1, keepdims=True)
    probability = np.where(counts > 0, weights @ parts.T, 1.0)
    return weights, (counts * np.log(probability)).sum(axis=-1)


def _minimized(start: FloatArray, fits: _Fits) -> FloatArray:
    """Return the weights at the maximum of each fit, found by Newton steps from the start."""
    weights, left = start.copy(), np.arange(len(start))
    probability = fits.probabilities(start)
    for _ in range(_MOST_STEPS):
        gradient, curvature = fits.derivatives(probability)
        # The log likelihood is concave, so this bounds its distance from the maximum.
        gain = np.where(fits.allowed, gradient, 0.0).max(axis=-1) - (weights[left] * gradient).sum(axis=-1)
        gain += np.abs(weights[left].sum(axis=-1) - 1)
        open_ = gain > TOLERANCE
        if not open_.any():
            return weights
        if not open_.all():
            left, fits = left[open_], fits.only(open_)
            gradient, curvature, probability = gradient[open_], curvature[open_], probability[open_]
        step = _newton_step(weights[left], gradient, curvature, fits.allowed, gain[open_])
        weights[left], probability = _searched(weights[left], probability, step, gradient, fits)
    raise OptionError(f"the mixture's weights did not converge in {_MOST_STEPS} steps", code="cannot-estimate")


def _newton_step(
    weights: FloatArray, gradient: FloatArray, curvature: FloatArray, allowed: BoolArray, gain: FloatArray
) -> FloatArray:
    """Return the Newton steps of each fit's weights.

    Weights near 0 that should fall, and weights not allowed, step to 0.
    """
    held = ~allowed | ((weights <= _NEAR_ZERO) & (gradient < 1))
    free = ~held
    matrix = np.where(free[:, :, None] & free[:, None, :], curvature, 0.0)
    diagonal = np.arange(weights.shape[1])
    size = np.trace(matrix, axis1=1, axis2=2)[:, None] / weights.shape[1]
    matrix[:, diagonal, diagonal] += np.where(
        free, (_LEAST_RIDGE + _RIDGE * np.minimum(gain, 1.0)[:, None]) * size, 1.0
    )
    step = np.linalg.solve(matrix, np.where(free, gradient - 1, 0.0)[..., None])[..., 0]
    return np.where(held, -weights, step)


def _searched(
    weights: FloatArray, probability: FloatArray, step: FloatArray, gradient: FloatArray, fits: _Fits
) -> tuple[FloatArray, FloatArray]:
    """Take a step of each fit, halved until it lowers the loss enough; return the new weights and probabilities."""
    before = fits.loss(weights, probability)
    lowest = np.where(weights > _ZERO, _LEAST_SHARE * weights, 0.0)
    best, best_probability = weights.copy(), probability.copy()
    left, size = np.arange(len(weights)), 1.0
    while len(left) and size > _LEAST_SIZE:
        tried = np.maximum(weights[left] + size * step[left], lowest[left])
        reached = fits.probabilities(tried)
        promised = ((gradient[left] - 1) * (tried - weights[left])).sum(axis=-1)
        good = fits.loss(tried, reached) <= before[left] - _PROMISE * promised + _ROUNDING
        best[left[good]], best_probability[left[good]] = tried[good], reached[good]
        left, fits, size = left[~good], fits.only(~good), size / 2
    return best, best_probability

r"""Fit a conditional logit of guesses over images' cells, with cross-validation and cluster-robust standard errors.

$$P(j \mid i) = \frac{\exp \sum_k w_k s_{ijk}}{\sum_{j'} \exp \sum_k w_k s_{ij'k}}$$

where $s_{ijk}$ is the score that cue k gives cell j of image i. Fits maximize the mean log likelihood per guess minus
$\lambda |w|^2 / 2$. With $\lambda > 0$ the maximum is unique, even if cues are collinear or constant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.typing import FloatArray, IntArray

RIDGE = 1e-3
"""Default strength of the penalty, per guess. It shrinks the weight of a typical cue by about 0.1%."""

_TOLERANCE = 1e-9
"""Fits end when no component of the gradient of the mean log likelihood per guess exceeds this value."""

_MOST_STEPS = 100
_CHORD_STEPS = 25
"""Number of steps with one Hessian before a fold is fitted with its own Hessian."""

_BLOCK = 30_000
"""Number of probabilities computed at a time.

They fit into the processor's cache, and stay below the size at which matrix products start threads, which cost more
here than they save.
"""


@dataclass(frozen=True, slots=True)
class ChoiceData:
    """Guesses of one group, and the cues' scores of the cells.

    Attributes:
        scores: score of each cell for each cue, shape (n_images, n_cells, n_cues); finite.
        counts: number of times each cell was named, shape (n_images, n_cells); each image has a guess.
    """

    scores: FloatArray
    counts: FloatArray

    def __post_init__(self) -> None:
        if self.scores.ndim != 3 or self.scores.shape[:2] != self.counts.shape:
            raise OptionError(
                f"found scores of shape {self.scores.shape} and counts of shape {self.counts.shape}, expected "
                "(images, cells, cues) and (images, cells)",
                code="wrong-shape",
            )
        if not np.isfinite(self.scores).all() or not np.isfinite(self.counts).all() or (self.counts < 0).any():
            raise OptionError("scores and counts must be finite, and counts must be at least 0", code="invalid-value")
        if not len(self.counts) or not self.counts.any(axis=-1).all():
            raise OptionError("each image needs at least one guess. Remove the other images", code="cannot-estimate")

    @property
    def sizes(self) -> FloatArray:
        """Number of guesses to each image, shape (n_images,)."""
        sizes: FloatArray = self.counts.sum(axis=-1)
        return sizes

    def of_cues(self, cues: IntArray) -> ChoiceData:
        """Return the same guesses with the scores of the selected cues only."""
        return ChoiceData(self.scores[:, :, cues], self.counts)


@dataclass(frozen=True, slots=True)
class LogitFit:
    """A fitted conditional logit.

    Attributes:
        weights: weight of each cue, shape (n_cues,).
        influence: how far each image moves the weights: the empirical influence function divided by the number of
            images, shape (n_images, n_cues). Its sum of squares over images is the cluster-robust (sandwich) variance.
        log_likelihood: log likelihood of each image's guesses, in nats, shape (n_images,).
    """

    weights: FloatArray
    influence: FloatArray
    log_likelihood: FloatArray

    @property
    def covariance(self) -> FloatArray:
        """Cluster-robust covariance of the weights, with the factor n / (n - 1), shape (n_cues, n_cues)."""
        covariance: FloatArray = self.influence.T @ self.influence
        return covariance

    @property
    def standard_errors(self) -> FloatArray:
        """Cluster-robust standard errors of the weights, shape (n_cues,)."""
        errors: FloatArray = np.sqrt((self.influence**2).sum(axis=0))
        return errors


def log_probabilities(scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the log probability of each cell, in nats.

    Args:
        scores: score of each cell for each cue, shape (n_images, n_cells, n_cues).
        weights: weight of each cue, shape (n_cues,) or (n_fits, n_cues).

    Returns:
        The log probabilities, shape (n_images, n_cells) or (n_fits, n_images, n_cells); each row's probabilities sum to
        1.

    Examples:
        >>> scores = np.array([[[0.0], [np.log(3.0)]]])
        >>> np.exp(log_probabilities(scores, np.array([1.0]))).round(6).tolist()
        [[0.25, 0.75]]
    """
    n_images, n_cells, n_cues = scores.shape
    utility = (weights @ scores.reshape(n_images * n_cells, n_cues).T).reshape(*weights.shape[:-1], n_images, n_cells)
    utility -= utility.max(axis=-1, keepdims=True)
    utility -= np.log(np.exp(utility).sum(axis=-1, keepdims=True))
    return utility


def fit_logit(data: ChoiceData, *, ridge: float = RIDGE) -> LogitFit:
    """Fit the weights of the cues by Newton's method, with analytic gradient and Hessian.

    Args:
        data: guesses and scores.
        ridge: strength of the penalty per guess, at least 0. With 0, the maximum may not exist.

    Raises:
        OptionError: for a negative ridge, or if the maximum is not reached.

    Examples:
        One cue is 1 in the first of two cells. 3 of 4 guesses name that cell, so the weight is log 3:

        >>> data = ChoiceData(np.array([[[1.0], [0.0]]] * 2), np.array([[2.0, 0.0], [1.0, 1.0]]))
        >>> round(float(fit_logit(data, ridge=0.0).weights[0]), 6)
        1.098612
    """
    weights = _newton(data, np.ones(len(data.counts)), np.zeros(data.scores.shape[-1]), ridge)
    likelihood, gradients, hessians = _derivatives(data, weights)
    n = data.sizes.sum()
    gradients = gradients - data.sizes[:, None] * ridge * weights
    curvature = hessians.sum(axis=0) + n * ridge * np.eye(len(weights))
    influence = _solve(curvature, gradients.T).T
    if len(influence) > 1:
        influence = influence * np.sqrt(len(influence) / (len(influence) - 1))
    return LogitFit(weights, influence, likelihood)


def held_out_likelihood(data: ChoiceData, fold: IntArray, *, ridge: float = RIDGE) -> FloatArray:
    """Return the log likelihood of each image's guesses under weights fitted on the other folds, in nats.

    Args:
        data: guesses and scores.
        fold: the fold of each image, from 0, shape (n_images,); at least two folds.
        ridge: strength of the penalty, as in `fit_logit`.

    Returns:
        The log likelihoods, shape (n_images,).

    Raises:
        OptionError: for fewer than two folds, or a negative ridge, or if the maximum is not reached.
    """
    n_folds = int(fold.max()) + 1
    if n_folds < 2:
        raise OptionError("found one fold, expected at least two folds", field="fold")
    n_images, n_cells, n_cues = data.scores.shape
    if not n_cues:
        uniform: FloatArray = -data.sizes * np.log(n_cells)
        return uniform
    start = _newton(data, np.ones(n_images), np.zeros(n_cues), ridge)
    kept = (fold != np.arange(n_folds)[:, None]).astype(float)
    weights = _fit_folds(data, kept, start, ridge)
    # Use each fold's weights for its images, by treating the utility as the score of one cue.
    utility = np.einsum("ick,ik->ic", data.scores, weights[fold])
    likelihood: FloatArray = (data.counts * log_probabilities(utility[..., None], np.ones(1))).sum(axis=-1)
    return likelihood


def _fit_folds(data: ChoiceData, kept: FloatArray, start: FloatArray, ridge: float) -> FloatArray:
    """Return the weights of several fits, each to the images that a row of `kept` selects, shape (n_fits, n_cues).

    Each fold's Hessian is computed once, from its images at the weights `start`. It stays a good approximation, because
    the folds share most images. Later steps need only gradients, which are one matrix product for all folds.
    """
    n_images, n_cells, n_cues = data.scores.shape
    _, _, hessians = _derivatives(data, start)
    total = kept @ data.sizes
    penalty = ridge * np.eye(n_cues)
    curvature = np.tensordot(kept, hessians, axes=1) / total[:, None, None] + penalty
    observed = kept @ np.einsum("ic,ick->ik", data.counts, data.scores) / total[:, None]
    flat = data.scores.reshape(-1, n_cues)
    weights = np.tile(start, (len(kept), 1))
    inverse = np.linalg.pinv(curvature, hermitian=True)
    open_ = np.ones(len(kept), dtype=bool)
    step = max(1, _BLOCK // (n_images * n_cells))
    for _ in range(_CHORD_STEPS):
        for at in range(0, len(kept), step):
            block = np.flatnonzero(open_[at : at + step]) + at
            if not len(block):
                continue
            p = np.exp(log_probabilities(data.scores, weights[block]))
            p *= (kept[block] * data.sizes)[:, :, None]
            expected = p.reshape(len(block), -1) @ flat / total[block, None]
            gradient = observed[block] - expected - ridge * weights[block]
            done = np.abs(gradient).max(axis=-1) < _TOLERANCE
            open_[block[done]] = False
            moving = block[~done]
            weights[moving] += np.einsum("fkl,fl->fk", inverse[moving], gradient[~done])
        if not open_.any():
            break
    for number in np.flatnonzero(open_):
        weights[number] = _newton(data, kept[number], start, ridge)
    return weights


def _newton(data: ChoiceData, kept: FloatArray, start: FloatArray, ridge: float) -> FloatArray:
    """Return the weights of one fit to the images that `kept` selects, shape (n_cues,)."""
    if not ridge >= 0:
        raise OptionError(f"found {ridge}, expected at least 0", field="ridge")
    some = kept > 0
    part = ChoiceData(data.scores[some], data.counts[some])
    n, weights = part.sizes.sum(), start
    value, gradient, curvature = _objective(part, weights, ridge, n)
    for _ in range(_MOST_STEPS):
        if np.abs(gradient).max(initial=0.0) < _TOLERANCE:
            return weights
        step, size = _solve(curvature, gradient), 1.0
        # The objective is concave, so halving a step ends at an increase, up to rounding.
        while True:
            reached = _objective(part, weights + size * step, ridge, n)
            if reached[0] >= value - 1e-12 * abs(value) or size < 1e-6:
                break
            size /= 2
        weights = weights + size * step
        value, gradient, curvature = reached
    raise OptionError("the likelihood has no maximum for these cues. Use a ridge above 0", code="cannot-estimate")


def _objective(data: ChoiceData, weights: FloatArray, ridge: float, n: float) -> tuple[float, FloatArray, FloatArray]:
    likelihood, gradients, hessians = _derivatives(data, weights)
    value = float(likelihood.sum() / n - ridge / 2 * weights @ weights)
    gradient = gradients.sum(axis=0) / n - ridge * weights
    return value, gradient, hessians.sum(axis=0) / n + ridge * np.eye(len(weights))


def _derivatives(data: ChoiceData, weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return each image's log likelihood, its gradient, and its negated Hessian, with respect to the weights."""
    log_p = log_probabilities(data.scores, weights)
    p = np.exp(log_p)
    likelihood = (data.counts * log_p).sum(axis=-1)
    mean = np.einsum("ic,ick->ik", p, data.scores)
    gradients = np.einsum("ic,ick->ik", data.counts, data.scores) - data.sizes[:, None] * mean
    centered = data.scores - mean[:, None]
    hessians = np.matmul((centered * p[:, :, None]).transpose(0, 2, 1), centered) * data.sizes[:, None, None]
    return likelihood, gradients, hessians


def _solve(curvature: FloatArray, gradient: FloatArray) -> FloatArray:
    """Return Newton's step. If the curvature is singular (only without ridge), return the shortest solution."""
    solution: FloatArray = np.linalg.pinv(curvature, hermitian=True) @ gradient
    return solution

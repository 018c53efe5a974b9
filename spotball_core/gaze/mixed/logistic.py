"""Fit an ordinary logistic regression: a model without groups, and the starting point of mixed models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from spotball_core.gaze.mixed.laplace import Data
from spotball_core.gaze.mixed.products import across, dot
from spotball_core.typing import FloatArray

MAX_STEPS = 50


@dataclass(frozen=True)
class Logistic:
    """A fit: coefficients (p,), their covariance (p, p), the log likelihood, and a message about problems."""

    coefficients: FloatArray
    covariance: FloatArray
    log_likelihood: float
    message: str


def logistic(data: Data) -> Logistic:
    """Fit a logistic regression by Newton's method, halving steps that reduce the likelihood; ignore random effects."""
    matrix, beta = data.matrix, np.zeros(data.matrix.shape[1])
    value, slope, information = _at(data, beta)
    message = f"no maximum of the likelihood was found in {MAX_STEPS} steps"
    for _ in range(MAX_STEPS):
        step = np.linalg.lstsq(information, slope, rcond=None)[0]
        decrement = float(slope @ step)
        if decrement < 1e-12 * len(matrix):
            message = ""
            break
        size = 1.0
        while size > 1e-6 and _at(data, beta + size * step)[0] < value:
            size /= 2
        beta = beta + size * step
        value, slope, information = _at(data, beta)
    covariance: FloatArray = np.asarray(np.linalg.pinv(information, hermitian=True), dtype=float)
    return Logistic(beta, covariance, value + data.constant, message)


def _at(data: Data, beta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Return the log likelihood, its gradient, and the information."""
    eta = data.offset + data.matrix @ beta
    mean = expit(eta)
    value = dot(data.successes, eta) - dot(data.trials, np.logaddexp(0, eta))
    working = data.trials * mean * (1 - mean)
    slope = data.matrix.T @ (data.successes - data.trials * mean)
    return value, slope, across(data.matrix, data.matrix * working[:, None])

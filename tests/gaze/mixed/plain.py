"""Compute mixed models independently, with dense matrices, loops, and SciPy's optimizer and quadrature."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import comb, expit
from scipy.stats import norm

Array = NDArray[np.float64]


def log_probability(successes: Array, trials: Array, eta: Array) -> float:
    total = 0.0
    for k, m, e in zip(successes, trials, eta, strict=True):
        total += np.log(comb(m, k)) + k * np.log(expit(e)) + (m - k) * np.log(expit(-e))
    return float(total)


def laplace(
    successes: Array, trials: Array, fixed: Array, labels: Sequence[NDArray[np.int64]], sds: Sequence[float]
) -> float:
    """Return the Laplace approximation of the log likelihood, with an explicit matrix column for each random effect."""
    columns = [sd * (label == level) for label, sd in zip(labels, sds, strict=True) for level in np.unique(label)]
    a = np.column_stack(columns).astype(float)

    def minus(u: Array) -> tuple[float, Array]:
        eta = fixed + a @ u
        value = successes @ eta - trials @ np.logaddexp(0, eta) - u @ u / 2
        return -float(value), -(a.T @ (successes - trials * expit(eta)) - u)

    u = minimize(minus, np.zeros(a.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-9}).x
    eta = fixed + a @ u
    w = trials * expit(eta) * expit(-eta)
    _, log_determinant = np.linalg.slogdet(np.eye(len(u)) + a.T @ (w[:, None] * a))
    return log_probability(successes, trials, eta) - float(u @ u) / 2 - float(log_determinant) / 2


def exact(successes: Array, trials: Array, fixed: Array, label: NDArray[np.int64], sd: float) -> float:
    """Return the marginal log likelihood of a model with one group, by adaptive quadrature for each level."""
    total = 0.0
    for level in np.unique(label):
        here = label == level
        few, all_, at = successes[here], trials[here], fixed[here]

        def integrand(u: float, few: Array = few, all_: Array = all_, at: Array = at) -> float:
            return float(np.exp(log_probability(few, all_, at + sd * u)) * norm.pdf(u))

        value, _ = quad(integrand, -8, 8, epsabs=0, epsrel=1e-9, limit=200)
        total += np.log(value)
    return total

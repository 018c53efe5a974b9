"""Search for the standard deviations and coefficients that maximize the marginal likelihood."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from spotball_core.gaze.mixed.laplace import Likelihood
from spotball_core.typing import FloatArray

SINGULAR = 1e-4
"""A standard deviation below this, in logits, counts as 0 (lme4's tolerance)."""
NEAR = 0.05
"""If a standard deviation is below this, the search tests whether 0 is equally likely."""
ROUGH = 1e-3
"""The quasi-Newton search ends if the gradient is smaller, in log likelihood per unit of the scaled parameters."""
FINE = 1e-10
"""Newton's method ends if the expected gain of a step is smaller, in log likelihood."""
ACCEPTED = 1e-6
"""A fit has converged if more steps are expected to improve the log likelihood by less than this.

More steps would then change estimates by less than a hundredth of a standard error.
"""
DIFFERENCE = 1e-4
"""Step of finite differences, in scaled parameters."""
POLISHES = 10


class Search:
    """Maximize the likelihood jointly over the standard deviations and the coefficients.

    A quasi-Newton search on parameters of similar scale is followed by Newton's method, with a Hessian from differences
    of the gradient. The likelihood has the same value for a standard deviation and its negative, so the search does
    not need a bound at 0.

    Attributes:
        theta: standard deviations at the maximum (k,).
        beta: coefficients at the maximum (p,).
        value: log likelihood at the maximum.
        covariance: covariance of the coefficients (p, p); NaN if the Hessian has no inverse.
    """

    def __init__(
        self, likelihood: Likelihood, none: FloatArray, start: tuple[FloatArray, FloatArray] | None = None
    ) -> None:
        """Store the likelihood and the starting point.

        Args:
            likelihood: the likelihood to maximize.
            none: coefficients of the fit without groups.
            start: standard deviations and coefficients to start from (default: standard deviations of 1 and `none`).
        """
        self._likelihood, self._none = likelihood, none
        self.theta, self.beta = start or (np.ones(len(likelihood.data.sizes)), none)
        self.value = -np.inf
        self.covariance = np.full((len(none), len(none)), np.nan)
        self._free = np.ones(len(self.theta), dtype=bool)

    def run(self) -> str:
        """Search, and return a message about problems, which is empty if there are none.

        Raises:
            NoModeError: if the mode of the random effects cannot be found during the search.
        """
        self._scale()
        self._quasi_newton()
        self._drop_zeros()
        self._compare_with_none()
        message = self._newton()
        self.theta = np.abs(self.theta)
        self.value, _ = self._likelihood(self.theta, self.beta)
        return message

    def _scale(self) -> None:
        """Set the units of the parameters to their approximate standard errors."""
        hessian = self._likelihood.at_mode(self.theta, self.beta)[1]
        inverse = self._likelihood.parts(hessian.leverages()[1])
        self._theta_units = np.array([1 / np.sqrt(2 * np.sum((1 - part) ** 2) + 1) for part in inverse])
        information = self._likelihood.information(self.theta, self.beta)
        lower = np.linalg.cholesky(information + 1e-10 * np.diag(np.diag(information)))
        self._beta_units = solve_triangular(lower, np.eye(len(lower)), lower=True).T

    def _at(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Return the negative log likelihood and its gradient with respect to the scaled parameters x.

        Standard deviations that are fixed at 0 are not part of x.
        """
        theta, beta = self._moved(x)
        value, slope = self._likelihood(theta, beta)
        k = len(theta)
        by_theta = (slope[:k] * self._theta_units)[self._free]
        return -value, -np.concatenate([by_theta, self._beta_units.T @ slope[k:]])

    def _moved(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        free = int(self._free.sum())
        theta = self.theta.copy()
        theta[self._free] += self._theta_units[self._free] * x[:free]
        return theta, self.beta + self._beta_units @ x[free:]

    def _origin(self) -> FloatArray:
        return np.zeros(int(self._free.sum()) + len(self.beta))

    def _quasi_newton(self) -> None:
        result = minimize(self._at, self._origin(), jac=True, method="BFGS", options={"gtol": ROUGH, "maxiter": 500})
        self.theta, self.beta = self._moved(result.x)
        self.value = -float(result.fun)

    def _drop_zeros(self) -> None:
        """Fix small standard deviations at 0 if 0 is a maximum; if it is not, search again from a larger value."""
        for k in np.flatnonzero(np.abs(self.theta) < NEAR):
            trial = self.theta.copy()
            trial[k] = 0.0
            value, _ = self._likelihood(trial, self.beta)
            trial[k] = 10 * SINGULAR
            _, slope = self._likelihood(trial, self.beta)
            falls = slope[k] <= 0
            if falls and value > self.value - 1e-4:
                self.theta[k], self._free[k] = 0.0, False
            elif not falls and np.abs(self.theta[k]) < 10 * SINGULAR:
                self.theta[k] = 2 * NEAR
                self._quasi_newton()

    def _compare_with_none(self) -> None:
        """Use the fit without random effects if it is more likely, which is possible with few answers."""
        zero = np.zeros(len(self.theta))
        value, _ = self._likelihood(zero, self._none)
        if value > self.value:
            self.theta, self.beta, self.value, self._free = zero, self._none, value, zero.astype(bool)

    def _newton(self) -> str:
        """Take Newton steps, with absolute eigenvalues of the Hessian; return a message about problems.

        If all eigenvalues are positive, up to three steps use the same Hessian.
        """
        decrement, positive = np.inf, False
        for _ in range(POLISHES):
            value, slope = self._at(self._origin())
            eigenvalues, axes = np.linalg.eigh(self._hessian(slope))
            size = np.maximum(np.abs(eigenvalues), 1e-6 * np.abs(eigenvalues).max())
            inverse = (axes / size) @ axes.T
            positive = bool((eigenvalues == size).all())
            if positive:
                self._keep(inverse)
            for _ in range(3 if positive else 1):
                step = -inverse @ slope
                decrement = float(-slope @ step)
                if decrement < FINE:
                    break
                lower = self._descend(value, step)
                if lower is None:
                    break
                value, slope = lower
            if positive and decrement < FINE:
                return ""
        if not positive:
            return "the search did not end at a maximum, because the Hessian is not positive definite"
        return (
            ""
            if decrement < ACCEPTED
            else f"the search stopped about {decrement:.2g} below the maximum of the log likelihood"
        )

    def _hessian(self, slope: FloatArray) -> FloatArray:
        origin = self._origin()
        rows = []
        for i in range(len(origin)):
            step = origin.copy()
            step[i] = DIFFERENCE
            rows.append((self._at(step)[1] - slope) / DIFFERENCE)
        hessian = np.array(rows)
        return (hessian + hessian.T) / 2

    def _descend(self, value: float, step: FloatArray) -> tuple[float, FloatArray] | None:
        """Halve a step until the likelihood is not lower; return value and gradient there, else None."""
        for _ in range(30):
            reached = self._at(step)
            if reached[0] <= value + 1e-12 * abs(value):
                self.theta, self.beta = self._moved(step)
                return reached
            step = step / 2
        return None

    def _keep(self, inverse: FloatArray) -> None:
        free = int(self._free.sum())
        self.covariance = self._beta_units @ inverse[free:, free:] @ self._beta_units.T

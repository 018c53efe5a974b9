r"""Compute the marginal likelihood of a binomial model with crossed random intercepts, by Laplace's approximation.

Answers are $y_i \sim \mathrm{Binomial}(m_i, \mu_i)$ with $\mathrm{logit}\,\mu_i = o_i + x_i\beta + \sum_k \theta_k
u_{k, g_k(i)}$ and standard normal $u$: group k's random intercepts have the standard deviation $\theta_k$. Let $\hat u$
be the mode of the integrand, $W = m\mu(1 - \mu)$ at this mode, and $A$ the matrix that multiplies u. The logarithm of
the likelihood is approximately

$$\ell(\theta, \beta) = \log f(y \mid \hat u) - \tfrac12 |\hat u|^2 - \tfrac12 \log |I + A^\top W A|$$

lme4's glmer maximizes the same function (Bates et al. 2015, doi:10.18637/jss.v067.i01); its gradient follows from the
implicit function theorem (Skaug and Fournier 2006, doi:10.1016/j.csda.2006.03.005). The largest group's block of the
Hessian is diagonal. It is eliminated, and the remaining matrix is small and dense.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import gammaln

from spotball_core.typing import FloatArray, IntArray

PIECE = 200_000
"""Maximum number of multiplications in one call of BLAS; OpenBLAS starts threads for 262,144 or more."""


def dot(a: FloatArray, b: FloatArray) -> float:
    """Return the sum of products of two long vectors."""
    return float(np.einsum("i,i->", a, b))


def across(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a'b of two tall arrays (n, p) and (n, r): shape (p, r)."""
    rows = PIECE // max(1, a.shape[1] * b.shape[1])
    if rows < 16 or len(a) <= rows:
        return np.asarray(a.T @ b)
    full = len(a) // rows * rows
    pieces = a[:full].reshape(-1, rows, a.shape[1]).transpose(0, 2, 1) @ b[:full].reshape(-1, rows, b.shape[1])
    return np.asarray(pieces.sum(axis=0) + a[full:].T @ b[full:])


def along(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return ab of a tall array (n, p) and a small one (p, r): shape (n, r)."""
    rows = PIECE // max(1, a.shape[1] * b.shape[1])
    if rows < 16 or len(a) <= rows:
        return np.asarray(a @ b)
    full = len(a) // rows * rows
    pieces = (a[:full].reshape(-1, rows, a.shape[1]) @ b).reshape(full, b.shape[1])
    return np.concatenate([pieces, a[full:] @ b])


SMALL_DECREMENT = 1e-7
"""The search for the mode ends if a step gains less than this; the next step would gain about the square of this."""
MAX_STEPS = 100


class NoModeError(ArithmeticError):
    """Raised if the mode of the random effects is not found at the given parameters."""


@dataclass(frozen=True)
class Data:
    """The data of a model.

    Attributes:
        successes: number of yes answers of each row, shape (n,).
        trials: number of each row's trials (n,), at least 1.
        matrix: columns of the fixed effects (n, p).
        offset: values added to the linear predictor (n,).
        names: names of the groups, the largest group first.
        codes: for each group, an array (n,) of each row's level, from 0.
        levels: for each group, the labels of its levels.
    """

    successes: FloatArray
    trials: FloatArray
    matrix: FloatArray
    offset: FloatArray
    names: tuple[str, ...]
    codes: tuple[IntArray, ...]
    levels: tuple[tuple[object, ...], ...]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The number of levels of each group."""
        return tuple(len(group_levels) for group_levels in self.levels)

    @property
    def constant(self) -> float:
        """The sum of the logarithms of the binomial coefficients."""
        yes, all_ = self.successes, self.trials
        return float(np.sum(gammaln(all_ + 1) - gammaln(yes + 1) - gammaln(all_ - yes + 1)))

    def sums(self, values: FloatArray) -> list[FloatArray]:
        """Return, for each group, the sums of values (n,) within its levels."""
        return [
            np.bincount(code, values, size).astype(float, copy=False)
            for code, size in zip(self.codes, self.sizes, strict=True)
        ]


@dataclass(frozen=True)
class _Mode:
    """The integrand at a point u, and its derivatives."""

    residual: FloatArray
    working: FloatArray
    """The weights W."""
    third: FloatArray
    """Derivative of W with respect to the linear predictor."""
    value: float
    """The logarithm of the integrand, without the binomial coefficients."""


class Hessian:
    """The matrix I + A'WA in two blocks: the first group's diagonal, and the dense rest after its elimination."""

    def __init__(self, data: Data, theta: FloatArray, working: FloatArray) -> None:
        first, *other_codes = data.codes
        q, *sizes = data.sizes
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        n_others = int(starts[-1])
        self._theta, self._data, self._starts = theta, data, starts
        self.diagonal = 1 + theta[0] ** 2 * np.bincount(first, working, q)
        self.cross = np.empty((q, n_others))
        dense = np.eye(n_others)
        for k, (code, size) in enumerate(zip(other_codes, sizes, strict=True)):
            own_slice = slice(starts[k], starts[k + 1])
            table = np.bincount(first * size + code, working, q * size).reshape(q, size)
            self.cross[:, own_slice] = theta[0] * theta[k + 1] * table
            dense[own_slice, own_slice] += np.diag(theta[k + 1] ** 2 * np.bincount(code, working, size))
            for j in range(k):
                table = np.bincount(other_codes[j] * size + code, working, sizes[j] * size).reshape(sizes[j], size)
                block = theta[j + 1] * theta[k + 1] * table
                other_slice = slice(starts[j], starts[j + 1])
                dense[other_slice, own_slice], dense[own_slice, other_slice] = block, block.T
        self._scaled = self.cross / self.diagonal[:, None]
        self._factor = cho_factor(dense - across(self.cross, self._scaled), lower=True) if n_others else None

    @property
    def log_determinant(self) -> float:
        """The log determinant of the whole matrix."""
        dense = 2 * np.log(np.diag(self._factor[0])).sum() if self._factor else 0.0
        return float(np.log(self.diagonal).sum() + dense)

    def solve(self, vectors: FloatArray) -> FloatArray:
        """Return H^-1 v, for one vector (q,) or several (q, r)."""
        q = len(self.diagonal)
        top, bottom = vectors[:q], vectors[q:]
        over = top.T / self.diagonal
        if self._factor is None:
            return np.asarray(over.T)
        low = cho_solve(self._factor, bottom - self.cross.T @ over.T)
        return np.concatenate([over.T - self._scaled @ low, low])

    def inverse(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the parts of H^-1 that the gradient needs: the first block's diagonal, the cross and dense blocks."""
        if self._factor is None:
            return 1 / self.diagonal, self.cross, np.empty((0, 0))
        dense = cho_solve(self._factor, np.eye(self.cross.shape[1]))
        cross = -along(self._scaled, dense)
        return 1 / self.diagonal - np.einsum("ij,ij->i", cross, self._scaled), cross, dense

    def leverages(self) -> tuple[FloatArray, FloatArray]:
        """Return each row's (A H^-1 A')_ii, and the diagonal of H^-1."""
        first, *other_codes = self._data.codes
        theta, starts = self._theta, self._starts
        top, cross, dense = self.inverse()
        leverage = theta[0] ** 2 * top[first]
        flat, square, width = cross.ravel(), dense.ravel(), cross.shape[1]
        places = [code + start for code, start in zip(other_codes, starts, strict=False)]
        for k, place in enumerate(places, 1):
            leverage += 2 * theta[0] * theta[k] * flat[first * width + place]
            leverage += theta[k] ** 2 * square[place * (width + 1)]
            for j in range(1, k):
                leverage += 2 * theta[j] * theta[k] * square[places[j - 1] * width + place]
        return leverage, np.concatenate([top, np.diag(dense)])


class Likelihood:
    """The marginal log likelihood as a function of (theta, beta). Each search for the mode starts at the last mode."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self.mode = np.zeros(sum(data.sizes))
        self._constant = data.constant

    def __call__(self, theta: FloatArray, beta: FloatArray) -> tuple[float, FloatArray]:
        """Return the value, and the gradient (k + p,) with respect to theta, then beta.

        Raises:
            NoModeError: if the search for the mode does not converge, or leaves the range of floating point numbers.
        """
        point, hessian = self.at_mode(theta, beta)
        value = point.value - hessian.log_determinant / 2 + self._constant
        return value, self._gradient(theta, point, hessian)

    def at_mode(self, theta: FloatArray, beta: FloatArray) -> tuple[_Mode, Hessian]:
        """Find and store the mode; return the integrand at the mode, and its Hessian."""
        fixed = self.data.offset + self.data.matrix @ beta
        u = self.mode
        point = self._at(theta, fixed, u)
        for _ in range(MAX_STEPS):
            hessian = Hessian(self.data, theta, point.working)
            slope = self._by_effects(theta, point.residual) - u
            step = hessian.solve(slope)
            decrement = float(slope @ step)
            if not np.isfinite(decrement):
                break
            size = 1.0
            while (new := self._at(theta, fixed, u + size * step)).value < point.value - 1e-9 * abs(point.value):
                size /= 2
                if size < 1e-6:
                    raise NoModeError("the search for the mode of the random effects stopped early")
            u, point = u + size * step, new
            if decrement < SMALL_DECREMENT:
                self.mode = u
                return point, Hessian(self.data, theta, point.working)
        raise NoModeError("the search did not find the mode of the random effects")

    def information(self, theta: FloatArray, beta: FloatArray) -> FloatArray:
        """Return the information matrix (p, p) of the fixed effects at fixed theta: X'WX - X'WA H^-1 A'WX."""
        point, hessian = self.at_mode(theta, beta)
        matrix = self.data.matrix
        weighted = matrix * point.working[:, None]
        mixed = np.column_stack([self._by_effects(theta, column) for column in weighted.T])
        return np.asarray(across(matrix, weighted) - across(mixed, hessian.solve(mixed)))

    def _at(self, theta: FloatArray, fixed: FloatArray, u: FloatArray) -> _Mode:
        data = self.data
        eta = fixed.copy()
        for t, code, part in zip(theta, data.codes, self.parts(u), strict=True):
            eta += t * part[code]
        tail = np.exp(-np.abs(eta))  # one exponential is most of the cost of a step
        mean = np.where(eta < 0, tail, 1.0) / (1 + tail)
        softplus = np.maximum(eta, 0) + np.log(1 + tail)
        value = dot(data.successes, eta) - dot(data.trials, softplus) - dot(u, u) / 2
        working = data.trials * tail / (1 + tail) ** 2
        return _Mode(data.successes - data.trials * mean, working, working * (1 - 2 * mean), value)

    def parts(self, u: FloatArray) -> list[FloatArray]:
        """Split u by group."""
        return np.split(u, np.cumsum(self.data.sizes)[:-1])

    def _by_effects(self, theta: FloatArray, values: FloatArray) -> FloatArray:
        """Return A' v."""
        return np.concatenate([t * sums for t, sums in zip(theta, self.data.sums(values), strict=True)])

    def _gradient(self, theta: FloatArray, point: _Mode, hessian: Hessian) -> FloatArray:
        data = self.data
        leverage, diagonal = hessian.leverages()
        pull = leverage * point.third  # twice the change of log|H|/2 with each row's predictor
        moved = hessian.solve(self._by_effects(theta, pull))
        indirect = np.zeros(len(pull))  # A H^-1 A' pull
        for t, code, part in zip(theta, data.codes, self.parts(moved), strict=True):
            indirect += t * part[code]
        per_row = point.residual - (pull - point.working * indirect) / 2
        residuals = data.sums(point.residual)
        by_theta = [
            dot(per_row, part[code]) - dot(moved_part, residual) / 2 - _trace(t, inverse)
            for t, code, part, moved_part, residual, inverse in zip(
                theta,
                data.codes,
                self.parts(self.mode),
                self.parts(moved),
                residuals,
                self.parts(diagonal),
                strict=True,
            )
        ]
        return np.concatenate([by_theta, data.matrix.T @ per_row])


def _trace(theta: float, inverse: FloatArray) -> float:
    """Return half of the derivative of log|H| with respect to one theta in A: tr(I - H^-1) / theta; 0 at 0."""
    return float(np.sum(1 - inverse) / theta) if theta else 0.0

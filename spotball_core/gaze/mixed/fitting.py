"""Fit a binomial model with crossed random intercepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from scipy.stats import norm

from spotball_core.errors import OptionError
from spotball_core.gaze.mixed.designs import Design
from spotball_core.gaze.mixed.laplace import Data, Likelihood, NoModeError, across, dot
from spotball_core.gaze.mixed.search import SINGULAR, Search
from spotball_core.typing import FloatArray, IntArray

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


UNBOUNDED = 30.0
"""Limit, in logits, above which estimates count as infinite.

It applies to the standard error of a coefficient times the standard deviation of its column, and to the standard
deviation of a group's random intercepts.
"""

AFAR = 0.2
"""Smallest standard deviation at which a search starts; 0 would be a stationary point, which a search cannot leave."""


@dataclass(frozen=True)
class Fit:
    """A fitted binomial model. Coefficients, standard deviations and modes are on the logit scale.

    Attributes:
        coefficients: coefficients of the design's columns (p,).
        covariance: covariance (p, p) of the coefficients, from the inverse of the joint Hessian of coefficients and
            standard deviations, as in glmer.
        sds: standard deviation of the random intercepts by group; 0 if the estimate is singular.
        log_likelihood: log likelihood by Laplace's approximation, with the binomial coefficients.
        n: number of rows.
        converged: whether the maximum was found and is finite in every coefficient.
        singular: whether a standard deviation is 0.
        message: description of a problem; empty if there is none.
        design: the fixed effects.
        modes: modes of the random intercepts (levels,) by group, in the order of the data's levels.
        data: the fitted data.
        linear_predictor: linear predictor (n,) at the coefficients and the modes.
    """

    coefficients: FloatArray
    covariance: FloatArray
    sds: Mapping[str, float]
    log_likelihood: float
    n: int
    converged: bool
    singular: bool
    message: str
    design: Design = field(repr=False)
    modes: Mapping[str, FloatArray] = field(repr=False)
    data: Data = field(repr=False)
    linear_predictor: FloatArray = field(repr=False)

    @property
    def standard_errors(self) -> FloatArray:
        """Standard errors (p,) of the coefficients."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def z(self) -> FloatArray:
        """Coefficients divided by their standard errors (p,)."""
        return self.coefficients / self.standard_errors

    @property
    def p_values(self) -> FloatArray:
        """Two-sided p values (p,) of Wald's test that a coefficient is 0."""
        return np.asarray(2 * norm.sf(np.abs(self.z)))

    @property
    def parameters(self) -> int:
        """The number of estimated parameters: coefficients and standard deviations."""
        return len(self.coefficients) + len(self.sds)

    def intervals(self, level: float = 0.95) -> FloatArray:
        """Return Wald's intervals (p, 2) of the coefficients."""
        reach = norm.ppf((1 + level) / 2) * self.standard_errors
        return np.column_stack([self.coefficients - reach, self.coefficients + reach])

    def coefficient(self, name: str) -> float:
        """Return the coefficient of the design's column with this name."""
        names = self.design.names
        if name not in names:
            raise OptionError(f"the design has no column {name}. Available: {', '.join(names)}", code="unknown-name")
        return float(self.coefficients[names.index(name)])

    def effects(self, group: str) -> dict[object, float]:
        """Return the modes of a group's random intercepts, by label of the level."""
        return dict(zip(self.data.levels[self._place(group)], self.modes[group].tolist(), strict=True))

    def codes(self, group: str) -> IntArray:
        """Return the index of each row's level in a group, from 0, shape (n,)."""
        return self.data.codes[self._place(group)]

    def _place(self, group: str) -> int:
        if group not in self.data.names:
            raise OptionError(
                f"the fit has no group {group}. Available: {', '.join(self.sds) or 'none'}", code="unknown-name"
            )
        return self.data.names.index(group)


def fit(
    y: ArrayLike,
    design: Design,
    groups: Mapping[str, ArrayLike] | None = None,
    *,
    weights: ArrayLike | None = None,
    offset: ArrayLike | None = None,
) -> Fit:
    r"""Fit a binomial model with logit link and crossed random intercepts by Laplace's approximation.

    Coefficients and standard deviations are estimated jointly, as in glmer with `nAGQ = 1`. Without groups, this is an
    ordinary logistic regression. If all answers are the same, if a column separates all answers (so that its
    coefficient is unbounded), or if the search does not converge, `converged` is false and `message` describes the
    problem. Several fits may run at the same time in separate threads.

    Args:
        y: answers (n,), each 0 (no) or 1 (yes), or the share of yes answers among the trials in `weights`.
        design: the fixed effects.
        groups: for each group, by name, the labels of the rows (n,); rows with the same label share a random intercept.
        weights: number of trials of each row (n,), whole numbers of at least 1 (default: 1).
        offset: values (n,) added to the linear predictor.

    Raises:
        OptionError: for arrays of different lengths, missing or infinite values, shares that do not correspond to whole
            numbers of trials, or a group with one level.

    Examples:
        A table of synthetic answers: 30 stimuli, each shown 16 times.

        >>> import polars as pl
        >>> from spotball_core.gaze.mixed import design
        >>> draw = np.random.default_rng(0)
        >>> stimulus = np.repeat(np.arange(30), 16)
        >>> proximity = stimulus % 3 + 1
        >>> eta = 1 - 0.5 * proximity + draw.normal(size=30)[stimulus]
        >>> y = draw.random(480) < 1 / (1 + np.exp(-eta))
        >>> found = fit(y, design(pl.DataFrame({"proximity": proximity}), ["proximity"]), {"stimulus": stimulus})
        >>> found.converged, round(found.coefficient("proximity"), 2), round(found.sds["stimulus"], 2)
        (True, -0.47, 0.92)
    """
    data = _data(y, design, groups or {}, weights, offset)
    return _fit(data, design, tuple(groups or {}), None)


def refit(larger: Fit, groups: Sequence[str]) -> Fit:
    """Fit the same model with only the given groups, starting from the larger fit if it converged."""
    data = larger.data
    indices = [k for k, name in enumerate(data.names) if name in groups]
    smaller = replace(
        data,
        names=tuple(data.names[k] for k in indices),
        codes=tuple(data.codes[k] for k in indices),
        levels=tuple(data.levels[k] for k in indices),
    )
    theta = np.array([max(larger.sds[name], AFAR) for name in smaller.names])
    return _fit(smaller, larger.design, groups, (theta, larger.coefficients) if larger.converged else None)


def _fit(data: Data, design: Design, groups: Sequence[str], start: tuple[FloatArray, FloatArray] | None) -> Fit:
    none = logistic(data)
    if not data.names:
        eta = data.offset + data.matrix @ none.coefficients
        message = _constant(data) or _unbounded(data, none.covariance, design.names, []) or none.message
        return Fit(
            coefficients=none.coefficients,
            covariance=none.covariance,
            sds={},
            log_likelihood=none.log_likelihood,
            n=len(eta),
            converged=not message,
            singular=False,
            message=message,
            design=design,
            modes={},
            data=data,
            linear_predictor=eta,
        )
    likelihood = Likelihood(data)
    search = Search(likelihood, none.coefficients, start)
    try:
        message = search.run()
    except NoModeError as error:
        message = str(error)
    theta = np.abs(search.theta)
    far = [name for name, sd in zip(data.names, theta, strict=True) if sd > UNBOUNDED]
    message = _constant(data) or message or _unbounded(data, search.covariance, design.names, far)
    parts = [sd * part for sd, part in zip(theta, likelihood.parts(likelihood.mode), strict=True)]
    by_rows = [part[code] for part, code in zip(parts, data.codes, strict=True)]
    sds = dict(zip(data.names, theta.tolist(), strict=True))
    modes = dict(zip(data.names, parts, strict=True))
    return Fit(
        coefficients=search.beta,
        covariance=search.covariance,
        sds={name: sds[name] for name in groups},
        log_likelihood=search.value,
        n=len(data.offset),
        converged=not message,
        singular=bool(theta.min() < SINGULAR),
        message=message,
        design=design,
        modes={name: modes[name] for name in groups},
        data=data,
        linear_predictor=data.offset + data.matrix @ search.beta + np.sum(by_rows, axis=0),
    )


def _data(
    y: ArrayLike,
    design: Design,
    groups: Mapping[str, ArrayLike],
    weights: ArrayLike | None,
    offset: ArrayLike | None,
) -> Data:
    n = len(design.matrix)
    share = _row_values("y", y, n)
    trials = np.ones(n) if weights is None else _row_values("weights", weights, n)
    successes = share * trials
    rounded = np.round(successes)
    if (trials < 1).any() or (trials % 1).any():
        raise OptionError("weights must be whole numbers of trials, at least 1", code="invalid-value")
    if (share < 0).any() or (share > 1).any() or (np.abs(successes - rounded) > 1e-6).any():
        raise OptionError(
            "y must be a share of successes from 0 to 1, and y times weights must be a whole number",
            code="invalid-value",
        )
    coded = []
    for name, labels in groups.items():
        values = np.asarray(labels)
        if values.shape != (n,):
            raise OptionError(
                f"the group {name} has the shape {values.shape}, but the design has {n} rows", code="wrong-shape"
            )
        levels, codes = np.unique(values, return_inverse=True)
        if len(levels) < 2:
            raise OptionError(f"the group {name} has fewer than 2 levels. Remove it", code="cannot-estimate")
        coded.append((name, codes, tuple(levels.tolist())))
    coded.sort(key=lambda group: -len(group[2]))
    return Data(
        successes=rounded,
        trials=trials,
        matrix=design.matrix,
        offset=np.zeros(n) if offset is None else _row_values("offset", offset, n),
        names=tuple(name for name, _, _ in coded),
        codes=tuple(codes for _, codes, _ in coded),
        levels=tuple(levels for _, _, levels in coded),
    )


def _row_values(name: str, values: ArrayLike, n: int) -> FloatArray:
    array = np.asarray(values, dtype=float)
    if array.shape != (n,):
        raise OptionError(f"found shape {array.shape}, but the design has {n} rows", code="wrong-shape", field=name)
    if not np.isfinite(array).all():
        raise OptionError("found missing or infinite values. Remove these rows", code="invalid-value", field=name)
    return array


def _constant(data: Data) -> str:
    if not data.successes.any() or (data.successes == data.trials).all():
        return "all answers are the same"
    return ""


def _unbounded(data: Data, covariance: FloatArray, names: Sequence[str], groups: Sequence[str]) -> str:
    """Return a message that names the coefficients and groups with infinite estimates; empty if there are none."""
    spread = data.matrix.std(axis=0)
    errors = np.sqrt(np.diag(covariance)) * np.where(spread > 0, spread, 1.0)
    far = [name for name, error in zip(names, errors, strict=True) if not error < UNBOUNDED]
    far += [f"the intercepts of {name}" for name in groups]
    return f"the answers do not determine {', '.join(far)}" if far else ""

"""Fitting a binomial model with crossed random intercepts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from spotball_core.errors import OptionError
from spotball_core.gaze.mixed.designs import Design
from spotball_core.gaze.mixed.laplace import Data, Likelihood, NoModeError
from spotball_core.gaze.mixed.logistic import logistic
from spotball_core.gaze.mixed.search import SINGULAR, Search
from spotball_core.typing import FloatArray, IntArray

UNBOUNDED = 30.0
"""Logits that nobody can tell from infinity: of a standard error a standard deviation of its column, and of an sd."""

AFAR = 0.2
"""The smallest standard deviation that a search starts from: 0 is a stationary point."""


@dataclass(frozen=True)
class Fit:
    """A fitted model. Everything is on the logit scale.

    Attributes:
        coefficients: (p,) of the design's columns.
        covariance: (p, p) of the coefficients: from the inverse of the Hessian by the coefficients and the standard
            deviations together, as glmer's.
        sds: the random intercepts' standard deviation by group; 0 where it is singular.
        log_likelihood: Laplace's approximation, with the binomial coefficients.
        n: rows.
        converged: whether the maximum was found and the data bounds every coefficient.
        singular: whether a standard deviation is 0.
        message: what is wrong, empty if nothing.
        design: the fixed effects.
        modes: (levels,) a group: the random intercepts' modes, in the order of the data's levels.
        data: what was fitted.
        linear_predictor: (n,) at the coefficients and the modes.
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
        """(p,) of the coefficients."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def z(self) -> FloatArray:
        """(p,) coefficients over their standard errors."""
        return self.coefficients / self.standard_errors

    @property
    def p_values(self) -> FloatArray:
        """(p,) two-sided, of Wald's test that a coefficient is 0."""
        return np.asarray(2 * norm.sf(np.abs(self.z)))

    @property
    def parameters(self) -> int:
        """How many were estimated: coefficients and standard deviations."""
        return len(self.coefficients) + len(self.sds)

    def intervals(self, level: float = 0.95) -> FloatArray:
        """(p, 2) Wald's intervals of the coefficients."""
        reach = norm.ppf((1 + level) / 2) * self.standard_errors
        return np.column_stack([self.coefficients - reach, self.coefficients + reach])

    def coefficient(self, name: str) -> float:
        """That of the design's column so named."""
        names = self.design.names
        if name not in names:
            raise OptionError(f"the design has no column {name}, only {', '.join(names)}")
        return float(self.coefficients[names.index(name)])

    def effects(self, group: str) -> dict[object, float]:
        """The random intercepts' modes by label."""
        return dict(zip(self.data.levels[self._place(group)], self.modes[group].tolist(), strict=True))

    def codes(self, group: str) -> IntArray:
        """(n,) each row's level of a group, from 0."""
        return self.data.codes[self._place(group)]

    def _place(self, group: str) -> int:
        if group not in self.data.names:
            raise OptionError(f"the fit has no group {group}, only {', '.join(self.sds) or 'fixed effects'}")
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

    The maximum is over the coefficients and the standard deviations together, as glmer with `nAGQ = 1` seeks it.
    Without groups it is an ordinary logistic regression. What goes wrong is said in `converged` and `message`:
    answers that are all the same, coefficients without bound since some column tells all answers apart, a search that
    does not end. Several fits at once may run in threads of their own.

    Args:
        y: (n,) answers: 0 or 1, or the share of `weights` trials that were yes.
        design: the fixed effects.
        groups: names to (n,) labels: rows with the same label share a random intercept.
        weights: (n,) whole numbers of trials, at least 1; 1 by default.
        offset: (n,) added to the linear predictor.

    Raises:
        OptionError: for arrays of other lengths, values that are no shares of whole trials, or a group with one level.

    Examples:
        A table of synthetic answers: 30 stimuli, of which each is shown 16 times.

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
    """Fit the same with some of the groups, from where the larger fit ended if it converged."""
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
        raise OptionError("weights are whole numbers of trials, at least 1")
    if (share < 0).any() or (share > 1).any() or (np.abs(successes - rounded) > 1e-6).any():
        raise OptionError("y is 0, 1 or a share of the trials that weights give, from 0 to 1")
    coded = []
    for name, labels in groups.items():
        values = np.asarray(labels)
        if values.shape != (n,):
            raise OptionError(f"the group {name} has the shape {values.shape}, the design {n} rows")
        levels, codes = np.unique(values, return_inverse=True)
        if len(levels) < 2:
            raise OptionError(f"the group {name} has {len(levels)} level; it needs at least 2")
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
        raise OptionError(f"{name} has the shape {array.shape}, the design {n} rows")
    if not np.isfinite(array).all():
        raise OptionError(f"{name} has values that are missing or infinite")
    return array


def _constant(data: Data) -> str:
    if not data.successes.any() or (data.successes == data.trials).all():
        return "all answers are the same"
    return ""


def _unbounded(data: Data, covariance: FloatArray, names: Sequence[str], groups: Sequence[str]) -> str:
    """Which coefficients and which of the groups' intercepts no answers bound; a constant column counts as it is."""
    spread = data.matrix.std(axis=0)
    errors = np.sqrt(np.diag(covariance)) * np.where(spread > 0, spread, 1.0)
    far = [name for name, error in zip(names, errors, strict=True) if not error < UNBOUNDED]
    far += [f"the intercepts of {name}" for name in groups]
    return f"the answers do not bound {', '.join(far)}" if far else ""

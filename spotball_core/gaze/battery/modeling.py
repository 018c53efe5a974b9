"""Fit the mixed models of the tests, decide which models are reliable, and replace the others by t-tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.gaze.battery.findings import (
    Coefficient,
    Finding,
    Interactions,
    Key,
    Method,
    Model,
    no_answer,
    tested,
)
from spotball_core.gaze.mixed import Fit, SelectedFit, bimodal, choose, design, fit, likelihood_ratio
from spotball_core.gaze.plain_tests import Mean
from spotball_core.typing import FloatArray

if TYPE_CHECKING:
    import polars as pl

GROUPS: Final = ("stimulus_id", "prompt_id", "objects", "participant")
"""Variables for which models have random intercepts.

A variable is skipped if it has only one value, missing values, or a different value in every trial.
"""

_NO_DESIGN: Final = "the model cannot separate the effects, because there are too few photos or they are too similar"

_VARIABLE = re.compile(r"(?:C|center)\((\w+)\)|(\w+)")


@dataclass(frozen=True)
class Modeled:
    """A model and whether it is reliable.

    Attributes:
        fit: the fit with the most complex fixed effects; None if no fit was possible.
        record: the record of the model for a finding; None without a fit.
        problem: why the model is unreliable and a t-test replaces it; empty if the model is used.
    """

    fit: Fit | None
    record: Model | None
    problem: str

    @property
    def method(self) -> Method:
        """The name of the method: `GLMM` if the model has random intercepts, else `logistic regression`."""
        return "GLMM" if self.fit is not None and self.fit.sds else "logistic regression"

    @property
    def records(self) -> tuple[Model, ...]:
        """The record of the model as a tuple of length 1; an empty tuple if no fit was possible."""
        return (self.record,) if self.record else ()


def model(
    rows: pl.DataFrame,
    response: str,
    terms: Sequence[str],
    without: Sequence[str] | None = None,
    *,
    trials: str | None = None,
    expected: FloatArray | None = None,
    alpha: float = 0.05,
    dispersed: bool = False,
) -> Modeled:
    """Fit a binomial model with as many random intercepts as possible, with and without interactions.

    Args:
        rows: one row per trial, without missing values in the used columns.
        response: the column to explain: 0 or 1, or a share.
        terms: the fixed effects; variables with a single value are excluded.
        without: the fixed effects of the model without interactions; None if there are no interactions.
        trials: the column with the number of binomial trials behind each share; None for responses of 0 or 1.
        expected: expected values under chance, shape (n,), whose log odds are the offset; None for no offset.
        alpha: level of the likelihood-ratio test of the interactions. If they are not significant, the record contains
            the coefficients of the model without interactions. `Modeled.fit` has interactions in either case.
        dispersed: whether the covariance of `Modeled.fit` is multiplied by the dispersion.
    """
    full, plain = _varying(terms, rows), _varying(without, rows) if without is not None else None
    groups = {name: rows[name].to_numpy() for name in GROUPS if _tells_apart(rows, name)}
    y = rows[response].to_numpy()
    weights = rows[trials].to_numpy() if trials else None
    offset = np.log(expected / (1 - expected)) if expected is not None else None
    try:
        try:
            fixed = design(rows, full)
        except OptionError:
            if plain is None:
                raise
            # Some combinations of levels do not occur.
            full, plain = plain, None
            fixed = design(rows, full)
        selected = choose(y, fixed, groups, weights=weights, offset=offset)
    except OptionError:
        return Modeled(None, None, _NO_DESIGN)
    reported, interactions = selected.fit, None
    if plain is not None and selected.fit.converged and set(plain) != set(full):
        kept_groups = {name: groups[name] for name in selected.groups}
        smaller = fit(y, design(rows, plain), kept_groups, weights=weights, offset=offset)
        if smaller.converged:
            test = likelihood_ratio(smaller, selected.fit)
            needed = test.p < alpha
            interactions = Interactions(
                without=_formula(response, plain, kept_groups, offset is not None),
                chi2=test.chi2,
                df=test.df,
                p=test.p,
                needed=needed,
            )
            reported = selected.fit if needed else smaller
    problem = _problem(selected)
    phi = dispersion(selected.fit) if dispersed and selected.fit.converged else 1.0
    record = Model(
        formula=_formula(response, full, selected.groups, offset is not None),
        groups={name: selected.fit.sds[name] for name in selected.groups},
        dropped=tuple(f"{', '.join(attempt.groups) or 'none'}: {attempt.reason}" for attempt in selected.dropped),
        n_rows=len(rows),
        log_likelihood=selected.fit.log_likelihood,
        dispersion=phi,
        converged=selected.fit.converged,
        problem=problem,
        interactions=interactions,
        coefficients=_coefficients(reported) if reported.converged else {},
    )
    return Modeled(replace(selected.fit, covariance=phi * selected.fit.covariance), record, problem)


def dispersion(fitted: Fit) -> float:
    """Return Pearson's chi-square per degree of freedom, at least 1; 1 if each response has one step.

    The models treat the steps of a choice as independent. The steps of a respondent that guesses are not: all numbers
    of steps are about equally likely, which varies more than a binomial distribution. Without the dispersion, tests of
    such respondents reject too often.
    """
    from scipy.special import expit

    share, trials = expit(fitted.linear_predictor), fitted.data.trials
    if trials.max() <= 1:
        return 1.0
    squares = (fitted.data.successes - trials * share) ** 2 / (trials * share * (1 - share))
    return max(1.0, float(squares.sum()) / max(1, fitted.n - len(fitted.coefficients)))


def by_stimulus(rows: pl.DataFrame, **means: pl.Expr) -> pl.DataFrame:
    """Return one row per photo: means of the given expressions over its trials, and first values of other columns."""
    import polars as pl

    fixed = [name for name in rows.columns if name not in {"stimulus_id", *means}]
    return rows.group_by("stimulus_id", maintain_order=True).agg(
        *(pl.col(name).first() for name in fixed), **{name: mean.mean() for name, mean in means.items()}
    )


def indicators(column: pl.Series) -> list[FloatArray]:
    """Return dummy variables: a 0/1 column for each level except the first, in sorted order."""
    return [(column == level).to_numpy().astype(float) for level in column.unique().sort().to_list()[1:]]


def by_t_test(
    key: Key,
    fitted: Modeled,
    mean: Mean | None,
    sentence_of: Callable[[float], str],
    *,
    scale: str,
    numbers: Mapping[str, Any] | None = None,
    **more: Any,
) -> Finding:
    """Return the finding of a t-test that replaces an unreliable model, with the model's problem as the reason.

    Args:
        mean: the tested mean over photos; None if there are too few.
        sentence_of: returns the sentence that describes an estimate.
        numbers: further numbers of the finding.
    """
    if mean is None:
        return no_answer(key, f"{fitted.problem}, and there are too few photos for a t-test", **more)
    return tested(
        key,
        sentence_of(mean.estimate),
        estimate=mean.estimate,
        ci95=mean.ci95,
        scale=scale,
        p=mean.p,
        method="t-test",
        reason=fitted.problem,
        numbers={**(numbers or {}), **test_numbers(mean)},
        models=fitted.records,
        **more,
    )


def test_numbers(mean: Mean | None) -> dict[str, float | None]:
    """Return the numbers `t`, `df` and `se` of a t-test for `Finding.numbers`; an empty dictionary without a test."""
    return {} if mean is None else {"t": mean.t, "df": mean.df, "se": mean.se}


def _varying(terms: Sequence[str], rows: pl.DataFrame) -> tuple[str, ...]:
    """Return the terms, without the variables that have the same value in all rows."""
    varying = []
    for term in terms:
        parts = []
        for part in term.split("*"):
            match = _VARIABLE.fullmatch(part)
            assert match is not None
            if rows[match[1] or match[2]].n_unique() > 1:
                parts.append(part)
        if parts:
            varying.append("*".join(parts))
    return tuple(dict.fromkeys(varying))


def _tells_apart(rows: pl.DataFrame, name: str) -> bool:
    return rows[name].null_count() == 0 and 1 < rows[name].n_unique() < len(rows)


def _formula(response: str, terms: Sequence[str], groups: Iterable[str], offset: bool) -> str:
    right = [*(term.replace("*", " * ") for term in terms), *(f"(1 | {name})" for name in groups)]
    right += ["offset(logit(expected))"] if offset else []
    return f"{response} ~ {' + '.join(right) or '1'}"


def _problem(selected: SelectedFit) -> str:
    """Return the reason why a fit is not used; empty if it is used."""
    if not selected.fit.converged:
        return f"the model did not converge: {selected.fit.message}"
    if "stimulus_id" not in selected.full.sds:
        return ""
    if bimodal(selected.full, "stimulus_id").bimodal:
        return "the random effects of the photos are bimodal"
    lost = [
        attempt
        for attempt in selected.dropped
        if "stimulus_id" in attempt.groups and attempt.reason.startswith("did not converge")
    ]
    if lost and "stimulus_id" not in selected.groups:
        # The remaining model would treat all trials with a photo as independent.
        return f"no model with random effects of photos converged: {lost[-1].reason.removeprefix('did not converge: ')}"
    return ""


def _coefficients(fitted: Fit) -> dict[str, Coefficient]:
    numbers = zip(
        fitted.coefficients, fitted.standard_errors, fitted.z, fitted.p_values, fitted.intervals(), strict=True
    )
    return {
        name: Coefficient(
            estimate=float(b), se=float(se), z=float(z), p=float(p), ci95=(float(ends[0]), float(ends[1]))
        )
        for name, (b, se, z, p, ends) in zip(fitted.design.names, numbers, strict=True)
    }

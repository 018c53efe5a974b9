"""Compute estimated marginal means, their differences, and slopes, all on the logit scale.

As in emmeans, a fit is evaluated on a grid: all combinations of the factors' levels, with numeric variables at their
means. Averages over the grid give all levels the same weight. They are computed on the logit scale, before the
transformation to probabilities.

By default, emmeans treats numeric variables with at most two values like factors (its option `cov.keep`, "2"): it
averages over both values with equal weights. This module uses the mean of every numeric variable by default
(`cov_keep=0`); `cov_keep=2` reproduces the default of emmeans.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import polars as pl
from scipy.special import expit
from scipy.stats import norm, studentized_range

from spotball_core.errors import OptionError
from spotball_core.gaze.mixed.designs import Level
from spotball_core.gaze.mixed.fitting import Fit
from spotball_core.stats.permutation import holm
from spotball_core.typing import FloatArray

Adjustment = Literal["holm", "tukey", "none"]
MANY = 12
"""Maximum number of distinct values of a numeric variable in `by`; variables with more need values in `at`."""


@dataclass(frozen=True)
class MarginalMeans:
    """Estimated marginal means.

    Attributes:
        table: one row per mean: the columns of `by`; `estimate`, `se`, `low` and `high` on the logit scale, including
            the offset; and `response`, `response_low` and `response_high`, transformed back to probabilities.
        by: the variables that distinguish the means.
        covariance: covariance (m, m) of the estimates.
        cov_keep: numeric variables with at most this many values were averaged over their values; for others, the mean
            was used.
    """

    table: pl.DataFrame
    by: tuple[str, ...]
    covariance: FloatArray = field(repr=False)
    cov_keep: int = 0

    @property
    def labels(self) -> tuple[str, ...]:
        """Each mean's name: its values of `by`."""
        if not self.by:
            return ("all",)
        return tuple(
            ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in row)
            for row in self.table.select(self.by).iter_rows()
        )


def marginal_means(
    fit: Fit,
    by: Sequence[str] = (),
    *,
    at: Mapping[str, Sequence[float]] | None = None,
    offset: float | None = None,
    cov_keep: int = 0,
    level: float = 0.95,
) -> MarginalMeans:
    """Return means of the linear predictor at each combination of `by`, with random intercepts of 0.

    Args:
        fit: the fitted model.
        by: variables of the fit's design; empty for the grand mean. A numeric variable is evaluated at its distinct
            values in the data, of which there may be at most 12.
        at: values at which numeric variables are evaluated, instead of their values in the data or their mean. Only
            variables in `by` may have several values.
        offset: value added to all means (default: the mean offset of the data, as in emmeans). With 0, the means
            exclude the offset.
        cov_keep: numeric variables with at most this many values are averaged over their values, with equal weights;
            for others, the mean is used. 2 is the default of emmeans.
        level: confidence level of Wald's intervals.

    Raises:
        OptionError: for a variable that is not in the design, a numeric variable in `by` with too many values, or
            values in `at` for a factor.

    Examples:
        >>> from spotball_core.gaze.mixed import design, fit
        >>> table = pl.DataFrame({"view": ["front", "left"] * 20})
        >>> answers = [1, 0, 1, 0, 1, 0, 0, 1] * 5
        >>> means = marginal_means(fit(answers, design(table, ["view"])), ["view"])
        >>> means.labels, means.table["response"].round(3).to_list()
        (('front', 'left'), [0.75, 0.25])
    """
    grid = _grid(fit, by, at or {}, cov_keep)
    rows = fit.design.rows(grid)
    contrast, cells = _averages(grid, by, rows)
    estimates = contrast @ fit.coefficients + (float(np.mean(fit.data.offset)) if offset is None else offset)
    covariance = contrast @ fit.covariance @ contrast.T
    errors = np.sqrt(np.diag(covariance))
    reach = norm.ppf((1 + level) / 2) * errors
    table = {
        **cells,
        "estimate": estimates,
        "se": errors,
        "low": estimates - reach,
        "high": estimates + reach,
        "response": expit(estimates),
        "response_low": expit(estimates - reach),
        "response_high": expit(estimates + reach),
    }
    return MarginalMeans(pl.DataFrame(table), tuple(by), covariance, cov_keep)


def pairwise(means: MarginalMeans, *, adjust: Adjustment = "holm", level: float = 0.95) -> pl.DataFrame:
    """Return differences between all pairs of means, first minus second, with two-sided z tests.

    Args:
        means: at least two means.
        adjust: method that adjusts p for the number of pairs: `holm`, `tukey` (studentized range) or `none`.
        level: confidence level of the intervals. Only Tukey's method widens the intervals for the number of pairs.

    Returns:
        Columns first, second (labels), estimate, se, low, high, z, p, p_adjusted.

    Raises:
        OptionError: for fewer than two means or an unknown adjustment.
    """
    labels, estimates = means.labels, means.table["estimate"].to_numpy()
    k = len(labels)
    if k < 2:
        raise OptionError("a comparison needs at least two means", code="cannot-estimate")
    pairs = list(itertools.combinations(range(k), 2))
    contrast = np.zeros((len(pairs), k))
    for row, (i, j) in zip(contrast, pairs, strict=True):
        row[i], row[j] = 1.0, -1.0
    differences = contrast @ estimates
    errors = np.sqrt(np.einsum("ij,jk,ik->i", contrast, means.covariance, contrast))
    reach = norm.ppf((1 + level) / 2)
    z = differences / errors
    p = np.asarray(2 * norm.sf(np.abs(z)))
    match adjust:
        case "holm":
            adjusted = np.asarray(holm(p.tolist()))
        case "tukey":
            adjusted = np.asarray(studentized_range.sf(np.abs(z) * np.sqrt(2), k, np.inf))
            reach = studentized_range.ppf(level, k, np.inf) / np.sqrt(2)
        case "none":
            adjusted = p
        case _:
            raise OptionError(f"found {adjust!r}, expected holm, tukey or none", field="adjust")
    return pl.DataFrame(
        {
            "first": [labels[i] for i, _ in pairs],
            "second": [labels[j] for _, j in pairs],
            "estimate": differences,
            "se": errors,
            "low": differences - reach * errors,
            "high": differences + reach * errors,
            "z": z,
            "p": p,
            "p_adjusted": adjusted,
        }
    )


def slopes(
    fit: Fit,
    variable: str,
    by: Sequence[str] = (),
    *,
    at: Mapping[str, Sequence[float]] | None = None,
    cov_keep: int = 0,
    level: float = 0.95,
) -> pl.DataFrame:
    """Return slopes: the change of the logit if a numeric variable increases by 1, averaged over the grid.

    Args:
        fit: the fitted model.
        variable: name of a numeric variable of the fit's design.
        by: variables of the design, as in `marginal_means`; there is one slope for each combination of their values.
        at: as in `marginal_means`.
        cov_keep: as in `marginal_means`, for numbers other than `variable`.
        level: confidence level of the intervals.

    Returns:
        The columns of `by`, then estimate, se, low, high, z and the two-sided p.

    Raises:
        OptionError: as in `marginal_means`, or if `variable` is not a numeric variable of the design or is in `by`.
    """
    design_variable = fit.design.variables.get(variable)
    if design_variable is None or design_variable.levels is not None or variable in by:
        raise OptionError(f"{variable} must be a numeric variable of the design that is not in `by`")
    grid = _grid(fit, by, at or {}, cov_keep, variable)
    # The predictor is linear in each number, so a difference of 1 gives the derivative.
    rise = fit.design.rows(grid.with_columns(pl.col(variable) + 1)) - fit.design.rows(grid)
    contrast, cells = _averages(grid, by, rise)
    estimates = contrast @ fit.coefficients
    errors = np.sqrt(np.einsum("ij,jk,ik->i", contrast, fit.covariance, contrast))
    reach = norm.ppf((1 + level) / 2) * errors
    z = estimates / errors
    table = {
        **cells,
        "estimate": estimates,
        "se": errors,
        "low": estimates - reach,
        "high": estimates + reach,
        "z": z,
        "p": 2 * norm.sf(np.abs(z)),
    }
    return pl.DataFrame(table)


def _grid(
    fit: Fit, by: Sequence[str], at: Mapping[str, Sequence[float]], cov_keep: int, slope_of: str | None = None
) -> pl.DataFrame:
    variables = fit.design.variables
    if strangers := [name for name in (*by, *at) if name not in variables]:
        raise OptionError(
            f"the design has no variable {strangers[0]}. Available: {', '.join(variables) or 'none'}",
            code="unknown-name",
        )
    values: dict[str, Sequence[Level]] = {}
    for name in [*by, *(name for name in variables if name not in by)]:
        variable = variables[name]
        if name in at:
            if variable.levels is not None or not len(at[name]) or (name not in by and len(at[name]) > 1):
                raise OptionError(
                    "`at` needs a numeric variable with one value, or several values if the variable is in `by`",
                    field=name,
                )
            values[name] = [float(value) for value in at[name]]
        elif variable.levels is not None:
            values[name] = variable.levels
        elif name not in by:
            kept = name != slope_of and len(variable.values) <= cov_keep
            values[name] = variable.values if kept else [variable.mean]
        elif len(variable.values) > MANY:
            raise OptionError(
                f"{name} has {len(variable.values)} values, expected at most {MANY}. Choose some with `at`"
            )
        else:
            values[name] = variable.values
    combinations = list(itertools.product(*values.values()))
    return pl.DataFrame(combinations, schema=list(values), orient="row") if values else pl.DataFrame({"": [0.0]})


def _averages(grid: pl.DataFrame, by: Sequence[str], rows: FloatArray) -> tuple[FloatArray, dict[str, pl.Series]]:
    """Return the means of the rows (m, p) in each cell of the grid, and the values of `by` in each cell.

    `by` comes first in the grid and changes slowest.
    """
    cells = grid.select(by).unique(maintain_order=True).to_dict() if by else {}
    m = len(cells[by[0]]) if by else 1
    return rows.reshape(m, -1, rows.shape[1]).mean(axis=1), cells

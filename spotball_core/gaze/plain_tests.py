"""Run tests of means and of shares without a mixed model, and adjust p values for several tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.errors import OptionError
from spotball_core.stats.permutation import holm
from spotball_core.typing import FloatArray

if TYPE_CHECKING:
    from spotball_core.schema.report import Interval

Sides = Literal["two-sided", "greater"]

Multiplicity = Literal["none", "holm"]


@dataclass(frozen=True)
class Mean:
    """A mean, or a difference of means, with Student's t-test of whether it is 0.

    Attributes:
        estimate: the mean or the difference.
        se: standard error of the estimate.
        t: estimate divided by standard error; None if the values do not vary.
        df: degrees of freedom.
        p: p value of the test, one-sided or two-sided as requested.
        ci95: two-sided 95% confidence interval; None if the values do not vary.
        n: number of values; for two groups, of the smaller group.
    """

    estimate: float
    se: float
    t: float | None
    df: float
    p: float
    ci95: Interval | None
    n: int


def one_sample(values: ArrayLike, null: float = 0.0, sides: Sides = "two-sided") -> Mean | None:
    """Run Student's test of one mean; return None for fewer than two values.

    If all values are equal, p is 0 if they differ from the null (with `greater`: are above it), else 1.

    Args:
        values: the sample, shape (n,).
        null: the mean under the null hypothesis; the estimate is the difference from it.
        sides: `greater` tests whether the mean is above the null.

    Examples:
        >>> found = one_sample([1.0, 2.0, 3.0])
        >>> round(found.t, 3), round(found.p, 3)
        (3.464, 0.074)
    """
    x = np.asarray(values, dtype=float)
    if len(x) < 2:
        return None
    return _student(float(x.mean() - null), float(x.std(ddof=1) / np.sqrt(len(x))), len(x) - 1, len(x), sides)


def mean_share(values: ArrayLike) -> tuple[float, float] | None:
    """Return a 95% confidence interval of a mean share; None for fewer than two values, or if all are equal.

    The interval is Student's interval of the log odds, transformed back to shares. If a share is 0 or 1, its log odds
    are infinite; Student's interval of the shares is then used instead, clipped to 0 and 1.

    Args:
        values: shape (n,), from 0 to 1.

    Examples:
        >>> mean_share([0.97, 0.99, 0.98, 0.995])[1] < 1
        True
    """
    x = np.asarray(values, dtype=float)
    if np.any((x <= 0) | (x >= 1)):
        mean = one_sample(x)
        ends = mean.ci95 if mean else None
        return (max(0.0, ends[0]), min(1.0, ends[1])) if ends else None
    odds = one_sample(np.log(x / (1 - x)))
    if odds is None or odds.ci95 is None:
        return None
    low, high = (1 / (1 + np.exp(-end)) for end in odds.ci95)
    return float(low), float(high)


def welch(a: ArrayLike, b: ArrayLike) -> Mean | None:
    """Run Welch's two-sided test of mean(a) - mean(b); return None if a group has fewer than two values.

    Args:
        a: values of the first group, shape (n,).
        b: values of the second group, shape (m,).
    """
    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if min(len(x), len(y)) < 2:
        return None
    u, v = x.var(ddof=1) / len(x), y.var(ddof=1) / len(y)
    df = (u + v) ** 2 / (u * u / (len(x) - 1) + v * v / (len(y) - 1)) if u + v else float(len(x) + len(y) - 2)
    return _student(float(x.mean() - y.mean()), float(np.sqrt(u + v)), float(df), min(len(x), len(y)), "two-sided")


def regression_slope(x: ArrayLike, y: ArrayLike, others: Sequence[ArrayLike] = ()) -> Mean | None:
    """Return the slope of y on x in a linear regression with covariates, and a two-sided t-test of whether it is 0.

    Args:
        x: the predictor, shape (n,).
        y: the outcome, shape (n,).
        others: the covariates, each of shape (n,); redundant covariates are excluded.

    Returns:
        The slope; None if there are too few values for the number of columns, or if the covariates determine x.
    """
    from scipy.linalg import qr

    predictor = np.asarray(x, dtype=float)
    columns = [np.ones(len(predictor)), *(np.asarray(column, dtype=float) for column in others)]
    covariates = np.column_stack(columns)
    basis, triangle, _ = qr(covariates, mode="economic", pivoting=True)
    rank = int((np.abs(np.diag(triangle)) > 1e-10 * abs(triangle[0, 0])).sum())
    basis = basis[:, :rank]
    left = predictor - basis @ (basis.T @ predictor)
    outcome = np.asarray(y, dtype=float)
    outcome = outcome - basis @ (basis.T @ outcome)
    df, spread = len(predictor) - rank - 1, float(left @ left)
    if df < 1 or spread < 1e-10 * max(1.0, float(predictor @ predictor)):
        return None
    slope = float(left @ outcome) / spread
    residual = outcome - slope * left
    return _student(slope, float(np.sqrt(residual @ residual / df / spread)), df, len(predictor), "two-sided")


def _student(estimate: float, se: float, df: float, n: int, sides: Sides) -> Mean:
    from scipy import stats

    if se <= 1e-12 * max(1.0, abs(estimate)):
        clear = estimate > 1e-12 if sides == "greater" else abs(estimate) > 1e-12
        return Mean(estimate, 0.0, None, df, 0.0 if clear else 1.0, None, n)
    t = estimate / se
    p = float(stats.t.sf(t, df)) if sides == "greater" else float(2 * stats.t.sf(abs(t), df))
    half = float(stats.t.ppf(0.975, df)) * se
    return Mean(estimate, se, t, df, p, (estimate - half, estimate + half), n)


def equivalence_p(estimate: float, se: float, margin: float, df: float | None = None) -> float:
    """Return the p value of an equivalence test (two one-sided tests, TOST) of whether an estimate equals 0.

    A small p is evidence that the true value is between -margin and margin. p is below 0.05 if and only if the 90%
    confidence interval is within these limits.

    Args:
        estimate: the estimate to test.
        se: standard error of the estimate; 0 for an estimate without error.
        margin: largest absolute value that counts as equal to 0; above 0.
        df: degrees of freedom of Student's distribution; None for the normal distribution.

    Examples:
        >>> round(equivalence_p(0.0, 0.1, 0.2), 4), round(equivalence_p(0.3, 0.1, 0.2), 4)
        (0.0228, 0.8413)
    """
    from scipy import stats

    if se <= 0:
        return 0.0 if abs(estimate) < margin else 1.0
    distribution = stats.norm if df is None else stats.t(df)
    return float(distribution.sf((margin - abs(estimate)) / se))


@dataclass(frozen=True)
class Proportions:
    """The result of a z test of one or two shares.

    Attributes:
        estimate: the share minus the probability or the share with which it is compared.
        z: the estimate divided by its standard error; None if the standard error is 0.
        p: two-sided p value.
    """

    estimate: float
    z: float | None
    p: float


def proportion_z(successes: float, n: int, chance: float) -> Proportions:
    r"""Run the two-sided z test of a share against a known chance: $z = (\hat p - p_0) / \sqrt{p_0 (1 - p_0) / n}$.

    Args:
        successes: number of successes.
        n: number of trials; at least 1.
        chance: probability under the null hypothesis, above 0 and below 1.

    Examples:
        >>> round(proportion_z(60, 100, 0.5).p, 4)
        0.0455
    """
    if n < 1 or not 0 < chance < 1:
        raise OptionError(
            f"found {n} trials and a chance of {chance:g}, expected at least 1 trial and a chance between 0 and 1"
        )
    return _normal(successes / n - chance, float(np.sqrt(chance * (1 - chance) / n)))


def two_proportions(successes_a: float, n_a: int, successes_b: float, n_b: int) -> Proportions:
    r"""Run the two-sided z test of two shares with a pooled variance, such as accuracies at two resolutions.

    $z = (\hat p_a - \hat p_b) / \sqrt{\hat p (1 - \hat p) (1/n_a + 1/n_b)}$ where $\hat p$ is the pooled share.

    Args:
        successes_a: number of successes in the first group.
        n_a: number of trials in the first group.
        successes_b: number of successes in the second group.
        n_b: number of trials in the second group.

    Examples:
        >>> round(two_proportions(39, 100, 45, 100).p, 3)
        0.39
    """
    if min(n_a, n_b) < 1:
        raise OptionError(f"found {n_a} and {n_b} trials, expected at least 1 each")
    pooled = (successes_a + successes_b) / (n_a + n_b)
    return _normal(
        successes_a / n_a - successes_b / n_b, float(np.sqrt(max(pooled * (1 - pooled), 0.0) * (1 / n_a + 1 / n_b)))
    )


def _normal(estimate: float, se: float) -> Proportions:
    from scipy import stats

    if se <= 1e-12:
        return Proportions(estimate, None, 0.0 if abs(estimate) > 1e-12 else 1.0)
    return Proportions(estimate, estimate / se, float(2 * stats.norm.sf(abs(estimate / se))))


def sum_of_chances(groups: Sequence[tuple[int, float]]) -> FloatArray:
    """Return the distribution of the number of successes in independent trials with different probabilities.

    Args:
        groups: for each group, the number of trials and their probability of success.

    Returns:
        Shape (n + 1,), the probability of 0, 1, ..., n successes.

    Examples:
        >>> sum_of_chances([(1, 0.5), (1, 0.25)]).round(3).tolist()
        [0.375, 0.5, 0.125]
    """
    from scipy import stats
    from scipy.signal import fftconvolve

    distribution = np.ones(1)
    for n, chance in groups:
        group_distribution = stats.binom.pmf(np.arange(n + 1), n, chance)
        # Use direct sums for few trials; they are also exact far out in the tails.
        distribution = (
            np.convolve(distribution, group_distribution)
            if min(len(distribution), len(group_distribution)) < 5000
            else fftconvolve(distribution, group_distribution)
        )
    return np.asarray(np.clip(distribution, 0, 1))


def exact_p(successes: int, groups: Sequence[tuple[int, float]], sides: Sides = "two-sided") -> float:
    """Return the exact p value of a number of successes under chance.

    The two-sided p value is the total probability of all numbers of successes that are at most as likely as this one.
    If all trials have the same probability of success, this is the exact binomial test.

    Args:
        successes: number of successes.
        groups: for each group, the number of trials and their probability of success.
        sides: `greater` gives the probability of at least this many successes.

    Examples:
        >>> round(exact_p(8, [(10, 0.5)]), 4)
        0.1094
    """
    chances = sum_of_chances(groups)
    if sides == "greater":
        return float(min(1.0, chances[successes:].sum()))
    return float(min(1.0, chances[chances <= chances[successes] * (1 + 1e-7)].sum()))


def adjusted(p: Sequence[float], multiplicity: Multiplicity) -> list[float]:
    """Return the p values of several tests, unchanged (`none`) or adjusted by Holm's step-down method (`holm`).

    Examples:
        >>> [round(value, 4) for value in adjusted([0.01, 0.04, 0.03], "holm")]
        [0.03, 0.06, 0.06]
    """
    return holm(p) if multiplicity == "holm" else list(p)

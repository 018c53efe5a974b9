r"""Compute the power of a two-sided test of a mean or a difference, and the smallest difference that it detects.

The statistic is the estimate divided by its standard error. If the true difference is $\delta$, it has a noncentral t
distribution with the noncentrality $\delta / se$ and the degrees of freedom of the standard error. A test that flips
the signs of paired differences, as `compare` does, has the same power with many images.
"""

from __future__ import annotations

from functools import lru_cache

POWER = 0.8
"""The usual power of planned studies."""

_EXACT = 100
"""Degrees of freedom above this number are rounded, so that a search over many numbers of images is fast."""


def power_of(difference: float, se: float, *, df: int | None = None, alpha: float = 0.05, ties: float = 0.0) -> float:
    """Return the probability that a two-sided test at level alpha detects a true difference.

    Args:
        difference: the true difference.
        se: the standard error of its estimate, above 0.
        df: degrees of freedom of the standard error; None if it is known (a z test).
        alpha: the significance level.
        ties: amount by which an estimated difference must be larger, because the p value of a permutation test counts
            ties.

    Examples:
        >>> round(power_of(2.8, 1.0), 2), round(power_of(0.0, 1.0, df=19), 2)
        (0.8, 0.05)
    """
    return _upper((difference - ties) / se, df, alpha) + _upper((-difference - ties) / se, df, alpha)


def smallest_difference(se: float, *, df: int | None = None, alpha: float = 0.05, power: float = POWER) -> float:
    """Return the smallest true difference that a two-sided test detects with the given power.

    Args:
        se: the standard error of the estimated difference.
        df: degrees of freedom of the standard error; None if it is known (a z test).
        alpha: the significance level.
        power: the probability with which the difference is detected, above alpha and below 1.

    Examples:
        >>> round(smallest_difference(1.0), 3), round(smallest_difference(1.0, df=19), 3)
        (2.802, 2.954)
    """
    if df is not None and df > _EXACT:
        # Student's t changes so slowly that two digits of its degrees of freedom are enough.
        df = round(df, 2 - len(str(df)))
    return se * _noncentrality(df, alpha, power)


@lru_cache(maxsize=1000)
def _noncentrality(df: int | None, alpha: float, power: float) -> float:
    # The power is below the target at 0, because there it is alpha.
    low, high = 0.0, 1.0
    while _power(high, df, alpha) < power:
        low, high = high, 2 * high
    # Bisection, because importing SciPy's search would take longer than all of its steps.
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _power(middle, df, alpha) < power else (low, middle)
    return (low + high) / 2


def _power(delta: float, df: int | None, alpha: float) -> float:
    return _upper(delta, df, alpha) + _upper(-delta, df, alpha)


def _upper(delta: float, df: int | None, alpha: float) -> float:
    """Return the probability of a significant positive estimate."""
    # `scipy.stats` has the same functions, but its import takes about a second.
    from scipy.special import nctdtr, ndtr, ndtri, stdtrit

    if df is None:
        return float(ndtr(delta + ndtri(alpha / 2)))
    # Far in the lower tail, the noncentral t distribution can be NaN; the probability is then negligible.
    return 1.0 - float(nctdtr(df, delta, -stdtrit(df, alpha / 2))) if delta > -5 else 0.0

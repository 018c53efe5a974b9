"""Format numbers for reports, with rounding, units and intervals, and p values."""

from __future__ import annotations

from collections.abc import Sequence

from spotball_core.grid import row_name
from spotball_core.metrics.registry import METRICS
from spotball_core.schema.policy import ScorePolicy, Window
from spotball_core.schema.report import Interval, MetricValue

_DIGITS = {"share": 1, "px": 1, "times": 1, "cell": 2, "diagonal": 3, "score": 2}
_SIGNS = {"share": "%", "px": " px", "cell": " cells", "diagonal": " diagonals", "nats": " nats"}


def unit_of(key: str, policy: ScorePolicy) -> str:
    """Return the unit of a metric's values under a score policy, such as `share` or `px`."""
    return METRICS[key].unit_under(policy)


def in_unit(amount: float, unit: str) -> float:
    """Convert a number that a user gives to a metric's unit: points of a percentage to a share.

    Examples:
        >>> in_unit(5, "share"), in_unit(5, "px")
        (0.05, 5)
    """
    return amount / 100 if unit == "share" else amount


def points(value: float, unit: str) -> str:
    """Format the size of a difference, without its sign, with its unit: points for shares.

    Examples:
        >>> points(-0.05, "share"), points(5, "px")
        ('5.0 points', '5.0 px')
    """
    return f"{number(abs(value), unit)} points" if unit == "share" else quantity(abs(value), unit)


def number(value: float, unit: str) -> str:
    """Format a number without its unit: shares in percent, pixels to a tenth, ratios to a thousandth.

    Examples:
        >>> number(0.1921, "share"), number(101.84, "px"), number(1.1, "ratio")
        ('19.2', '101.8', '1.100')
    """
    text = f"{value * (100 if unit == 'share' else 1):.{_DIGITS.get(unit, 3)}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def quantity(value: float, unit: str) -> str:
    """Format a number with its unit.

    Examples:
        >>> quantity(0.1921, "share"), quantity(101.84, "px")
        ('19.2%', '101.8 px')
    """
    return number(value, unit) + _SIGNS.get(unit, "")


def interval(ends: Interval | None, unit: str) -> str:
    """Format an interval in brackets, without its unit. Return an empty text if `ends` is None.

    Examples:
        >>> interval((0.145, 0.2372), "share")
        '[14.5, 23.7]'
    """
    return f"[{number(ends[0], unit)}, {number(ends[1], unit)}]" if ends else ""


def told(value: MetricValue, unit: str) -> str:
    """Format a value with its unit and its confidence interval, or state why there is no value.

    Examples:
        >>> told(MetricValue(value=0.1921, ci95=(0.145, 0.2372)), "share")
        '19.2% [14.5, 23.7]'
    """
    if value.value is None:
        return f"no value ({value.reason})"
    return f"{quantity(value.value, unit)} {interval(value.ci95, unit)}".rstrip()


def ranged(values: Sequence[float], unit: str) -> str:
    """Format a range of numbers with their unit; a single number if all are equal when rounded.

    Examples:
        >>> ranged([0.31, 0.28, 0.3], "share"), ranged([0.2, 0.2], "share")
        ('28.0% to 31.0%', '20.0%')
    """
    low, high = quantity(min(values), unit), quantity(max(values), unit)
    return low if low == high else f"{low} to {high}"


def more_or_less(difference: float, ends: Interval | None, unit: str) -> str:
    """Describe a difference by its size and direction, with the interval of the size.

    Examples:
        >>> more_or_less(-0.926, (-0.95, -0.9), "share"), more_or_less(12.34, None, "px")
        ('92.6 points less [90.0, 95.0]', '12.3 px more')
    """
    low, high = ends or (difference, difference)
    size, low, high = (difference, low, high) if difference >= 0 else (-difference, -high, -low)
    words = f"{points(size, unit)} {'more' if difference >= 0 else 'less'}"
    return f"{words} {interval((low, high), unit)}" if ends else words


def window_words(window: Window) -> str:
    """Describe a center window in words.

    Examples:
        >>> window_words(((2, 4), (3, 7)))
        'rows B–D, columns 3–7'
    """
    (top, bottom), (left, right) = window
    return f"rows {row_name(top)}–{row_name(bottom)}, columns {left}–{right}"


ALPHA = 0.05
"""Significance level: a difference is called clear if its adjusted p value is at most 0.05."""


def say_p(p: float) -> str:
    """Format a p value to two significant digits, such as `= 0.043`, or as `< 0.001`.

    Examples:
        >>> say_p(0.04321), say_p(0.00004), say_p(0.6)
        ('= 0.043', '< 0.001', '= 0.60')
    """
    if p < 0.001:
        return "< 0.001"
    return f"= {p:.2f}" if p >= 0.1 else f"= {p:.2g}"

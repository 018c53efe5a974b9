"""Format p values as text."""

from __future__ import annotations

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

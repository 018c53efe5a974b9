"""Format p values as text."""

from __future__ import annotations

ALPHA = 0.05
"""A difference is clear if its adjusted p value is at most this."""


def say_p(p: float) -> str:
    """Format a p value with `=` or `<`, to two significant digits or three decimals.

    Examples:
        >>> say_p(0.04321), say_p(0.00004), say_p(0.6)
        ('= 0.043', '< 0.001', '= 0.60')
    """
    if p < 0.001:
        return "< 0.001"
    return f"= {p:.2f}" if p >= 0.1 else f"= {p:.2g}"

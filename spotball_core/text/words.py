"""Form counted nouns, lists and short names as text."""

from __future__ import annotations

from collections.abc import Sequence


def plural(n: float, noun: str) -> str:
    """Format a number with a noun, in the singular or the plural.

    Examples:
        >>> plural(1, "image"), plural(7500, "response"), plural(2, "guess"), plural(3, "reply")
        ('1 image', '7,500 responses', '2 guesses', '3 replies')
    """
    if n != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("ly") else f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{n:,} {noun}" if isinstance(n, int) else f"{n:,.10g} {noun}"


def span(values: Sequence[int], noun: str) -> str:
    """Format several numbers with a noun: one number if all are equal, else their range.

    Examples:
        >>> span([50, 50], "image"), span([20, 50], "image")
        ('50 images', '20–50 images')
    """
    low, high = min(values), max(values)
    return plural(low, noun) if low == high else f"{low:,}–{plural(high, noun)}"


def within(title: str) -> str:
    """Return a title for use inside a sentence: it starts in lowercase, unless it starts with a name.

    Examples:
        >>> within("Center ratio"), within("Euclidean error"), within("1D Wasserstein distance")
        ('center ratio', 'Euclidean error', '1D Wasserstein distance')
    """
    return title if title.split()[0] in ("Euclidean", "Wasserstein", "1D") else title[0].lower() + title[1:]


def shortened(name: str, most: int) -> str:
    """Return a name with its middle omitted if it is longer than the available room.

    Examples:
        >>> shortened("gpt-4o-mini", 16), shortened("a-very-long/model-name-2025", 16)
        ('gpt-4o-mini', 'a-very-l…me-2025')
    """
    if len(name) <= most:
        return name
    start = most // 2
    return f"{name[:start]}…{name[len(name) - (most - start - 1) :]}"


def listed(items: Sequence[str]) -> str:
    """Join items for a sentence.

    Examples:
        >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
        ('a', 'a and b', 'a, b and c')
    """
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)

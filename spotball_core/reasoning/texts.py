"""Detect texts without letters and texts in other languages than English, so that reports can count them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spotball_core.typing import BoolArray, IntArray

_COMMON = ("the", "and", "of", "this", "that", "with", "from", "are", "his", "her", "their", "they", "which", "because")
"""Common English words that other languages do not have."""

_FEW_WORDS = 6
"""Texts with fewer words are not checked for English words, because short texts often contain none of them."""


def word_counts(texts: Sequence[str]) -> IntArray:
    """Return the number of words, separated by spaces, of each text, shape (n,).

    Examples:
        >>> word_counts(["two words", "", "⚽ 👀"]).tolist()
        [2, 0, 2]
    """
    import polars as pl

    return pl.Series(texts, dtype=pl.String).str.count_matches(r"\S+").to_numpy().astype(np.int64)


def without_letters(texts: Sequence[str]) -> BoolArray:
    """Return which texts have no letter of any script, such as texts of emoji only, shape (n,).

    Examples:
        >>> without_letters(["⚽ 👀!", "D5", "球"]).tolist()
        [True, False, False]
    """
    import polars as pl

    return ~pl.Series(texts, dtype=pl.String).str.contains(r"\p{L}").to_numpy()


def seem_not_english(texts: Sequence[str]) -> BoolArray:
    """Return which texts seem to be in another language, shape (n,).

    The rule is simple: less than half of the letters are Latin, or the text has at least six words, none of which is a
    common English word. It fails for notes without sentences, and classifies a text in two languages as English.

    Examples:
        >>> seem_not_english(["Der Torwart schaut nach links zum Ball", "I bet it is the one", "球在左边"]).tolist()
        [True, False, True]
    """
    import polars as pl

    column = pl.Series(texts, dtype=pl.String)
    letters = column.str.count_matches(r"\p{L}").to_numpy().astype(int)
    latin = column.str.count_matches(r"\p{Latin}").to_numpy().astype(int)
    common = column.str.contains(rf"(?i)\b(?:{'|'.join(_COMMON)})\b").to_numpy()
    foreign: BoolArray = (letters > 2 * latin) | ((letters > 0) & (word_counts(texts) >= _FEW_WORDS) & ~common)
    return foreign

"""Classify texts by keywords, a simple rule to compare the classification by embeddings with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from spotball_core.reasoning.classify import EMPTY, TIE
from spotball_core.typing import FloatArray, IntArray


def keyword_categories(texts: Sequence[str], keywords: Mapping[str, Sequence[str]]) -> IntArray:
    """Return, for each text, the number of the category with the most keywords in the text.

    It is TIE if several categories have the most keywords, and EMPTY if the text contains no keyword.

    Args:
        texts: n texts.
        keywords: regular expressions for whole words of each category; case is ignored.

    Returns:
        Shape (n,).

    Examples:
        >>> words = {"pose": ["arms?", "leg"], "gaze": ["eyes?"]}
        >>> keyword_categories(["Arm up, eye up, leg out", "an Eye on the army", "arm, eye", "no"], words).tolist()
        [0, 1, -1, -2]
    """
    import polars as pl

    column = pl.Series(texts, dtype=pl.String)
    patterns = [rf"(?i)\b(?:{'|'.join(words)})\b" for words in keywords.values()]
    matches = np.stack([column.str.count_matches(pattern).to_numpy() for pattern in patterns], axis=1).astype(int)
    most = matches.max(axis=1, keepdims=True)
    number = np.where((matches == most).sum(axis=1) > 1, TIE, matches.argmax(axis=1))
    return np.where(most[:, 0] == 0, EMPTY, number).astype(np.int64)


def agreement(first: IntArray, second: IntArray, n_categories: int, weights: FloatArray) -> tuple[float, float, float]:
    r"""Compute how often two rules agree if both name a category, and the agreement beyond chance.

    $$\kappa = \frac{p_o - p_e}{1 - p_e}, \qquad p_e = \sum_c p_c q_c$$

    where $p_o$ is the share of agreement, and $p_c$ and $q_c$ are the shares of texts that each rule assigns to
    category c (Cohen, 1960).

    Args:
        first: category of each text by the first rule, below 0 for none, shape (n,).
        second: category of each text by the second rule.
        n_categories: number of categories.
        weights: number of times each text occurs, shape (n,).

    Returns:
        The number of texts with a category by both rules, the share of these on which they agree, and kappa. The share
        and kappa are NaN if there are no such texts; kappa is also NaN if both rules assign all of them to one
        category.

    Examples:
        >>> agreement(np.array([0, 0, 1, 1]), np.array([0, 1, 1, -1]), 2, np.ones(4))
        (3.0, 0.666..., 0.399...)
    """
    named = (first >= 0) & (second >= 0)
    n = float(weights[named].sum())
    if not n:
        return 0.0, float("nan"), float("nan")
    cells = np.bincount(first[named] * n_categories + second[named], weights=weights[named], minlength=n_categories**2)
    table = cells.reshape(n_categories, n_categories) / n
    observed, expected = float(np.trace(table)), float(table.sum(axis=1) @ table.sum(axis=0))
    # Both rules assign all texts to one category: chance would give the same agreement.
    return n, observed, (observed - expected) / (1 - expected) if expected < 1 - 1e-12 else float("nan")

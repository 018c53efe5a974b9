"""Classify rationales by their closest category, and compute the margin to the second closest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spotball_core.errors import OptionError
from spotball_core.reasoning.similarity import ROUNDING, cosines, mean_over, set_numbers
from spotball_core.typing import FloatArray, IntArray

TIE: Final = -1
"""Category number of a rationale that is equally close to two or more categories."""

EMPTY: Final = -2
"""Category number of an empty text, or of a text whose embedding is zero or not finite."""


@dataclass(frozen=True)
class Classification:
    """The category of each of n rationales.

    Attributes:
        names: names of the categories.
        similarity: mean cosine with the sentences of each category, minus the offset if centered, shape (n,
            n_categories); NaN for empty texts.
        offset: value subtracted from each category's similarity, shape (n_categories,); 0 if not centered.
        category: number of the closest category, or TIE, or EMPTY, shape (n,).
        margin: difference between the closest and the second closest category, shape (n,); 0 for ties, NaN for
            empty texts.
    """

    names: tuple[str, ...]
    similarity: FloatArray
    offset: FloatArray
    category: IntArray
    margin: FloatArray

    @property
    def labels(self) -> list[str]:
        """The name of each rationale's category, or "tie", or "empty"."""
        words = np.array([*self.names, "empty", "tie"], dtype=object)
        return [str(word) for word in words[self.category]]


def classify(
    embeddings: ArrayLike,
    template_embeddings: Mapping[str, ArrayLike],
    *,
    centered: bool,
    reference: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> Classification:
    r"""Classify each rationale by the category whose sentences it is closest to (Spot the Ball, section 5.2).

    $$s_c(x) = \frac{1}{|T_c|} \sum_{t \in T_c} \frac{x \cdot t}{\lVert x \rVert \lVert t \rVert}$$

    The category with the largest $s_c$ wins. One category's sentences can be more similar to all texts than
    those of the others. Its *offset* $o_c$ is its mean similarity to reference texts. With centering,
    the category with the largest $s_c(x) - o_c$ wins,

    $$o_c = \sum_r w_r \, s_c(r) \Big/ \sum_r w_r$$

    Args:
        embeddings: embeddings of the rationales, shape (n, d). A row that is zero or not finite is an empty text.
        template_embeddings: embeddings of each category's sentences, shape (k, d) each, for at least two categories.
        centered: whether to subtract each category's offset from its similarity.
        reference: embeddings of the reference texts, shape (m, d) (default: the rationales themselves).
        weights: weights of the reference texts, shape (m,) (default: equal). If each rationale has the weight
            1 / (size of its group), all groups count equally.

    Raises:
        OptionError: for fewer than two categories, arrays whose shapes do not match, a template that is zero or not
            finite, weights that are negative or not finite, or no reference text with a category and a positive weight.

    Examples:
        >>> sets = {"pose": [[1.0, 0.0]], "gaze": [[0.6, 0.8]]}
        >>> plain = classify([[0.8, 0.6], [1.0, 0.2], [0.0, 0.0]], sets, centered=False)
        >>> plain.labels, plain.margin.round(2).tolist()
        (['gaze', 'pose', 'empty'], [0.16, 0.24, nan])
        >>> fair = classify([[0.8, 0.6]], sets, centered=True, reference=[[0.0, 1.0]])
        >>> fair.offset.tolist(), fair.labels
        ([0.0, 0.8], ['pose'])
    """
    if len(template_embeddings) < 2:
        raise OptionError(f"found {len(template_embeddings)} categories, expected at least 2", field="templates")
    parts = [np.asarray(part, dtype=float) for part in template_embeddings.values()]
    if any(part.ndim != 2 or not len(part) or part.shape[1] != parts[0].shape[1] for part in parts):
        shapes = ", ".join(str(part.shape) for part in parts)
        raise OptionError(
            f"found shapes {shapes}, expected at least one row per category and equal numbers of columns",
            code="wrong-shape",
            field="templates",
        )
    columns = np.concatenate(parts)
    means = mean_over(set_numbers([len(part) for part in parts]), len(parts))
    similarity = cosines(embeddings, columns) @ means
    offset = np.zeros(len(parts))
    if centered:
        corpus = similarity if reference is None else cosines(reference, columns) @ means
        offset = weighted_mean(corpus, weights)
        similarity = similarity - offset
    category, margin = closest(similarity)
    return Classification(tuple(template_embeddings), similarity, offset, category, margin)


def weighted_mean(values: FloatArray, weights: ArrayLike | None = None) -> FloatArray:
    """Return the weighted mean, shape (c,), of the rows of an array, shape (m, c), excluding rows with NaN.

    Raises:
        OptionError: if weights do not have the shape (m,), are negative or not finite, or if no row with a positive
            weight remains.
    """
    share = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=float)
    if share.shape != (len(values),) or not np.isfinite(share).all() or (share < 0).any():
        raise OptionError(
            f"found shape {share.shape}, expected {len(values)} finite numbers of at least 0",
            code="wrong-shape",
            field="weights",
        )
    usable = np.isfinite(values).all(axis=1) & (share > 0)
    if not usable.any():
        raise OptionError(
            "the offset cannot be computed, because no reference text has an embedding and a weight above 0",
            code="cannot-estimate",
        )
    mean: FloatArray = share[usable] @ values[usable] / share[usable].sum()
    return mean


def closest(similarity: FloatArray) -> tuple[NDArray[np.int64], FloatArray]:
    """Return the index of each row's maximum (or TIE, or EMPTY), and its margin over the second largest, shape (n,).

    Examples:
        >>> number, margin = closest(np.array([[0.25, 0.5], [0.5, 0.5], [np.nan, np.nan]]))
        >>> number.tolist(), margin.tolist()
        ([1, -1, -2], [0.25, 0.0, nan])
    """
    first_two = np.partition(similarity, -2, axis=1)[:, -2:]
    margin: FloatArray = first_two[:, 1] - first_two[:, 0]
    number = np.where(margin > ROUNDING, similarity.argmax(axis=1), TIE)
    empty = np.isnan(margin)
    margin[~empty & (number == TIE)] = 0.0
    return np.where(empty, EMPTY, number).astype(np.int64), margin


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

"""Compute cosines between embeddings and templates, and means over sets of templates.

A rationale's similarity to a set of templates is the mean of its cosines with them. The cosines are therefore computed
once; the results for other labels, or without one of the templates, follow from them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spotball_core.errors import OptionError
from spotball_core.typing import FloatArray

_BLOCK = 2_000_000
"""Maximum number of values that are converted to double precision at a time."""

ROUNDING = 1e-12
"""Mean cosines that differ by at most this are treated as equal, because rounding can cause the difference."""


def unit(vectors: ArrayLike) -> FloatArray:
    """Return vectors normalized to length 1.

    Args:
        vectors: shape (..., d).

    Returns:
        Shape (..., d); NaN for vectors of length 0 or with numbers that are not finite, which have no direction.

    Examples:
        >>> unit([[3.0, 4.0], [0.0, 0.0]]).tolist()
        [[0.6, 0.8], [nan, nan]]
    """
    array = np.asarray(vectors, dtype=float)
    # Divide by the largest number first: squares of very small or large numbers would be 0 or infinite.
    largest = np.abs(array).max(axis=-1, keepdims=True, initial=0.0)
    valid = np.isfinite(largest) & (largest > 0)
    scaled = np.divide(array, largest, out=np.full(array.shape, np.nan), where=valid)
    directions: FloatArray = scaled / np.linalg.norm(scaled, axis=-1, keepdims=True)
    return directions


def cosines(embeddings: ArrayLike, templates: ArrayLike) -> FloatArray:
    """Return the cosine between each embedding and each template.

    Args:
        embeddings: shape (n, d), of any floating type; converted to double precision in blocks.
        templates: shape (k, d).

    Returns:
        Shape (n, k), in [-1, 1]; rows of NaN for embeddings that are zero or not finite.

    Raises:
        OptionError: if the arrays are not two-dimensional with equal d, or a template is zero or not finite.

    Examples:
        >>> cosines([[2.0, 0.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 5.0]]).round(3).tolist()
        [[1.0, 0.0], [0.707, 0.707]]
    """
    rows: NDArray[np.floating] = np.asarray(embeddings)
    columns = np.asarray(templates, dtype=float)
    if rows.ndim != 2 or columns.ndim != 2 or rows.shape[1] != columns.shape[1] or not columns.size:
        raise OptionError(
            f"embeddings have shape {rows.shape} and templates {columns.shape}, expected (n, d) and (k, d)",
            code="wrong-shape",
        )
    directions = unit(columns)
    if not np.isfinite(directions).all():
        raise OptionError(
            "the embedding of a template is zero or not finite. Use another embedder", code="unusable-model"
        )
    result = np.empty((len(rows), len(columns)))
    step = max(1, _BLOCK // rows.shape[1])
    for start in range(0, len(rows), step):
        result[start : start + step] = unit(rows[start : start + step]) @ directions.T
    return result


def mean_over(sets: ArrayLike, n_sets: int) -> FloatArray:
    """Return a matrix that converts cosines to means over sets of templates.

    Args:
        sets: the number of each template's set, from 0, shape (..., k); each set has at least one template.
        n_sets: number of sets.

    Returns:
        Shape (..., k, n_sets): 1 / size where a template belongs to a set, else 0.

    Examples:
        >>> mean_over([0, 0, 1], 2).tolist()
        [[0.5, 0.0], [0.5, 0.0], [0.0, 1.0]]
    """
    member = np.asarray(sets)[..., None] == np.arange(n_sets)
    means: FloatArray = member / member.sum(axis=-2, keepdims=True)
    return means


def set_numbers(sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return the number of each template's set, for consecutive sets of these sizes.

    Examples:
        >>> set_numbers((2, 1)).tolist()
        [0, 0, 1]
    """
    return np.repeat(np.arange(len(sizes)), sizes)

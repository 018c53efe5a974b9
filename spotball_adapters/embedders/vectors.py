"""Convert a server's embeddings to an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from spotball_adapters.embedders.protocol import Vectors


class NoVectorsError(ValueError):
    """The response does not hold one vector per text."""


def vectors_of(rows: Any, n: int) -> Vectors:
    """Convert lists of numbers to an array with one vector per row.

    Returns:
        The vectors, shape (n, d).

    Raises:
        NoVectorsError: if `rows` does not consist of n lists of equal length with finite numbers.

    Examples:
        >>> vectors_of([[1, 0.5]], 1).tolist()
        [[1.0, 0.5]]
    """
    try:
        vectors = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        raise NoVectorsError("the embeddings are not lists of numbers of equal length") from None
    if vectors.ndim != 2 or len(vectors) != n or not vectors.size:
        raise NoVectorsError(f"the embeddings have shape {vectors.shape}, but the number of texts is {n}")
    if not np.isfinite(vectors).all():
        raise NoVectorsError("the embeddings contain numbers that are not finite")
    return vectors

"""Multiply long arrays in pieces that are too small for BLAS to start threads.

For products of this size, BLAS threads wait for each other longer than the product takes, up to ten times as long if
all cores are busy. Fits of several respondents run in parallel anyway.
"""

from __future__ import annotations

import numpy as np

from spotball_core.typing import FloatArray

PIECE = 200_000
"""Maximum number of multiplications in one call of BLAS; OpenBLAS starts threads for 262,144 or more."""


def dot(a: FloatArray, b: FloatArray) -> float:
    """Return the sum of products of two long vectors."""
    return float(np.einsum("i,i->", a, b))


def across(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return a'b of two tall arrays (n, p) and (n, r): shape (p, r)."""
    rows = PIECE // max(1, a.shape[1] * b.shape[1])
    if rows < 16 or len(a) <= rows:
        return np.asarray(a.T @ b)
    full = len(a) // rows * rows
    pieces = a[:full].reshape(-1, rows, a.shape[1]).transpose(0, 2, 1) @ b[:full].reshape(-1, rows, b.shape[1])
    return np.asarray(pieces.sum(axis=0) + a[full:].T @ b[full:])


def along(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return ab of a tall array (n, p) and a small one (p, r): shape (n, r)."""
    rows = PIECE // max(1, a.shape[1] * b.shape[1])
    if rows < 16 or len(a) <= rows:
        return np.asarray(a @ b)
    full = len(a) // rows * rows
    pieces = (a[:full].reshape(-1, rows, a.shape[1]) @ b).reshape(full, b.shape[1])
    return np.concatenate([pieces, a[full:] @ b])

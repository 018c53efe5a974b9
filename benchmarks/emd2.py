"""Baseline for Wasserstein distances: a loop over `ot.emd2`, as in POT's documentation."""

from __future__ import annotations

import numpy as np
import ot
from numpy.typing import NDArray

from spotball_core import Grid

_MOST_STEPS = 10_000_000
"""Iteration limit that is sufficient for the largest problems."""


def by_emd2(p: NDArray[np.float64], q: NDArray[np.float64], grid: Grid) -> NDArray[np.float64]:
    """Return the distance between each row of p and the same row of q, with one call per pair."""
    cost = grid.distances
    return np.array(
        [ot.emd2(a / a.sum(), b / b.sum(), cost, numItermax=_MOST_STEPS) for a, b in zip(p, q, strict=True)]
    )

"""What Wasserstein distances are compared with: a loop over `ot.emd2`, as its documentation has it."""

from __future__ import annotations

import numpy as np
import ot
from numpy.typing import NDArray

from spotball_core import Grid

_MOST_STEPS = 10_000_000
"""So that the largest problems are solved too."""


def by_emd2(p: NDArray[np.float64], q: NDArray[np.float64], grid: Grid) -> NDArray[np.float64]:
    """The distance of each row of p from that of q, one call a pair."""
    cost = grid.distances
    return np.array(
        [ot.emd2(a / a.sum(), b / b.sum(), cost, numItermax=_MOST_STEPS) for a, b in zip(p, q, strict=True)]
    )

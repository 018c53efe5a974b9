"""Define a cue in another package, as the how-to shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spotball_core.extend import Cue


def lowness(scenes):
    """Score cells by how low they are in the image, from 0 at the top to 1."""
    grid = scenes[0].layout
    return np.tile(grid.centers[:, 1] / grid.height, (len(scenes), 1))


LOW = Cue(
    key="toy_low",
    title="Low in the image",
    group="place",
    is_base=True,
    unit="heights",
    description="how low a cell is in the image",
    needs="nothing",
    function=lowness,
)
TAKEN = replace(LOW, key="head")
"""A cue with the key of another cue."""

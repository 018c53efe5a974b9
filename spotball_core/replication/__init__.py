"""The published figures, and what the released data gives instead: as published, and consistently.

`replicate` checks every figure of the paper that a copy of the release, whole or part, can give. One module a group of
figures: `images` (table 1, figure 3), `ground_truth` (the ball's cells), `runs` (sections 4.3 and 4.4), `task` (table
2, figure 4), `center` (table 3), `players` (figure 5), `alignment` (figures 6 and 9), `thresholds` (figure 10).
`published` holds what was published, `causes` why a figure may differ.
"""

from spotball_core.replication.check import replicate
from spotball_core.replication.published import Published, published
from spotball_core.replication.record import ReplicatedFigure, Replication

__all__ = ["Published", "ReplicatedFigure", "Replication", "published", "replicate"]

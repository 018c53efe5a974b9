"""Check the published figures against the released data, in the published way and under the standard policy.

A figure is a number that the paper or a file of the release states. `replicate` checks every figure of the paper that
can be computed from a full or partial copy of the release. There is one module per group of figures: `images` (table 1,
figure 3), `ground_truth` (the ball's cells), `runs` (sections 4.3 and 4.4), `task` (table 2, figure 4), `center` (table
3), `players` (figure 5), `alignment` (figures 6 and 9), `thresholds` (figure 10). `published` holds the published
figures, and `causes` finds the reason why a figure differs.
"""

from spotball_core.replication.check import replicate
from spotball_core.replication.published import Published, published
from spotball_core.replication.record import ReplicatedFigure, Replication

__all__ = ["Published", "ReplicatedFigure", "Replication", "published", "replicate"]

"""Count the videos and items of a generation while it runs, for all engines."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence

from spotball_gen.pipeline.ledger import FRAMES, Ledger


class GenerationTally:
    """Count the videos and, by stage, the items of a run. Several threads may update the counts.

    Args:
        videos: number of videos.
        videos_done: number of finished videos.
        seen: number of items that each stage has decided on.
        kept: number of items that each stage has kept.
        failed: number of items and frames that failed, at any stage.
    """

    def __init__(self, videos: int, videos_done: int, seen: Counter[str], kept: Counter[str], failed: int = 0) -> None:
        self.videos, self.videos_done = videos, videos_done
        self.seen, self.kept, self.failed = seen, kept, failed
        self._turn = threading.Lock()

    @classmethod
    def of(cls, ledger: Ledger, stages: Sequence[str]) -> GenerationTally:
        """Return the counts of the videos and items that a ledger currently contains, for the named stages."""
        videos = ledger.videos()
        steps = ledger.funnel([FRAMES, *stages])
        return cls(
            len(videos),
            sum(video.state != "waiting" for video in videos),
            Counter({step.stage: step.entered for step in steps}),
            Counter({step.stage: step.kept for step in steps}),
            sum(step.failed for step in steps),
        )

    def count(self, stage: str, seen: int, kept: int, failed: int) -> None:
        """Add to a stage's counts."""
        with self._turn:
            self.seen[stage] += seen
            self.kept[stage] += kept
            self.failed += failed

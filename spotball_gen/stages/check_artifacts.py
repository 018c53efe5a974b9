"""Stage `check`, kind `artifacts`: measure whether the inpainting is visible and whether a ball is detected again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from spotball_gen.items.item import Box, Item
from spotball_gen.items.stage import Context, Device, Failure, Outcome, StageSettings, balls_by, one_by_one
from spotball_gen.quality.regions import changed_outside, judge

SCORES = ("artifact", "artifact_distance", "changed_outside", "ball_again")
"""Names of the scores that this stage adds to an item."""


class ArtifactSettings(StageSettings):
    """Settings that decide which items are reviewed first.

    Attributes:
        limit: items with a higher artifact score are reviewed first. The score is the share of untouched regions that
            stand out less than the inpainted region.
        placements: number of untouched regions to compare with the inpainted region.
        detect_again: whether to run the run's detector on the inpainted image. A detector that reads boxes from a file
            is not run.
    """

    limit: float = Field(0.95, ge=0, le=1)
    placements: int = Field(200, ge=20, le=5000)
    detect_again: bool = True


class Artifacts:
    """Score each inpainted region. No item is rejected, but suspicious items are marked to be reviewed first.

    An item gets the scores `artifact` (share of untouched regions that stand out less than the inpainted region, in
    [0, 1]), `artifact_distance` (distance of the inpainted region from a typical region of the image, in robust
    standard deviations), `changed_outside` (number of pixels changed outside the mask) and, if the detector runs again,
    `ball_again` (the detector's confidence in a ball that touches the inpainted ball; 0 if it finds no such ball). The
    note `review_first` states whether to review the item first, and the note `why` lists the reasons.
    """

    Settings: ClassVar[type[StageSettings]] = ArtifactSettings
    packages: ClassVar[tuple[str, ...]] = ("numpy", "opencv-python-headless")
    name = "check"
    kind = "artifacts"
    version = "1"
    batch_size = 8

    def __init__(self, settings: ArtifactSettings, context: Context) -> None:
        self.settings, self._context = settings, context
        self._detector: Any = None
        if settings.detect_again and context.detector:
            make, detector_settings = context.detector
            if getattr(make, "sees", True):
                self._detector = make(detector_settings, context)
        self.device: Device = self._detector.device if self._detector else "cpu"

    def process(self, items: Sequence[Item]) -> Outcome:
        """Return the items with their scores and notes; see `Stage.process`."""
        outcome = one_by_one(self.name, items, self._measured)
        if not self._detector or not outcome.items:
            return replace(outcome, items=tuple(self._noted(item) for item in outcome.items))
        scores, failures = self._seen(outcome.items)
        seen_items = [item.scored(ball_again=scores[item.id]) for item in outcome.items if item.id in scores]
        return Outcome(tuple(self._noted(item) for item in seen_items), (), (*outcome.failures, *failures))

    def _measured(self, item: Item) -> Item:
        if item.painted is None:
            raise ValueError("nothing was inpainted")
        painted = item.painted.array
        if item.mask is None:
            # Without a stored mask, all changed pixels count as inpainted, and changes outside cannot be detected.
            mask = np.where((painted != item.image).any(axis=2), np.uint8(255), np.uint8(0))
        else:
            mask = item.mask.array
            item = item.scored(changed_outside=changed_outside(item.image, painted, mask))
        seed = item.seed(self._context.seed, self.name)
        judged = judge(painted, mask, item.players, seed=seed, placements=self.settings.placements)
        if judged is None:
            return item.noted(self.name, untouched=0)
        features = {name: round(value, 4) for name, value in judged.features.items()}
        item = item.scored(artifact=round(judged.percentile, 4), artifact_distance=round(judged.distance, 4))
        return item.noted(self.name, untouched=judged.untouched, features=features)

    def _seen(self, items: Sequence[Item]) -> tuple[dict[str, float], list[Failure]]:
        """Return the detector's confidence in a ball at the inpainted place, by item, and the detector's failures."""
        bare = [
            replace(item, frame=item.painted, boxes=(), ball=None, players=(), mask=None, painted=None, notes={})
            for item in items
            if item.painted is not None
        ]
        outcome = balls_by(self._detector, bare)
        balls = {item.id: item.ball for item in items}
        scores = {reject.item: 0.0 for reject in outcome.rejects}
        for item in outcome.items:
            before = balls[item.id]
            found_again = [box.score for box in item.boxes if box.label == "ball" and before and _meet(box, before)]
            scores[item.id] = max(found_again, default=0.0)
        return scores, [
            Failure(failure.item, self.name, f"detecting again: {failure.error}") for failure in outcome.failures
        ]

    def _noted(self, item: Item) -> Item:
        why = []
        if "artifact" not in item.scores:
            why.append("too few untouched regions to compare")
        elif item.scores["artifact"] > self.settings.limit:
            why.append("stands out")
        if item.scores.get("ball_again"):
            why.append("ball seen again")
        if item.scores.get("changed_outside"):
            why.append("pixels changed outside the mask")
        return item.noted(self.name, review_first=bool(why), why=why)


def _meet(first: Box, second: Box) -> bool:
    return max(first.x1, second.x1) < min(first.x2, second.x2) and max(first.y1, second.y1) < min(first.y2, second.y2)

"""Stage `filter`, kind `sharpness`: keep images with sufficient sharpness, contrast and, optionally, motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from spotball_gen.imaging.sharpness import contrast, motion, sharpness
from spotball_gen.items.item import Item
from spotball_gen.items.pictures import opencv
from spotball_gen.items.stage import Context, Device, Outcome, Reject, StageSettings, one_by_one

_DIGITS = 4


class SharpnessSettings(StageSettings):
    """Settings of `sharpness`.

    Attributes:
        min_sharpness: minimum sharpness, from 0 to 1. Below it, the image is blurred in at least one direction.
        min_contrast: minimum standard deviation of the brightness, from 0 to 127.5. Below it, the image is almost
            uniform.
        min_motion: minimum share of the image that changes within a tenth of a second, from 0 to 1. A value above 0
            rejects still images such as title cards, but two frames per item must be decoded again from the video.
    """

    min_sharpness: float = Field(0.35, ge=0, le=1)
    min_contrast: float = Field(12.0, ge=0, le=127.5)
    min_motion: float = Field(0.0, ge=0, le=1)


class Sharpness:
    """Keep images that are sharp and have contrast, and optionally only those with motion.

    Items get the scores `sharpness`, `contrast` and, if enabled, `motion`.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from spotball_core.grid import Grid
        >>> from spotball_gen.items.item import VideoSource
        >>> from spotball_gen.items.pictures import PictureFile
        >>> source = VideoSource("match", "match.avi", "soccer", "CC0", "match.avi", "")
        >>> black = PictureFile(Path("frame.png"), np.zeros((360, 640, 3), dtype=np.uint8))
        >>> stage = Sharpness(SharpnessSettings(), Context(Path(tempfile.gettempdir()), Grid.standard()))
        >>> stage.process([Item("match-000001000", source, 1.0, 0, black)]).rejects[0].reason
        'no contrast'
    """

    Settings: ClassVar[type[StageSettings]] = SharpnessSettings
    packages: ClassVar[tuple[str, ...]] = ("opencv-python-headless", "numpy")

    name = "filter"
    kind = "sharpness"
    version = "2"
    batch_size = 16
    device: Device = "cpu"

    def __init__(self, settings: SharpnessSettings, context: Context) -> None:
        opencv()
        self.settings = settings

    def process(self, items: Sequence[Item]) -> Outcome:
        """Return the items with their scores, and reject those with a score below its minimum."""
        return one_by_one(self.name, items, self._judged)

    def _judged(self, item: Item) -> Item | Reject:
        least = {
            "contrast": (self.settings.min_contrast, "no contrast"),
            "sharpness": (self.settings.min_sharpness, "blurred"),
            "motion": (self.settings.min_motion, "nothing moves"),
        }
        scored = item.scored(
            sharpness=round(sharpness(item.image), _DIGITS), contrast=round(contrast(item.image), _DIGITS)
        )
        if self.settings.min_motion:
            scored = scored.scored(motion=round(motion(item.source.path, item.time), _DIGITS))
        for score, (bound, reason) in least.items():
            if score in scored.scores and scored.scores[score] < bound:
                detail = f"{score} {scored.scores[score]:g}, expected at least {bound:g}"
                return Reject(item.id, self.name, reason, detail, scored.scores)
        return scored

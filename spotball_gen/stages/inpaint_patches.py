"""Stage `inpaint`, kind `patches`: replace the ball by a copy of a similar place in the same image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from spotball_gen.footage.neighbors import Neighbor
from spotball_gen.items.item import Item
from spotball_gen.items.stage import StageSettings
from spotball_gen.stages.inpaint_temporal import PatchSettings, Temporal


class Patches(Temporal):
    """Inpaint like `temporal` without neighboring frames. No video is needed.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from spotball_core.grid import Grid
        >>> from spotball_gen.items.item import Box, Item, VideoSource
        >>> from spotball_gen.items.pictures import PictureFile
        >>> from spotball_gen.items.stage import Context
        >>> work = Path(tempfile.mkdtemp())
        >>> pixels = np.random.default_rng(0).integers(80, 100, (360, 640, 3)).astype(np.uint8)
        >>> pixels[105:115, 205:215] = 255
        >>> source = VideoSource("match", "match.avi", "soccer", "CC0", "match.avi", "")
        >>> frame = PictureFile.write(work / "frame.png", pixels)
        >>> item = Item("match-000001000", source, 1.0, 0, frame, ball=Box(200, 100, 220, 120))
        >>> stage = Patches(PatchSettings(margin=0.5), Context(work, Grid.standard()))
        >>> (done,) = stage.process([item]).items
        >>> bool((done.painted.array < 110).all()), done.notes["inpaint"]["patches"]
        (True, 1.0)
    """

    Settings: ClassVar[type[StageSettings]] = PatchSettings
    packages: ClassVar[tuple[str, ...]] = ("opencv-python-headless", "numpy", "scipy")
    kind = "patches"

    def _frames(self, item: Item) -> Sequence[Neighbor]:
        return ()

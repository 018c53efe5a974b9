"""Stage `inpaint`, kind `telea`: inpaint the ball from its surroundings by fast marching."""

from __future__ import annotations

from spotball_gen.imaging.painting import OpenCVInpainting
from spotball_gen.items.pictures import opencv


class Telea(OpenCVInpainting):
    """Inpaint the mask with Telea's fast marching method. Pixels outside the mask do not change.

    Source:
        Telea (2004). An image inpainting technique based on the fast marching method. Journal of Graphics Tools 9(1).

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from spotball_core.grid import Grid
        >>> from spotball_gen.items.item import Box, Item, VideoSource
        >>> from spotball_gen.imaging.painting import PaintingSettings
        >>> from spotball_gen.items.pictures import PictureFile
        >>> from spotball_gen.items.stage import Context
        >>> work = Path(tempfile.mkdtemp())
        >>> pixels = np.full((360, 640, 3), 90, dtype=np.uint8)
        >>> pixels[100:120, 200:220] = 255
        >>> source = VideoSource("match", "match.avi", "soccer", "CC0", "match.avi", "")
        >>> frame = PictureFile.write(work / "frame.png", pixels)
        >>> item = Item("match-000001000", source, 1.0, 0, frame, ball=Box(200, 100, 220, 120))
        >>> stage = Telea(PaintingSettings(margin=0.5), Context(work, Grid.standard()))
        >>> (done,) = stage.process([item]).items
        >>> bool((done.painted.array < 100).all()), int(done.mask.array[110, 210])
        (True, 255)
    """

    kind = "telea"

    def _method(self) -> int:
        method: int = opencv().INPAINT_TELEA
        return method

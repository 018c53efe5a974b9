"""Stage `inpaint`, kinds `temporal` and `patches`: fill hidden pixels from near frames or the same image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from spotball_gen.footage.neighbors import Neighbor, neighbors
from spotball_gen.footage.video_file import resized
from spotball_gen.imaging.fill.hole import Filled, FillSettings, filled
from spotball_gen.imaging.masks import MaskParts, MaskSettings, composite, mask_parts, player_pixels
from spotball_gen.items.item import Box, Image, Item
from spotball_gen.items.pictures import opencv
from spotball_gen.items.stage import Context, Device, Outcome, StageSettings, one_by_one

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]


class PatchSettings(MaskSettings, FillSettings):
    """Settings of `patches`: the settings of the mask, and the settings for filling it."""


class TemporalSettings(PatchSettings):
    """Settings of `temporal`, in addition to those of `patches`.

    Attributes:
        span: seconds before and after the item's frame in which neighboring frames are read.
        frames: maximum number of neighboring frames. Frames of other shots are not used.
    """

    span: float = Field(1.0, gt=0, le=10)
    frames: int = Field(12, ge=3, le=60)


class Temporal:
    """Inpaint the ball with pixels of neighboring frames in which the ball is elsewhere.

    Each item's neighbors are read from its video, so the result depends only on the item and the video. If no neighbor
    shows the background with enough confidence, or if the video has a single frame, a similar place in the same image
    is copied. Pixels outside the mask do not change. If the image is an enlarged frame of the video, the frame is
    inpainted before it is enlarged.

    The item's notes state how its pixels were obtained: `temporal` and `patches` are shares of the mask, `confidence`
    is the mean over the pixels from neighboring frames, `neighbors` is the number of aligned frames, and `jpeg_quality`
    is the quality with which filled pixels were compressed.
    """

    Settings: ClassVar[type[StageSettings]] = TemporalSettings
    packages: ClassVar[tuple[str, ...]] = ("av", "opencv-python-headless", "numpy", "scipy")

    name = "inpaint"
    kind = "temporal"
    version = "5"
    batch_size = 8
    device: Device = "cpu"

    def __init__(self, settings: TemporalSettings, context: Context) -> None:
        opencv()
        self.settings = settings
        self.context = context

    def process(self, items: Sequence[Item]) -> Outcome:
        """Return the items with their mask and the image without the ball.

        An item fails if it has no ball, or if its video is missing although the stage reads frames from it.
        """
        return one_by_one(self.name, items, self._painted)

    def _painted(self, item: Item) -> Item:
        parts = mask_parts(item, self.settings)
        assert item.ball is not None
        frames = self._frames(item)
        exact = next((frame.image for frame in frames if frame.offset == 0), None)
        others = [frame.image for frame in frames if frame.offset != 0]
        result = _filled(item.image, item.ball, parts, player_pixels(item), others, self.settings, exact)
        mask = np.where(result.mask, np.uint8(255), np.uint8(0))
        painted = composite(item.image, result.image, mask)
        pictures = self.context.keep(item, "masks", mask), self.context.keep(item, "painted", painted)
        return replace(item, mask=pictures[0], painted=pictures[1]).noted(self.name, **result.notes())

    def _frames(self, item: Item) -> Sequence[Neighbor]:
        """Return the item's frame and the frames around it in the same shot, the nearest in time first.

        They have the size of the item's image, or the smaller size of the window of the video that this image shows.
        """
        if not Path(item.source.path).exists():
            raise ValueError(
                f"{item.source.path}: the video does not exist, but inpaint needs its frames. "
                'Restore the video, or set inpaint.kind = "patches"'
            )
        height, width = item.image.shape[:2]
        rate = self.settings.frames / (2 * self.settings.span)
        x1, y1, x2, y2 = item.notes["frames"]["window"]
        is_enlarged = x2 - x1 < width
        size = (x2 - x1, y2 - y1) if is_enlarged else (width, height)
        frames = neighbors(item, size, seconds=self.settings.span, fps=rate, exact=True)
        return sorted(frames, key=lambda frame: abs(frame.offset))


def _filled(
    image: Image,
    ball: Box,
    parts: MaskParts,
    players: Bools,
    neighbors: Sequence[Floats],
    settings: FillSettings,
    exact: Floats | None,
) -> Filled:
    """Fill the hole in the video's frame and enlarge the result, if the image is an enlarged frame of a video.
    Otherwise, fill the hole in the image.

    An enlarged frame has hardly any noise, so changes of single pixels after the enlargement would be visible.

    Args:
        image: the image, RGB, shape (height, width, 3).
        ball: the ball's box in the image.
        parts: the pixels of the image to fill.
        players: mask of the players' pixels in the image.
        neighbors: other frames of the video, of the size of the image or of the frame before the enlargement.
        settings: how to fill the hole.
        exact: the frame from which the image was made, or None if it is not available.
    """
    size = image.shape[1], image.shape[0]
    if exact is not None and exact.shape != image.shape:
        frame = exact.round().astype(np.uint8)
        if np.abs(resized(exact, size) - image).max() <= 1:
            scale = frame.shape[1] / image.shape[1]
            small = frame.shape[1], frame.shape[0]
            core, whole, bodies = (_shrunk(pixels, small) for pixels in (parts.core, parts.whole, players))
            smaller_ball = Box(*(scale * edge for edge in ball.corners))
            result = filled(frame, smaller_ball, MaskParts(core, whole), bodies, neighbors, settings, exact)
            # Pixels of the smaller frame may straddle the edge of a player, whose pixels must not change.
            mask = (resized(result.mask.astype(np.float32), size) > 0) & (parts.whole | ~players)
            return replace(result, image=resized(result.image, size), mask=mask)
        exact = resized(exact, size)
    return filled(image, ball, parts, players, [resized(frame, size) for frame in neighbors], settings, exact)


def _shrunk(mask: Bools, size: tuple[int, int]) -> Bools:
    """Return a mask of a smaller size. A pixel is in the mask if it covers any part of the original mask."""
    cv2 = opencv()
    smaller: Bools = cv2.resize(mask.astype(np.float32), size, interpolation=cv2.INTER_AREA) > 0
    return smaller


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

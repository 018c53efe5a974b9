"""Stage `inpaint`, kind `telea`: inpaint the ball from its surroundings by fast marching."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from spotball_gen.imaging.masks import MaskSettings, ball_mask, composite
from spotball_gen.items.item import Image, Item
from spotball_gen.items.pictures import opencv
from spotball_gen.items.stage import Context, Device, Outcome, StageSettings, one_by_one

_FINE = 1.0
"""Standard deviation in pixels of the blur that separates grain from the image."""
_RING = 12
"""Width in pixels of the ring around the mask from which grain is sampled."""
_STEEP = 3.0
"""Grain stronger than this multiple of the median is not sampled, because it is an edge."""


class TeleaSettings(MaskSettings):
    """Settings of `telea`, in addition to those of the mask.

    Attributes:
        radius: radius in pixels of the neighborhood that determines each inpainted pixel.
        grain: whether to add the grain of the surroundings to the inpainted pixels, which are smoother than a real
            image.
    """

    radius: float = Field(4.0, gt=0, le=100)
    grain: bool = True


class Telea:
    """Inpaint the mask with Telea's fast marching method. Pixels outside the mask do not change.

    Source:
        Telea (2004). An image inpainting technique based on the fast marching method. Journal of Graphics Tools 9(1).

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from spotball_core.grid import Grid
        >>> from spotball_gen.items.item import Box, Item, VideoSource
        >>> from spotball_gen.items.pictures import PictureFile
        >>> from spotball_gen.items.stage import Context
        >>> work = Path(tempfile.mkdtemp())
        >>> pixels = np.full((360, 640, 3), 90, dtype=np.uint8)
        >>> pixels[100:120, 200:220] = 255
        >>> source = VideoSource("match", "match.avi", "soccer", "CC0", "match.avi", "")
        >>> frame = PictureFile.write(work / "frame.png", pixels)
        >>> item = Item("match-000001000", source, 1.0, 0, frame, ball=Box(200, 100, 220, 120))
        >>> stage = Telea(TeleaSettings(margin=0.5), Context(work, Grid.standard()))
        >>> (done,) = stage.process([item]).items
        >>> bool((done.painted.array < 100).all()), int(done.mask.array[110, 210])
        (True, 255)
    """

    Settings: ClassVar[type[StageSettings]] = TeleaSettings
    packages: ClassVar[tuple[str, ...]] = ("opencv-python-headless", "numpy")

    name = "inpaint"
    kind = "telea"
    version = "2"
    batch_size = 16
    device: Device = "cpu"

    def __init__(self, settings: TeleaSettings, context: Context) -> None:
        opencv()
        self.settings = settings
        self.context = context

    def process(self, items: Sequence[Item]) -> Outcome:
        """Return the items with their mask and the image without the ball. No item is rejected; an item without a ball
        fails.
        """
        return one_by_one(self.name, items, self._painted)

    def _painted(self, item: Item) -> Item:
        mask = ball_mask(item, self.settings)
        cv2 = opencv()
        filled: Image = cv2.inpaint(item.image, mask, self.settings.radius, cv2.INPAINT_TELEA)
        if self.settings.grain:
            seed = item.seed(self.context.seed, self.name)
            filled = with_grain(filled, mask, np.random.default_rng(seed))
            item = item.noted(self.name, seed=seed)
        painted = composite(item.image, filled, mask)
        pictures = self.context.keep(item, "masks", mask), self.context.keep(item, "painted", painted)
        return replace(item, mask=pictures[0], painted=pictures[1])


def with_grain(image: Image, mask: NDArray[np.uint8], rng: np.random.Generator) -> Image:
    """Return the image with grain added inside the mask.

    The grain is sampled at random from the fine structure of the image in a ring around the mask.

    Args:
        image: RGB, shape (height, width, 3), inpainted inside the mask.
        mask: shape (height, width), 255 inside and 0 outside.
        rng: random generator for the sampling.
    """
    cv2 = opencv()
    inside = mask > 0
    around = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * _RING + 1, 2 * _RING + 1))
    # Keep a distance from the inpainted part, because the blur would mix in its smoothness.
    near = cv2.dilate(mask, np.ones((5, 5), dtype=np.uint8)) > 0
    ring = (cv2.dilate(mask, around) > 0) & ~near
    pixels = image.astype(np.float32)
    grain = (pixels - cv2.GaussianBlur(pixels, (0, 0), _FINE))[ring]
    if not len(grain):
        return image
    strength = np.abs(grain).max(axis=1)
    grain = grain[strength <= max(_STEEP * float(np.median(strength)), 1.0)]
    values = pixels[inside] + grain[rng.integers(len(grain), size=int(inside.sum()))]
    grained = image.copy()
    grained[inside] = np.clip(values.round(), 0, 255).astype(np.uint8)
    return grained

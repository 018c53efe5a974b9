"""Fill what a ball hides: from neighboring frames where they are sure of it, and from the same image elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from spotball_gen.imaging.fill.background import background
from spotball_gen.imaging.fill.blocks import jpeg_quality, recompressed, whole_blocks
from spotball_gen.imaging.fill.patches import blend_weights, fill_from_patches
from spotball_gen.imaging.masks import MaskParts
from spotball_gen.items.item import Image, Item
from spotball_gen.items.pictures import opencv
from spotball_gen.items.stage import StageSettings

_ISLAND = 7
"""Known pixels count in regions into which a disk of this diameter fits: thin ones would show as cracks."""
_FEW = 0.3
"""With a smaller share of known pixels, the whole hole is filled from patches: mixing shows more."""
_BLEND = 2
"""Pixels over which copied patches turn into pixels from neighboring frames."""

Bools = NDArray[np.bool_]


class FillSettings(StageSettings):
    """How a hole is filled.

    Attributes:
        confidence: share of neighboring frames that must agree on a pixel; others are filled from patches.
        compression: whether filled pixels are compressed as the frame was, where it shows the blocks of JPEG.
    """

    confidence: float = Field(0.5, ge=0, le=1)
    compression: bool = True


@dataclass(frozen=True)
class Filled:
    """An image without its ball.

    Attributes:
        image: RGB, shape (height, width, 3); only pixels in the mask differ from the frame.
        mask: shape (height, width).
        temporal: share of the mask that is from neighboring frames.
        confidence: mean over these pixels; None where there are none.
        neighbors: how many frames were aligned.
        quality: of the frame's JPEG compression; None where it shows none.
    """

    image: Image
    mask: Bools
    temporal: float
    confidence: float | None
    neighbors: int
    quality: int | None

    def notes(self) -> dict[str, Any]:
        """Return how the pixels were obtained, as JSON values."""
        return {
            "temporal": round(self.temporal, 4),
            "patches": round(1 - self.temporal, 4),
            "confidence": None if self.confidence is None else round(self.confidence, 4),
            "neighbors": self.neighbors,
            "jpeg_quality": self.quality,
        }


def filled(item: Item, parts: MaskParts, players: Bools, neighbors: Sequence[Image], settings: FillSettings) -> Filled:
    """Fill what an item's ball hides.

    Args:
        item: with its ball.
        parts: what hides something, and the margin into which the fill is blended.
        players: pixels that are not copied and not used to align frames, shape (height, width).
        neighbors: other frames of the video, of the same size; the nearest in time first.
        settings: when neighbors are trusted, and whether compression is matched.

    Raises:
        ValueError: if neither neighbors nor the rest of the image can fill the hole.
    """
    assert item.ball is not None
    image, core, whole = item.image, parts.core, parts.whole
    quality = jpeg_quality(image, whole) if settings.compression else None
    if quality is not None:
        # A ball's compression artifacts reach to the end of its blocks.
        core = core | (whole_blocks(core) & ~players)
        whole = whole | core
    pixels, known = image.copy(), np.zeros_like(core)
    sure, aligned = None, 0
    seen = background(image, whole, item.ball, players, neighbors) if len(neighbors) else None
    if seen is not None:
        aligned = seen.frames
        known[seen.window] = whole[seen.window] & (seen.confidence >= settings.confidence)
        known = _in_regions(known, whole)
        pixels[known] = seen.pixels[known[seen.window]].round().astype(np.uint8)
        sure = float(seen.confidence[known[seen.window]].mean()) if known.any() else None
    rest = whole & ~known
    if (rest & core).any():
        pixels = _patched(pixels, rest, core, whole, players)
    share = blend_weights(core, whole)[..., None]
    mixed = (share * pixels + (1 - share) * image).round().astype(np.uint8)
    if quality is not None:
        mixed = np.where(whole[..., None], recompressed(mixed, quality), image)
    return Filled(mixed, whole, float(known.sum() / whole.sum()), sure, aligned, quality)


def _patched(pixels: Image, rest: Bools, core: Bools, whole: Bools, players: Bools) -> Image:
    """Fill the rest of a hole from patches; where it meets known pixels, over a few of them."""
    cv2 = opencv()
    reach = np.ones((2 * _BLEND + 1, 2 * _BLEND + 1), dtype=np.uint8)
    band = (cv2.dilate(rest.astype(np.uint8), reach) > 0) & whole & ~rest
    # The margin of the rest is blended with the frame later.
    result = fill_from_patches(pixels, rest, players | (whole & ~rest & ~core), band)
    if not result.filled[rest & core].all():
        raise ValueError("no region of the image is large enough to replace the ball")
    return result.image


def _in_regions(known: Bools, whole: Bools) -> Bools:
    """The larger regions of known pixels; none if they are few."""
    cv2 = opencv()
    disk = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (_ISLAND, _ISLAND))
    # Outside the hole all is known, so its edge does not make a region thinner.
    opened = cv2.morphologyEx((known | ~whole).astype(np.uint8), cv2.MORPH_OPEN, disk) > 0
    large: Bools = opened & known
    return large if large.sum() >= _FEW * whole.sum() else np.zeros_like(known)

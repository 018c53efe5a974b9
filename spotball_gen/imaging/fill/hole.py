"""Fill the pixels that a ball hides: from neighboring frames where these agree, otherwise from the same image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from spotball_gen.imaging.fill.background import background
from spotball_gen.imaging.fill.patches import blend_weights, fill_from_patches, jpeg_quality, recompressed, whole_blocks
from spotball_gen.imaging.masks import MaskParts
from spotball_gen.items.item import Box, Image
from spotball_gen.items.pictures import opencv
from spotball_gen.items.stage import StageSettings

_ISLAND = 7
"""Minimum width in pixels of a region filled from neighboring frames. Thinner regions would look like cracks."""
_FEW = 0.3
"""Minimum share of the hole's pixels that neighboring frames can fill. Below it, the whole hole is filled from patches,
because a mixture of both would be more visible.
"""
_BLEND = 2
"""Width in pixels of the transition from copied patches to pixels from neighboring frames."""

Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]


class FillSettings(StageSettings):
    """Settings for filling a hole.

    Attributes:
        confidence: minimum share of neighboring frames that agree on a pixel, from 0 to 1. Other pixels are filled from
            patches: copies of a similar place in the same image.
        compression: whether filled pixels are compressed like the frame, if JPEG compression is detected in it.
    """

    confidence: float = Field(0.5, ge=0, le=1)
    compression: bool = True


@dataclass(frozen=True)
class Filled:
    """An image without its ball.

    Attributes:
        image: RGB, shape (height, width, 3). Only pixels in the mask differ from the frame.
        mask: the filled pixels, shape (height, width).
        temporal: share of the mask that is filled from neighboring frames.
        confidence: mean confidence of the pixels from neighboring frames, or None if there are no such pixels.
        neighbors: number of neighboring frames that could be aligned.
        quality: JPEG quality of the frame, or None if no compression was detected.
    """

    image: Image
    mask: Bools
    temporal: float
    confidence: float | None
    neighbors: int
    quality: int | None

    def notes(self) -> dict[str, Any]:
        """Return how the pixels were obtained (all attributes except the image and the mask), as JSON values."""
        return {
            "temporal": round(self.temporal, 4),
            "patches": round(1 - self.temporal, 4),
            "confidence": None if self.confidence is None else round(self.confidence, 4),
            "neighbors": self.neighbors,
            "jpeg_quality": self.quality,
        }


def filled(
    image: Image,
    ball: Box,
    parts: MaskParts,
    players: Bools,
    neighbors: Sequence[Image | Floats],
    settings: FillSettings,
    exact: Floats | None = None,
) -> Filled:
    """Fill the pixels that a ball hides in an image, and return the result.

    Values are rounded once, at the end. Each additional rounding adds noise, which is visible in images with little
    noise.

    Args:
        image: RGB, shape (height, width, 3).
        ball: the ball's box.
        parts: the hidden pixels, and the margin into which the fill is blended.
        players: mask of the players' pixels, which are neither copied nor used for alignment, shape (height, width).
        neighbors: other frames of the video, of the same size, the nearest in time first.
        settings: required confidence, and whether to match the compression.
        exact: the image before its values were rounded, or None if it is not available.

    Raises:
        ValueError: if neither neighbors nor the rest of the image can fill the hole.
    """
    core, whole = parts.core, parts.whole
    quality = jpeg_quality(image, whole) if settings.compression else None
    if quality is not None:
        # A ball's compression artifacts extend to the edges of its blocks.
        core = core | (whole_blocks(core) & ~players)
        whole = whole | core
    if exact is None or np.abs(exact - image).max() > 1:
        exact = image.astype(np.float32)
    pixels, known = exact.copy(), np.zeros_like(core)
    sure, aligned = None, 0
    seen = background(image, whole, ball, players, neighbors) if len(neighbors) else None
    if seen is not None:
        aligned = seen.frames
        known[seen.window] = whole[seen.window] & (seen.confidence >= settings.confidence)
        known = _in_regions(known, whole)
        pixels[known] = seen.pixels[known[seen.window]]
        sure = float(seen.confidence[known[seen.window]].mean()) if known.any() else None
    rest = whole & ~known
    if (rest & core).any():
        pixels = _patched(pixels, rest, core, whole, players)
    share = blend_weights(core, whole)[..., None]
    mixed = np.where(whole[..., None], share * pixels + (1 - share) * exact, image).round().astype(np.uint8)
    if quality is not None:
        mixed = np.where(whole[..., None], recompressed(mixed, quality), image)
    return Filled(mixed, whole, float(known.sum() / whole.sum()), sure, aligned, quality)


def _patched(pixels: Floats, rest: Bools, core: Bools, whole: Bools, players: Bools) -> Floats:
    """Return the image after filling the rest of a hole from patches, with a narrow transition to the pixels that are
    already filled.
    """
    cv2 = opencv()
    reach = np.ones((2 * _BLEND + 1, 2 * _BLEND + 1), dtype=np.uint8)
    band = (cv2.dilate(rest.astype(np.uint8), reach) > 0) & whole & ~rest
    # The margin is blended with the frame later.
    result = fill_from_patches(pixels, rest, players | (whole & ~rest & ~core), band)
    if not result.filled[rest & core].all():
        raise ValueError("no region of the image without players is large enough to replace the ball")
    return result.image


def _in_regions(known: Bools, whole: Bools) -> Bools:
    """Return the mask of the larger regions of pixels that neighboring frames can fill; empty if they cover too small a
    share of the hole."""
    cv2 = opencv()
    disk = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (_ISLAND, _ISLAND))
    # Pixels outside the hole are known, so the hole's edge does not make a region thinner.
    opened = cv2.morphologyEx((known | ~whole).astype(np.uint8), cv2.MORPH_OPEN, disk) > 0
    large: Bools = opened & known
    return large if large.sum() >= _FEW * whole.sum() else np.zeros_like(known)

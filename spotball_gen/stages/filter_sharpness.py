"""Stage `filter`, kind `sharpness`: keep images with sufficient sharpness, contrast and, optionally, motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from spotball_gen.footage.video_file import frames_near
from spotball_gen.items.item import Image, Item
from spotball_gen.items.pictures import opencv
from spotball_gen.items.stage import Context, Device, Outcome, Reject, StageSettings, one_by_one

_WINDOW = 11
"""Width in pixels of the blur that is applied to measure the sharpness."""

_APART = 0.1
"""Seconds between the two frames that are compared for motion."""
_SMALL = 160
"""Width in pixels of the downscaled frames. At this width, noise disappears, but players remain visible."""
_CHANGED = 12
"""A pixel of the downscaled frames has changed if its brightness (0 to 255) differs by more than this."""


def sharpness(image: Image) -> float:
    """Return the sharpness of an image from 0 to 1: how much detail a blur would remove.

    It is 1 minus the blur effect defined in the source below, in the blurrier of the horizontal and the vertical
    direction, so that the blur of a panning camera is detected. An image that is already blurred loses little by
    further blurring. A uniform image has sharpness 0.

    Args:
        image: RGB, shape (height, width, 3).

    Source:
        Crete, Dolmiere, Ladret, Nicolas (2007). The blur effect: perception and estimation with a new no-reference
        perceptual blur metric. Proc. SPIE 6492.

    Examples:
        >>> stripes = np.zeros((40, 40, 3), dtype=np.uint8)
        >>> stripes[::8], stripes[:, ::8] = 255, 255
        >>> sharpness(stripes) > 0.7, sharpness(np.zeros((40, 40, 3), dtype=np.uint8))
        (True, 0.0)
    """
    cv2 = opencv()
    gray = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.float32)
    shares = []
    for direction, window in (((1, 0), (_WINDOW, 1)), ((0, 1), (1, _WINDOW))):
        gradient = np.abs(cv2.Sobel(gray, cv2.CV_32F, *direction))
        blurred = np.abs(cv2.Sobel(cv2.blur(gray, window), cv2.CV_32F, *direction))
        total = float(gradient.sum(dtype=np.float64))
        lost = float(np.maximum(gradient - blurred, 0).sum(dtype=np.float64))
        shares.append(lost / total if total else 0.0)
    return min(shares)


def contrast(image: Image) -> float:
    """Return the standard deviation of the brightness over an image's pixels, from 0 to 127.5.

    Examples:
        >>> contrast(np.repeat(np.uint8([[0, 255]])[..., None], 3, axis=-1))
        127.5
    """
    cv2 = opencv()
    return float(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).std(dtype=np.float64))


def motion(path: str, time: float) -> float:
    """Return the share of pixels, from 0 to 1, that change within a tenth of a second because players or camera move.

    The frame is compared with an earlier one, or with a later one if it is in the first tenth of a second of the video.

    Args:
        path: the video.
        time: time of the frame in seconds since the video's first frame.

    Raises:
        ValueError: if the frames cannot be read.
    """
    first, second = frames_near(path, [time - _APART, time] if time >= _APART else [time, time + _APART])
    change = opencv().absdiff(_small(first.rgb()), _small(second.rgb()))
    return float((change > _CHANGED).mean())


def _small(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    cv2 = opencv()
    height = max(1, round(_SMALL * pixels.shape[0] / pixels.shape[1]))
    gray = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    small: NDArray[np.uint8] = cv2.resize(gray, (_SMALL, height), interpolation=cv2.INTER_AREA)
    return small


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

"""Frames of videos: the interface of frame readers, and perceptual hashes for near duplicates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from spotball_core.errors import SpotballError
from spotball_gen.items.item import Image, VideoSource
from spotball_gen.items.pictures import opencv
from spotball_gen.items.stage import StageSettings

_SIDE = 16
_FINE = 16


class VideoError(SpotballError):
    """A video cannot be read, or only in part. Other videos are not affected."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The reading position in a video: number, time stamp (ms) and shot of the last frame that was taken."""

    frame: int
    ms: int
    shot: int


@dataclass(frozen=True, slots=True)
class VideoFrame:
    """A frame that was taken, or that could not be read.

    Attributes:
        number: its index in decoding order, from 0.
        ms: its time stamp in milliseconds.
        shot: number of its shot, from 0.
        picture: function that creates the image (RGB, of the run's size), or None if it failed or if the image is
            already in its file.
        size: width and height of the decoded frame.
        window: the part of the frame that the image shows: (x1, y1, x2, y2) in pixels.
        error: why the image is missing; empty if the image exists.
        digest: its perceptual hash, or None to compute `digest` of the image.
    """

    number: int
    ms: int
    shot: int
    picture: Callable[[], Image] | None
    size: tuple[int, int] = (0, 0)
    window: tuple[int, int, int, int] = (0, 0, 0, 0)
    error: str = ""
    digest: bytes | None = None

    @property
    def image(self) -> Image | None:
        """Return the image, created anew on each access, or None."""
        return self.picture() if self.picture else None


class FrameReader(Protocol):
    """A kind of the stage `frames`. Like other stages, it is created from its settings and the run's context."""

    Settings: ClassVar[type[StageSettings]]
    packages: ClassVar[tuple[str, ...]]
    name: str
    kind: str
    version: str
    settings: Any

    def read(self, source: VideoSource, after: Mark | None = None) -> Iterator[VideoFrame]:
        """Yield the frames to take, in order. Frames after a mark are the same as in a complete reading.

        Raises:
            VideoError: if nothing can be read, or if reading fails before the end.
        """
        ...


def digest(image: Image) -> bytes:
    """Return a perceptual hash of 256 bits: whether brightness increases between neighboring fields of a 16 x 17 grid.

    The hashes of two images of the same content differ in few bits, despite different compression and size.

    Args:
        image: RGB, shape (height, width, 3).

    Returns:
        32 bytes.
    """
    cv2 = opencv()
    return gray_digest(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))


def gray_digest(gray: NDArray[np.uint8]) -> bytes:
    """Return the perceptual hash of a luma image; see `digest`.

    Args:
        gray: shape (height, width).

    Returns:
        32 bytes.
    """
    cv2 = opencv()
    # Resizing in two steps takes a fifth of the time, because averaging whole pixels is fast.
    between = cv2.resize(gray, ((_SIDE + 1) * _FINE, _SIDE * _FINE), interpolation=cv2.INTER_LINEAR)
    small = cv2.resize(between, (_SIDE + 1, _SIDE), interpolation=cv2.INTER_AREA)
    return np.packbits(small[:, 1:] > small[:, :-1]).tobytes()

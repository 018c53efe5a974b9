"""Frames of videos: what a reader of them is, and how near duplicates are told."""

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
    """A video that cannot be read, or only in part; it costs that video only."""


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a video was read: number, time stamp (ms) and shot of the last frame that was taken."""

    frame: int
    ms: int
    shot: int


@dataclass(frozen=True, slots=True)
class VideoFrame:
    """A frame that was taken, or that was to be taken and could not be.

    Attributes:
        number: its place in the order of decoding, from 0.
        ms: its time stamp in milliseconds.
        shot: number of its shot, from 0.
        picture: makes the image, RGB, of the run's size; None where it could not be had, or is in its file already.
        size: width and height of the frame as decoded.
        window: what of that is in the image: (x1, y1, x2, y2) in its pixels.
        error: why there is no image; empty where there is one.
        digest: its perceptual hash; None where `digest` of the image is to be taken.
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
        """The image, made anew each time; None where there is none."""
        return self.picture() if self.picture else None


class FrameReader(Protocol):
    """One kind of the stage `frames`. Made, as the other stages are, of its settings and the run's context."""

    Settings: ClassVar[type[StageSettings]]
    packages: ClassVar[tuple[str, ...]]
    name: str
    kind: str
    version: str
    settings: Any

    def read(self, source: VideoSource, after: Mark | None = None) -> Iterator[VideoFrame]:
        """The frames to take, in order; those after a mark are the same as without one.

        Raises:
            VideoError: if there is nothing to read, or no more where there should be.
        """
        ...


def digest(image: Image) -> bytes:
    """A perceptual hash of 256 bits: whether brightness grows from each of 16 x 17 fields to the next.

    Two pictures of the same thing differ in few bits, whatever their compression and size.

    Args:
        image: RGB, shape (height, width, 3).

    Returns:
        32 bytes.
    """
    cv2 = opencv()
    return gray_digest(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))


def gray_digest(gray: NDArray[np.uint8]) -> bytes:
    """Return the perceptual hash of a picture's brightness; see `digest`.

    Args:
        gray: shape (height, width).

    Returns:
        32 bytes.
    """
    cv2 = opencv()
    # Two steps take a fifth of the time of one: averaging fields of whole pixels is fast.
    between = cv2.resize(gray, ((_SIDE + 1) * _FINE, _SIDE * _FINE), interpolation=cv2.INTER_LINEAR)
    small = cv2.resize(between, (_SIDE + 1, _SIDE), interpolation=cv2.INTER_AREA)
    return np.packbits(small[:, 1:] > small[:, :-1]).tobytes()

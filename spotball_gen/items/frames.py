"""Define the interface of video frame readers, and compute perceptual hashes to detect near-duplicate frames."""

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
    """Raised for a video that cannot be read completely. Other videos are not affected."""

    code = "unusable-video"


@dataclass(frozen=True, slots=True)
class Mark:
    """The reading position in a video: number, time stamp (ms) and shot of the last selected frame."""

    frame: int
    ms: int
    shot: int


@dataclass(frozen=True, slots=True)
class VideoFrame:
    """A frame that a reader selected from a video, or that it could not read.

    Attributes:
        number: the frame's index in decoding order, from 0.
        ms: the frame's time stamp in milliseconds.
        shot: number of the frame's shot, from 0.
        picture: function that creates the image (RGB, of the run's size), or None if it failed or if the image is
            already in its file.
        size: width and height of the decoded frame.
        window: the part of the frame that the image shows: (x1, y1, x2, y2) in pixels.
        error: why the image is missing; empty if the image exists.
        digest: perceptual hash of the image, or None if it must be computed with the function `digest`.
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
    """The interface of implementations (kinds) of the stage `frames`, which select frames from a video.

    Like other stages, a kind is created from its settings and the run's context.
    """

    Settings: ClassVar[type[StageSettings]]
    packages: ClassVar[tuple[str, ...]]
    name: str
    kind: str
    version: str
    settings: Any

    def read(self, source: VideoSource, after: Mark | None = None) -> Iterator[VideoFrame]:
        """Yield the selected frames of a video in decoding order.

        Args:
            source: the video.
            after: the position after which reading resumes; None starts at the beginning. The remaining frames are the
                same as if the whole video were read.

        Raises:
            VideoError: if no frame can be read, or if reading fails before the end of the video.
        """
        ...


def digest(image: Image) -> bytes:
    """Return a perceptual hash of 256 bits, to compare images by their content.

    The image is reduced to 16 rows and 17 columns of gray values. Each bit states whether a value is smaller than its
    right neighbor. The hashes of two images of the same content differ in few bits, even if their compression and size
    differ.

    Args:
        image: RGB, shape (height, width, 3).

    Returns:
        32 bytes.
    """
    cv2 = opencv()
    return gray_digest(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY))


def gray_digest(gray: NDArray[np.uint8]) -> bytes:
    """Return the perceptual hash of a gray image; see `digest`.

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

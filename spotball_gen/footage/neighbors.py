"""Read the frames around an item's frame from its video: frames of the same shot, resized to the item's image."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spotball_gen.footage.video_file import fitted, frames_between
from spotball_gen.items.item import Item
from spotball_gen.items.pictures import opencv

LOOK_AHEAD = 2
"""Number of further frames that must be read before a cut is detected."""

_SHORTEST = 5
"""Minimum number of frames per shot. A change of content after fewer frames is treated as a flash, not as a cut."""


class ShotCounter:
    """Count the shots of a video from its frames, which `see` receives in display order.

    The change of content is the mean difference in hue, saturation and value from the previous frame. The detected cuts
    are the same as with PySceneDetect's `AdaptiveDetector`, which takes five times as long for small images.

    Args:
        ratio: minimum change of content at a cut, relative to the average change of the two frames before it and the
            two frames after it.
        least: minimum absolute change of content at a cut, from 0 to 255.

    Examples:
        >>> dark, bright = np.zeros((36, 64, 3), np.uint8), np.full((36, 64, 3), 200, np.uint8)
        >>> shots = ShotCounter()
        >>> for frame in [dark] * 10 + [bright] * 10:
        ...     shots.see(frame)
        >>> [shots.at(number) for number in (0, 9, 10, 17)]
        [0, 0, 1, 1]
    """

    def __init__(self, ratio: float = 3.0, least: float = 15.0) -> None:
        self._ratio, self._least = ratio, least
        self._previous: NDArray[np.uint8] | None = None
        self._changes: deque[float] = deque(maxlen=2 * LOOK_AHEAD + 1)
        self._cuts: list[int] = []
        self._seen = 0

    def see(self, frame: NDArray[np.uint8]) -> None:
        """Process the next frame: a small RGB image, with the same size each time."""
        cv2 = opencv()
        colors: NDArray[np.uint8] = cv2.cvtColor(frame, cv2.COLOR_RGB2HSV)
        before = colors if self._previous is None else self._previous
        self._changes.append(cv2.norm(colors, before, cv2.NORM_L1) / colors.size)
        self._previous = colors
        self._seen += 1
        number = self._seen - 1 - LOOK_AHEAD
        if len(self._changes) < 2 * LOOK_AHEAD + 1 or number - (self._cuts[-1] if self._cuts else 0) < _SHORTEST:
            return
        change = self._changes[LOOK_AHEAD]
        around = (sum(self._changes) - change) / (2 * LOOK_AHEAD)
        if change >= self._least and change >= self._ratio * around:
            self._cuts.append(number)

    @property
    def decided(self) -> int:
        """Return the number of frames whose shot further frames cannot change."""
        return max(self._seen - LOOK_AHEAD, 0)

    def at(self, number: int) -> int:
        """Return the number of the shot, from 0, that contains a frame."""
        return sum(cut <= number for cut in self._cuts)


def same_shot(frames: Sequence[NDArray[np.uint8]], center: int) -> range:
    """Return the indices of the frames that belong to the same shot as the center frame.

    Args:
        frames: small RGB images, in the order of the video.
        center: index of the center frame.
    """
    shots = ShotCounter()
    for frame in frames:
        shots.see(frame)
    numbers = [shots.at(number) for number in range(len(frames))]
    first = numbers.index(numbers[center])
    return range(first, first + numbers.count(numbers[center]))


_SAME = 0.01
"""Maximum distance in seconds between an item's time and the time of its frame in the video."""
_MARGIN = 0.4
"""Additional seconds to read before and after, because the frames around a cut are needed to detect it."""


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A frame near an item.

    Attributes:
        offset: seconds relative to the item's frame; negative for earlier frames.
        image: RGB, shape (height, width, 3); the same window and size as the item's image.
    """

    offset: float
    image: NDArray[Any]


def neighbors(item: Item, size: tuple[int, int], *, seconds: float, fps: float, exact: bool = False) -> list[Neighbor]:
    """Return the other frames around an item's frame that belong to its shot, sorted by time.

    Args:
        item: the item. Its notes of the stage `frames` contain the window of the frame that its image shows.
        size: width and height of its image in pixels.
        seconds: maximum distance from the item's frame, in seconds before and after it.
        fps: number of frames to return per second of the video.
        exact: whether to return pixel values that are not rounded after resizing, and also the item's own frame.

    Raises:
        ValueError: if the video cannot be read or has no frame near the item's time.
    """
    x1, y1, x2, y2 = item.notes["frames"]["window"]
    reach = np.arange(1, int(seconds * fps + 1e-6) + 1) / fps
    wanted = sorted([*-reach, *reach])
    thumbnails: list[NDArray[np.uint8]] = []
    offsets: list[float] = []
    taken: list[tuple[int, Neighbor]] = []
    around = frames_between(item.source.path, max(item.time - seconds - _MARGIN, 0.0), item.time + seconds + _MARGIN)
    for number, frame in enumerate(around):
        offset = frame.time - item.time
        thumbnails.append(frame.thumbnail())
        offsets.append(offset)
        # A frame may be up to half a period late: a dense video gives the nearest frame, a sparse one every frame.
        due = next((place for place, time in enumerate(wanted) if offset < time + 0.5 / fps), len(wanted))
        other = due < len(wanted) and offset >= wanted[due] - 0.02 and abs(offset) > _SAME
        if other:
            del wanted[: due + 1]
        if other or (exact and abs(offset) <= _SAME):
            pixels = frame.rgb().astype(np.float32) if exact else frame.rgb()
            taken.append((number, Neighbor(offset if other else 0.0, fitted(pixels, (x1, y1, x2, y2), size))))
    if not offsets or min(map(abs, offsets)) > 0.5:
        raise ValueError(f"the video {item.source.path} cannot be decoded at {item.time:.3f} seconds")
    shot = _shot(thumbnails, offsets)
    return [neighbor for number, neighbor in taken if number in shot]


def _shot(thumbnails: Sequence[NDArray[np.uint8]], offsets: Sequence[float]) -> range:
    return same_shot(thumbnails, int(np.argmin(np.abs(offsets))))

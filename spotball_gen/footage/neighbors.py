"""Read the frames around an item's frame from its video: frames of the same shot, resized to the item's image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spotball_gen.footage.fitting import fitted
from spotball_gen.footage.shots import same_shot
from spotball_gen.footage.video_file import frames_between
from spotball_gen.items.item import Item

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

"""The frames around an item in its video, as pictures of the item's size, within its shot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spotball_gen.footage.fitting import fitted
from spotball_gen.footage.shots import same_shot
from spotball_gen.footage.video_file import frames_between
from spotball_gen.items.item import Image, Item

_MARGIN = 0.4
"""Seconds that are read beyond the wanted ones, since a cut shows only against the frames around it."""


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A frame near an item.

    Attributes:
        offset: seconds after the item's frame; negative before it.
        image: RGB, of the item's size, showing the same window of the frame.
    """

    offset: float
    image: Image


def neighbors(item: Item, size: tuple[int, int], *, seconds: float, fps: float) -> list[Neighbor]:
    """Return the frames around an item's that are of its shot, in order, without its own.

    Args:
        item: its notes of the stage `frames` say which window of the decoded frame its image shows.
        size: width and height of its image.
        seconds: how far from the item's frame.
        fps: frames per second.

    Raises:
        ValueError: if the video cannot be read there.
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
        # Half of the distance between two wanted frames early: the nearest of a dense video, each of a sparse one.
        due = next((place for place, time in enumerate(wanted) if offset < time + 0.5 / fps), len(wanted))
        if due < len(wanted) and offset >= wanted[due] - 0.02 and abs(offset) > 0.01:
            del wanted[: due + 1]
            taken.append((number, Neighbor(offset, fitted(frame.bgr(), (x1, y1, x2, y2), size))))
    if not offsets or min(map(abs, offsets)) > 0.5:
        raise ValueError(f"{item.source.path} cannot be read at {item.time:.3f} seconds")
    shot = _shot(thumbnails, offsets)
    return [neighbor for number, neighbor in taken if number in shot]


def _shot(thumbnails: Sequence[NDArray[np.uint8]], offsets: Sequence[float]) -> range:
    return same_shot(thumbnails, int(np.argmin(np.abs(offsets))))

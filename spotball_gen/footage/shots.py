"""Detect shot boundaries: frames that differ from the previous frame much more than the frames around them do."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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

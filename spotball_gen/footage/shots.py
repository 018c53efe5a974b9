"""Where shots begin, by PySceneDetect: on every decoded frame, as a change of content against the frames around it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spotball_core.errors import MissingExtraError

LOOK_AHEAD = 2
"""A cut is known once this many frames after it were seen."""

_SHORTEST = 5
"""Frames: a change that follows sooner after another one is a flash, not a shot."""
_RATE = 30.0
"""PySceneDetect counts in frames here; it wants a frame rate all the same."""


class ShotCounter:
    """Counts the shots of a video as its frames are seen in order.

    Args:
        ratio: a shot begins where the content changes by this many times the average of the frames around it.
        least: ... and by at least this much, on a scale of 0 to 255.

    Raises:
        MissingExtraError: if PySceneDetect is not installed.

    Examples:
        >>> dark, bright = np.zeros((36, 64, 3), np.uint8), np.full((36, 64, 3), 200, np.uint8)
        >>> shots = ShotCounter()
        >>> for frame in [dark] * 10 + [bright] * 10:
        ...     shots.see(frame)
        >>> [shots.at(number) for number in (0, 9, 10, 17)]
        [0, 0, 1, 1]
    """

    def __init__(self, ratio: float = 3.0, least: float = 15.0) -> None:
        try:
            from scenedetect.common import FrameTimecode
            from scenedetect.detectors import AdaptiveDetector
        except ImportError as error:
            raise MissingExtraError("making items", "gen") from error
        self._time = FrameTimecode
        self._detector = AdaptiveDetector(
            adaptive_threshold=ratio, min_content_val=least, min_scene_len=_SHORTEST, window_width=LOOK_AHEAD
        )
        self._cuts: list[int] = []
        self._seen = 0

    def see(self, frame: NDArray[np.uint8]) -> None:
        """Take note of the next frame: a small picture in blue, green and red, of the same size each time."""
        cuts = self._detector.process_frame(self._time(self._seen, _RATE), frame)
        self._cuts += [cut.frame_num for cut in cuts]
        self._seen += 1

    @property
    def decided(self) -> int:
        """Frames before this number have a shot that will not change."""
        return max(self._seen - LOOK_AHEAD, 0)

    def at(self, number: int) -> int:
        """Return the shot of a frame, counted from 0."""
        return sum(cut <= number for cut in self._cuts)


def same_shot(frames: Sequence[NDArray[np.uint8]], center: int) -> range:
    """Return which frames around one are of its shot.

    Args:
        frames: small pictures in blue, green and red, in order.
        center: place of the frame that is asked about.
    """
    shots = ShotCounter()
    for frame in frames:
        shots.see(frame)
    numbers = [shots.at(number) for number in range(len(frames))]
    first = numbers.index(numbers[center])
    return range(first, first + numbers.count(numbers[center]))

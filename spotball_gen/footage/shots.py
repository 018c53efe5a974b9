"""Detect shot boundaries with PySceneDetect, by the change of content relative to neighboring frames."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spotball_core.errors import MissingExtraError

LOOK_AHEAD = 2
"""A cut is detected after this many further frames."""

_SHORTEST = 5
"""Minimum frames per shot. A second change within fewer frames is treated as a flash."""
_RATE = 30.0
"""Frame rate passed to PySceneDetect, which requires one although frames are counted here."""


class ShotCounter:
    """Count the shots of a video from its frames, in order.

    Args:
        ratio: minimum change of content at a cut, relative to the average of neighboring frames.
        least: minimum absolute change of content at a cut, from 0 to 255.

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
            raise MissingExtraError("generating items", "gen") from error
        self._time = FrameTimecode
        self._detector = AdaptiveDetector(
            adaptive_threshold=ratio, min_content_val=least, min_scene_len=_SHORTEST, window_width=LOOK_AHEAD
        )
        self._cuts: list[int] = []
        self._seen = 0

    def see(self, frame: NDArray[np.uint8]) -> None:
        """Process the next frame: a small BGR image, with the same size each time."""
        cuts = self._detector.process_frame(self._time(self._seen, _RATE), frame)
        self._cuts += [cut.frame_num for cut in cuts]
        self._seen += 1

    @property
    def decided(self) -> int:
        """Return the number of frames whose shot is final."""
        return max(self._seen - LOOK_AHEAD, 0)

    def at(self, number: int) -> int:
        """Return the shot of a frame, from 0."""
        return sum(cut <= number for cut in self._cuts)


def same_shot(frames: Sequence[NDArray[np.uint8]], center: int) -> range:
    """Return the range of frames that belong to the same shot as the center frame.

    Args:
        frames: small BGR images, in order.
        center: index of the center frame.
    """
    shots = ShotCounter()
    for frame in frames:
        shots.see(frame)
    numbers = [shots.at(number) for number in range(len(frames))]
    first = numbers.index(numbers[center])
    return range(first, first + numbers.count(numbers[center]))

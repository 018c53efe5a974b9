"""Read a person's keypoints in COCO JSON: 17 triples x, y, v, in which v is a confidence or a flag (0, 1 or 2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from spotball_core.schema.keypoints import KEYPOINT_NAMES
from spotball_core.typing import FloatArray

N_KEYPOINTS = len(KEYPOINT_NAMES)

EXPECTED_CONFIDENCE = "confidences from 0 to 1, or the flags 0, 1, 2"


def are_flags(people: Iterable[Sequence[float]]) -> bool:
    """Return whether every third number is a COCO flag: only 0, 1 and 2 occur, and 2 occurs.

    Examples:
        >>> are_flags([[10, 20, 2, 11, 21, 1]]), are_flags([[10, 20, 0.9]]), are_flags([[10, 20, 1]])
        (True, False, False)
    """
    values = {number for keypoints in people for number in keypoints[2::3]}
    return values <= {0, 1, 2} and 2 in values


def confident_keypoints(keypoints: Sequence[float], scores: Sequence[float] | None, *, flags: bool) -> FloatArray:
    """Return a person's keypoints with confidences, shape (17, 3).

    Args:
        keypoints: 51 numbers, as in the file.
        scores: 17 confidences that replace every third number, as in exports of `spotball gen`; None if there are none.
        flags: whether every third number is a flag: 0 for an unlabeled keypoint, 1 for a hidden keypoint (confidence
            0.5), 2 for a visible keypoint (confidence 1).

    Raises:
        ValueError: if a confidence is outside [0, 1]. The message contains the first such confidence.

    Examples:
        >>> confident_keypoints([10, 20, 2, 11, 21, 1] + [0] * 45, None, flags=True)[:2].tolist()
        [[10.0, 20.0, 1.0], [11.0, 21.0, 0.5]]
    """
    points = np.array(keypoints, dtype=float).reshape(N_KEYPOINTS, 3)
    if scores is not None:
        points[:, 2] = scores
    elif flags:
        points[:, 2] /= 2
    wrong = points[(points[:, 2] < 0) | (points[:, 2] > 1), 2]
    if len(wrong):
        raise ValueError(f"the confidence {wrong[0]:g}")
    return points

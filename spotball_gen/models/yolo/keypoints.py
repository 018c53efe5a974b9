"""Convert the output of a YOLOv8 pose model to people's boxes and keypoints in the image."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spotball_core.schema.keypoints import KEYPOINT_NAMES
from spotball_core.typing import FloatArray
from spotball_gen.models.yolo.letterbox import Letterbox
from spotball_gen.models.yolo.output import places_left

N_KEYPOINTS = len(KEYPOINT_NAMES)

RAW_ROWS = 5 + 3 * N_KEYPOINTS
"""Number of output rows, which describe each candidate box: center x and y, width, height, score, and x, y and
confidence of each keypoint.
"""

NMS_COLUMNS = 6 + 3 * N_KEYPOINTS
"""Number of output columns of a model with built-in non-maximum suppression: x1, y1, x2, y2, score, class, and
keypoints.
"""


@dataclass(frozen=True)
class People:
    """People in an image, highest score first.

    Attributes:
        boxes: shape (n, 4), in pixels of the image.
        scores: shape (n,), in [0, 1].
        keypoints: shape (n, 17, 3): x and y in pixels of the image, and confidence in [0, 1].
    """

    boxes: FloatArray
    scores: FloatArray
    keypoints: FloatArray


def read_people(output: NDArray[np.floating], box: Letterbox, *, confidence: float, overlap: float) -> People:
    """Return the people in a model's output for one image.

    Args:
        output: shape (56, candidate boxes), or (people, 57) from a model with built-in non-maximum suppression, in
            pixels of the input.
        box: position of the image in the input.
        confidence: minimum score (exclusive).
        overlap: if the boxes of two people have a larger intersection over union, the one with the lower score is
            dropped. Not used if the model has built-in non-maximum suppression.

    Raises:
        ValueError: if a number is not finite.
    """
    if not np.isfinite(output).all():
        raise ValueError("the model's output contains NaN or infinity. Export the model again, in 32-bit precision")
    people = _suppressed(output, confidence) if output.shape[1] == NMS_COLUMNS else _raw(output, confidence, overlap)
    corners, scores, points = people
    keypoints = points.reshape(-1, N_KEYPOINTS, 3).astype(float)
    keypoints[..., :2] = box.points_to_image(keypoints[..., :2].reshape(-1, 2)).reshape(-1, N_KEYPOINTS, 2)
    keypoints[..., 2] = keypoints[..., 2].clip(0, 1)
    return People(box.to_image(corners), scores.astype(float), keypoints)


def is_pose_output(shape: tuple[int, ...]) -> bool:
    """Return whether an output with this shape (images on the first axis) is that of a pose model.

    Examples:
        >>> is_pose_output((1, 56, 8400)), is_pose_output((1, 300, 57)), is_pose_output((1, 84, 8400))
        (True, True, False)
    """
    return len(shape) == 3 and (shape[1] == RAW_ROWS or shape[2] == NMS_COLUMNS)


def _raw(
    output: NDArray[np.floating], confidence: float, overlap: float
) -> tuple[FloatArray, NDArray[np.float32], NDArray[np.floating]]:
    # Compare in 32 bits, because a 16-bit score is rounded differently than the threshold.
    scores = output[4].astype(np.float32)
    places = np.flatnonzero((scores > np.float32(confidence)) & (output[2:4] > 0).all(axis=0))
    x, y, width, height = output[:4, places].astype(float)
    cornered = np.stack([x - width / 2, y - height / 2, width, height], axis=1)
    left = places_left(cornered, scores[places], overlap)
    corners = np.concatenate([cornered[left, :2], cornered[left, :2] + cornered[left, 2:]], axis=1)
    return corners, scores[places[left]], output[5:, places[left]].T


def _suppressed(
    output: NDArray[np.floating], confidence: float
) -> tuple[FloatArray, NDArray[np.float32], NDArray[np.floating]]:
    scores = output[:, 4].astype(np.float32)
    people = np.flatnonzero((scores > np.float32(confidence)) & (output[:, 2:4] > output[:, :2]).all(axis=1))
    people = people[np.argsort(-scores[people], kind="stable")]
    return output[people, :4].astype(float), scores[people], output[people, 6:]

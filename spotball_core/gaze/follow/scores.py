"""Compute scores of continuous gaze predictions, as defined by GazeFollow and VideoAttentionTarget."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.errors import OptionError
from spotball_core.typing import BoolArray, FloatArray

SIGMA: Final = 3
RESOLUTION: Final = 64
"""Width and height in pixels to which heat maps are scaled before they are compared, as in VideoAttentionTarget."""


def average_distance(prediction: ArrayLike, points: ArrayLike) -> float:
    """Return the distance between a prediction and the mean of the annotators' points (GazeFollow's average distance).

    Args:
        prediction: shape (2,), as shares of width and height.
        points: shape (n, 2), as shares of width and height; at least one point.

    Examples:
        >>> average_distance([0.5, 0.5], [[0.5, 0.7], [0.5, 0.9]])
        0.30000000000000004
    """
    return float(np.linalg.norm(np.asarray(prediction, dtype=float) - np.asarray(points, dtype=float).mean(axis=0)))


def minimum_distance(prediction: ArrayLike, points: ArrayLike) -> float:
    """Return the distance between a prediction and the closest of the annotators' points.

    Args:
        prediction: shape (2,), as shares of width and height.
        points: shape (n, 2), as shares of width and height; at least one point.
    """
    away = np.asarray(prediction, dtype=float) - np.asarray(points, dtype=float)
    return float(np.linalg.norm(away, axis=-1).min())


def direction(eye: ArrayLike, point: ArrayLike, size: tuple[int, int]) -> float:
    """Return the direction from the eyes to a point in the image plane, in degrees from -180 to 180.

    0 is to the right, 90 is down.

    Args:
        eye: shape (2,), as shares of width and height.
        point: shape (2,), as shares of width and height.
        size: width and height of the image in pixels.
    """
    x, y = (np.asarray(point, dtype=float) - np.asarray(eye, dtype=float)) * np.asarray(size)
    return float(np.degrees(np.arctan2(y, x)))


def angle(eye: ArrayLike, prediction: ArrayLike, points: ArrayLike, size: tuple[int, int]) -> float:
    """Return the angle at the eyes between a prediction and the mean of the annotators' points, in degrees, 0 to 180.

    Args:
        eye: shape (2,), as shares of width and height.
        prediction: shape (2,), as shares of width and height.
        points: shape (n, 2), as shares of width and height; at least one point.
        size: width and height of the image in pixels.

    Examples:
        >>> angle([0.5, 0.5], [0.5, 1.0], [[1.0, 0.5]], (640, 480))
        90.0
    """
    target = np.asarray(points, dtype=float).mean(axis=0)
    difference = direction(eye, prediction, size) - direction(eye, target, size)
    return float(abs((difference + 180) % 360 - 180))


def auc(heatmap: ArrayLike, targets: BoolArray) -> float:
    """Return the area under the ROC curve of a heat map as a classifier of target pixels.

    This is the probability that a random target pixel has a larger value than a random other pixel; ties count one
    half.

    Args:
        heatmap: shape (height, width).
        targets: the same shape, true at targets.

    Raises:
        OptionError: if the shapes differ, or all or none of the pixels are targets.

    Examples:
        >>> auc([[0.1, 0.9], [0.2, 0.2]], np.array([[False, True], [False, True]]))
        0.875
    """
    from scipy.stats import rankdata

    values = np.asarray(heatmap, dtype=float)
    if values.shape != targets.shape:
        raise OptionError(
            f"a heat map of shape {values.shape} cannot be compared with targets of shape {targets.shape}",
            code="wrong-shape",
        )
    n = int(targets.sum())
    if n in (0, targets.size):
        raise OptionError(
            "the AUC needs at least one target pixel and at least one other pixel", code="cannot-estimate"
        )
    ranks = rankdata(values.ravel())[targets.ravel()]
    return float((ranks.sum() - n * (n + 1) / 2) / (n * (targets.size - n)))


def gazefollow_auc(heatmap: ArrayLike, points: ArrayLike, size: tuple[int, int]) -> float:
    """Return GazeFollow's AUC: how well a heat map, scaled to the image's size, separates annotated pixels from others.

    Args:
        heatmap: shape (rows, columns), of any size; it is scaled to the image's size by bilinear interpolation.
        points: shape (n, 2), as shares of width and height.
        size: width and height of the image in pixels.
    """
    width, height = size
    at = np.asarray(points, dtype=float) * (width, height)
    x, y = np.minimum(at.astype(int), (width - 1, height - 1)).T
    targets = np.zeros((height, width), dtype=bool)
    targets[y, x] = True
    return auc(resized(heatmap, size), targets)


def video_attention_auc(heatmap: ArrayLike, point: ArrayLike) -> float:
    """Return VideoAttentionTarget's AUC: how well a heat map separates a square around the target from other pixels.

    The heat map is first scaled to 64 x 64 pixels by bilinear interpolation. The square extends 9 pixels to each side
    of the target: 3 standard deviations of the Gaussian with which the benchmark marks targets.

    Args:
        heatmap: shape (rows, columns), of any size.
        point: shape (2,), as shares of width and height.
    """
    x, y = (np.asarray(point, dtype=float) * RESOLUTION).astype(int)
    targets = np.zeros((RESOLUTION, RESOLUTION), dtype=bool)
    reach = 3 * SIGMA
    targets[max(0, y - reach) : y + reach + 1, max(0, x - reach) : x + reach + 1] = True
    return auc(resized(heatmap, (RESOLUTION, RESOLUTION)), targets)


def resized(heatmap: ArrayLike, size: tuple[int, int]) -> FloatArray:
    """Return a heat map scaled by bilinear interpolation between the centers of its pixels.

    Args:
        heatmap: shape (rows, columns).
        size: width and height of the result in pixels.
    """
    values = np.asarray(heatmap, dtype=float)
    for axis, wanted in ((0, size[1]), (1, size[0])):
        n = values.shape[axis]
        at = np.clip((np.arange(wanted) + 0.5) * n / wanted - 0.5, 0, n - 1)
        low = np.floor(at).astype(int)
        share = np.expand_dims(at - low, 1 - axis)
        values = np.take(values, low, axis) * (1 - share) + np.take(values, np.minimum(low + 1, n - 1), axis) * share
    return values

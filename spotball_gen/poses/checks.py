"""Check estimated poses against the players' boxes, to remove keypoints that probably belong to other people."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from spotball_core.schema.keypoints import BOX_MARGIN
from spotball_core.schema.scene import Scene
from spotball_core.typing import BoolArray, FloatArray
from spotball_gen.poses.estimator import Estimate, FailureReason

CONFIDENT = 0.3
"""Minimum confidence of a keypoint to count in the checks."""

FEWEST = 3
"""Minimum number of confident keypoints near the player's box; a player with fewer has no pose."""

SAME_BODY = 0.75
"""Two poses with a higher object keypoint similarity belong to the same body."""

SIGMAS = np.repeat([0.026, 0.025, 0.035, 0.079, 0.072, 0.062, 0.107, 0.087, 0.089], [1, 2, 2, 2, 2, 2, 2, 2, 2])
"""COCO's standard deviation of each keypoint's annotations, as a fraction of the square root of the person's area."""


def checked(estimate: Estimate, scene: Scene) -> Estimate:
    """Return an estimate without implausible keypoints and poses.

    1. A keypoint outside the image, or outside the player's box enlarged by `BOX_MARGIN`, counts as not detected: it
       belongs to another person or was guessed.
    2. A player with fewer than `FEWEST` remaining confident keypoints has no pose.
    3. If the poses of two players belong to the same body, only the player whose box fits the pose better keeps it.

    Coordinates are rounded to hundredths of a pixel, confidences to thousandths.
    """
    keypoints = _without_distant(estimate.keypoints, scene)
    failures: dict[int, FailureReason] = dict(estimate.failures)
    counts = (keypoints[..., 2] >= CONFIDENT).sum(axis=1)
    for player in np.flatnonzero(counts < FEWEST).tolist():
        failures.setdefault(player, "too few keypoints near the box")
    keypoints[list(failures)] = np.nan
    for player in _duplicates(keypoints, scene.boxes):
        failures[player] = "same body as another player"
    keypoints[list(failures)] = np.nan
    return replace(estimate, keypoints=keypoints, failures=dict(sorted(failures.items())))


def keypoint_similarity(pose: FloatArray, others: FloatArray, area: float) -> FloatArray:
    """Return COCO's similarity of each keypoint in two poses, exp(-d^2 / (2 area (2 sigma)^2)) at a distance d.

    Args:
        pose: shape (17, 3).
        others: shape (..., 17, 3).
        area: area of the person's box in square pixels.

    Returns:
        Shape (..., 17), in [0, 1].
    """
    squared = ((pose[:, :2] - others[..., :2]) ** 2).sum(axis=-1)
    closeness: FloatArray = np.exp(-squared / (2 * max(area, 1.0) * (2 * SIGMAS) ** 2))
    return closeness


def similarity(pose: FloatArray, others: FloatArray, area: float) -> FloatArray:
    """Return the object keypoint similarity of a pose with other poses: 1 for equal poses, 0 for distant poses.

    It is COCO's measure over the keypoints that are confident in both poses; NaN if there are none.

    Args:
        pose: shape (17, 3).
        others: shape (n, 17, 3).
        area: area of the person's box in square pixels.

    Returns:
        Shape (n,), in [0, 1].

    Examples:
        >>> pose = np.array([[10.0 * i, 5.0 * i, 1.0] for i in range(17)])
        >>> similarity(pose, np.stack([pose, pose + [500, 0, 0]]), area=1e4).round(3).tolist()
        [1.0, 0.0]
    """
    both = (pose[:, 2] >= CONFIDENT) & (others[..., 2] >= CONFIDENT)
    closeness = keypoint_similarity(pose, others, area)
    n_both = both.sum(axis=-1)
    mean: FloatArray = np.where(both, closeness, 0).sum(axis=-1) / np.where(n_both, n_both, np.nan)
    return mean


def box_fit(pose: FloatArray, box: FloatArray) -> float:
    """Return the intersection over union of a player's box and the box around the pose's confident keypoints."""
    points = pose[pose[:, 2] >= CONFIDENT, :2]
    low, high = points.min(axis=0), points.max(axis=0)
    shared = float(np.clip(np.minimum(high, box[2:]) - np.maximum(low, box[:2]), 0, None).prod())
    union = float((high - low).prod() + (box[2:] - box[:2]).prod()) - shared
    return shared / union if union > 0 else 0.0


def _without_distant(keypoints: FloatArray, scene: Scene) -> FloatArray:
    # Round first, because scenes validate the same distances.
    points, confidences = keypoints[..., :2].astype(float).round(2), keypoints[..., 2:].astype(float).round(3)
    boxes = scene.boxes[:, None]
    margin = BOX_MARGIN * (boxes[..., 2:] - boxes[..., :2]).max(axis=-1, keepdims=True)
    near: BoolArray = (points >= boxes[..., :2] - margin) & (points <= boxes[..., 2:] + margin)
    inside: BoolArray = (points >= 0) & (points <= [scene.width, scene.height])
    detected = (near & inside).all(axis=-1, keepdims=True) & (confidences > 0)
    unknown = np.isnan(keypoints).all(axis=(1, 2), keepdims=True)
    kept: FloatArray = np.where(detected | unknown, np.concatenate([points, confidences], axis=-1), 0.0)
    return kept


def _duplicates(keypoints: FloatArray, boxes: FloatArray) -> list[int]:
    """Return the indices of players whose pose belongs to another player, whose box fits the pose better."""
    players = np.flatnonzero(~np.isnan(keypoints).any(axis=(1, 2))).tolist()
    fits = {player: box_fit(keypoints[player], boxes[player]) for player in players}
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
    kept: list[int] = []
    dropped: list[int] = []
    for player in sorted(players, key=lambda player: -fits[player]):
        same = similarity(keypoints[player], keypoints[kept], float(areas[player])) > SAME_BODY
        (dropped if same.any() else kept).append(player)
    return dropped

"""Match detected people to the players of a scene, one to one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spotball_core.errors import MissingExtraError
from spotball_core.typing import FloatArray
from spotball_gen.poses.estimator import Estimate, FailureReason, no_pose


@dataclass(frozen=True)
class Person:
    """A person that an estimator detected.

    Attributes:
        keypoints: shape (17, 3): x and y in pixels of the image, and confidence in [0, 1].
        box: x1, y1, x2, y2 in pixels, shape (4,), or None if the estimator returns no box.
    """

    keypoints: FloatArray
    box: FloatArray | None = None


def match(people: Sequence[Person], boxes: FloatArray, *, overlap: float, inside: float) -> Estimate:
    """Match people to players by their boxes, and return the players' poses.

    The assignment maximizes the sum of similarities. The similarity is the intersection over union of the two boxes.
    For a person without a box, it is the share of detected keypoints inside the player's box, plus the intersection
    over union of this box and the box around the keypoints.

    Args:
        people: the detected people.
        boxes: boxes of the players, shape (n_players, 4).
        overlap: minimum intersection over union of two matching boxes.
        inside: minimum share of keypoints in the player's box, for people without a box.

    Raises:
        MissingExtraError: if SciPy is not installed.
    """
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError as error:
        raise MissingExtraError("matching people to players", "gen") from error

    similarities = np.array([_similarities(person, boxes, overlap, inside) for person in people]).reshape(
        -1, len(boxes)
    )
    keypoints = no_pose(len(boxes))
    matched: set[int] = set()
    for number, player in zip(*linear_sum_assignment(similarities, maximize=True), strict=True):
        if similarities[number, player] > 0:
            keypoints[player] = people[number].keypoints
            matched.add(int(player))
    failures: dict[int, FailureReason] = {
        player: "not detected" for player in range(len(boxes)) if player not in matched
    }
    return Estimate(keypoints, failures, unmatched=len(people) - len(matched))


def overlaps(box: FloatArray, boxes: FloatArray) -> FloatArray:
    """Return the intersection over union of one box with each of several boxes, shape (n,); 0 if both have no area.

    Args:
        box: x1, y1, x2, y2, shape (4,).
        boxes: shape (n, 4).

    Examples:
        >>> others = np.array([[1.0, 0.0, 3.0, 2.0], [5.0, 5.0, 6.0, 6.0]])
        >>> overlaps(np.array([0.0, 0.0, 2.0, 2.0]), others).round(3).tolist()
        [0.333, 0.0]
    """
    low, high = np.maximum(box[:2], boxes[:, :2]), np.minimum(box[2:], boxes[:, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=1)
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
    union = (box[2:] - box[:2]).prod() + areas - shared
    share: FloatArray = np.divide(shared, union, out=np.zeros(len(boxes)), where=union > 0)
    return share


def _similarities(person: Person, boxes: FloatArray, overlap: float, inside: float) -> FloatArray:
    """Return the person's similarity to each player; 0 where the overlap or share is below the required minimum."""
    if person.box is not None:
        shares = overlaps(person.box, boxes)
        return np.where(shares >= overlap, shares, 0.0)
    points = person.keypoints[person.keypoints[:, 2] > 0, :2]
    if not len(points):
        return np.zeros(len(boxes))
    within = ((points[:, None] >= boxes[:, :2]) & (points[:, None] <= boxes[:, 2:])).all(axis=-1).mean(axis=0)
    around = np.concatenate([points.min(axis=0), points.max(axis=0)])
    return np.where(within >= inside, within + overlaps(around, boxes), 0.0)

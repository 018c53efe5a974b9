"""Estimate where people look and face in the image, from COCO's 17 keypoints.

The camera is assumed to be far away compared with the size of a person (weak perspective). The vector in the image from
a point between the ears to the nose is then the projection of the head's direction: long if the person looks sideways,
short if the person looks along the camera's axis. Its length, compared with the size of the body, measures how much the
image reveals about the direction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spotball_core.schema.scene import Scene
from spotball_core.typing import FloatArray

LEAST_CONFIDENCE = 0.3
"""Keypoints with a lower confidence count as not detected."""

NOSE, EYES, EARS = 0, [1, 2], [3, 4]
LEFT_SHOULDER, RIGHT_SHOULDER, LEFT_HIP, RIGHT_HIP = 5, 6, 11, 12
_LEGS = ((11, 13, 15), (12, 14, 16))

HEAD_DEPTH = 0.25
"""Distance from the axis through the ears to the nose, in torso lengths."""

NOSE_DROP = 0.05
"""Height of the ears above the nose for a level head, in torso lengths."""

SHOULDER_WIDTH = 0.7
"""Distance between the shoulders, in torso lengths."""

ELEVATION = 0.2
"""Sine of the angle by which the camera looks down; about 12 degrees.

A horizontal direction toward the camera is projected to a downward vector of this length.
"""

_LEAST_TORSO = 0.2
"""Minimum torso length, as a share of its box's height: people who bend over look shorter than they are."""

_SIDE = 0.1
"""Scale of the horizontal evidence (lean, nose and knees), in torso lengths.

The sideways component of a direction is proportional to tanh(evidence / _SIDE).
"""


@dataclass(frozen=True, slots=True)
class Directions:
    """Directions in which the people in a scene look or face, projected to the image.

    Attributes:
        origins: the start of each direction, in pixels, shape (n_players, 2).
        vectors: unit vectors, shape (n_players, 2); (0, 0) if the direction is unknown.
        reliability: how much the image reveals about the direction, from 0 (nothing) to 1, shape (n_players,): the
            confidence of the keypoints times the length of the projected direction.
    """

    origins: FloatArray
    vectors: FloatArray
    reliability: FloatArray

    @classmethod
    def of(cls, origins: FloatArray, images: FloatArray, confidence: FloatArray) -> Directions:
        """Return directions from projected vectors of length 0 to about 1; NaN marks an unknown direction."""
        length = np.hypot(images[:, 0], images[:, 1])
        known = np.isfinite(length) & (length > 0) & np.isfinite(origins).all(axis=-1)
        vectors = np.where(known[:, None], images / np.where(known, length, 1.0)[:, None], 0.0)
        reliability = np.where(known, np.minimum(length, 1.0) * confidence, 0.0)
        return cls(np.where(known[:, None], origins, 0.0), vectors, reliability)

    @property
    def known(self) -> bool:
        """Whether any direction is known."""
        return bool((self.reliability > 0).any())


def head_directions(scene: Scene) -> Directions:
    """Return the directions of the heads, from the middle of the detected ears to the nose, corrected for its lower
    height.

    If no ear is detected, the middle of the eyes is used instead, with half the confidence: eyes are closer to the
    nose, so they reveal less about the direction. The direction is unknown without a nose, or without ears and eyes.
    """
    body = _detected(scene)
    nose, ears, eyes = body[:, NOSE], _middle(body[:, EARS]), _middle(body[:, EYES])
    has_ears = np.isfinite(ears[:, 0])
    back = np.where(has_ears[:, None], ears, eyes)
    size = torso_lengths(scene, body)
    vectors = nose[:, :2] - back[:, :2]
    # The nose is below the ears, and below the eyes by about as much again.
    vectors[:, 1] -= np.where(has_ears, NOSE_DROP, 2 * NOSE_DROP) * size
    depth = np.where(has_ears, HEAD_DEPTH, HEAD_DEPTH / 2) * size
    confidence = np.fmin(nose[:, 2], back[:, 2]) * np.where(has_ears, 1.0, 0.5)
    return Directions.of(back[:, :2], vectors / depth[:, None], confidence)


def torso_directions(scene: Scene) -> Directions:
    """Return the directions that the torsos face, from shoulders and hips.

    In COCO, left is the person's left. A person whose left shoulder is on the right in the image faces the camera, and
    wider shoulders mean a more frontal view. A person whose shoulders appear narrow faces sideways. Whether this is
    left or right follows from the side to which the knees bend, the torso leans and the nose points. The direction is
    unknown without both shoulders and a hip.
    """
    body = _detected(scene)
    shoulders, hips = _middle(body[:, [LEFT_SHOULDER, RIGHT_SHOULDER]]), _middle(body[:, [LEFT_HIP, RIGHT_HIP]])
    both = np.isfinite(body[:, [LEFT_SHOULDER, RIGHT_SHOULDER], 0]).all(axis=-1)
    size = torso_lengths(scene, body)
    across = (body[:, LEFT_SHOULDER, 0] - body[:, RIGHT_SHOULDER, 0]) / (SHOULDER_WIDTH * size)
    across = np.clip(across, -1.0, 1.0)
    lean = shoulders[:, 0] - hips[:, 0]
    nose = np.nan_to_num(body[:, NOSE, 0] - shoulders[:, 0])
    evidence = (lean + nose + _knee_bend(body)) / size
    sideways = np.tanh(evidence / _SIDE) * np.sqrt(1 - across**2)
    vectors = np.column_stack([sideways, ELEVATION * across])
    vectors[~both] = np.nan
    confidence = np.fmin(body[:, [LEFT_SHOULDER, RIGHT_SHOULDER], 2].min(axis=-1), hips[:, 2])
    middle = (shoulders + hips)[:, :2] / 2
    return Directions.of(middle, vectors, confidence)


def torso_lengths(scene: Scene, body: FloatArray) -> FloatArray:
    """Return the lengths of the torsos in pixels, shape (n_players,), which serve as the unit of length.

    This is the distance between the middles of shoulders and hips, or a share of the box's height, whichever is longer.
    """
    shoulders, hips = _middle(body[:, [LEFT_SHOULDER, RIGHT_SHOULDER]]), _middle(body[:, [LEFT_HIP, RIGHT_HIP]])
    seen = np.hypot(*(shoulders - hips)[:, :2].T)
    boxes = scene.boxes
    return np.maximum(np.fmax(seen, _LEAST_TORSO * (boxes[:, 3] - boxes[:, 1])), 1.0)


def toward(directions: Directions, points: FloatArray) -> FloatArray:
    """Return the cosine of the angle between each direction and the line from its origin to each point.

    Returns:
        Shape (n_players, n_points), in [-1, 1]; 0 for unknown directions, and at the origin itself.
    """
    offsets = points[None] - directions.origins[:, None]
    distance = np.hypot(offsets[..., 0], offsets[..., 1])
    along = np.einsum("pcd,pd->pc", offsets, directions.vectors)
    cosine: FloatArray = np.divide(along, distance, out=np.zeros_like(along), where=distance > 0)
    return np.clip(cosine, -1.0, 1.0, out=cosine)


def _detected(scene: Scene) -> FloatArray:
    """Return the keypoints, shape (n_players, 17, 3), with NaN for those that were not detected."""
    body = scene.keypoints.copy()
    body[~(body[..., 2] >= LEAST_CONFIDENCE)] = np.nan
    return body


def _middle(points: FloatArray) -> FloatArray:
    """Return the mean of each player's detected keypoints, shape (n_players, 3); NaN if none was detected."""
    known = np.isfinite(points[..., 0])
    number = known.sum(axis=-1, keepdims=True)
    total = np.where(known[..., None], points, 0.0).sum(axis=-2)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def _knee_bend(body: FloatArray) -> FloatArray:
    """Return how far the knees are to the right of the lines from hips to ankles, in pixels, summed over both legs."""
    bends = []
    for hip, knee, ankle in _LEGS:
        (x, y), (hip_x, hip_y), (foot_x, foot_y) = (body[:, joint, :2].T for joint in (knee, hip, ankle))
        length = foot_y - hip_y
        # For a nearly horizontal leg, this line does not distinguish front and back.
        usable = length > 0
        share = np.divide(y - hip_y, length, out=np.zeros_like(y), where=usable)
        bends.append(np.where(usable, x - (hip_x + share * (foot_x - hip_x)), 0.0))
    total: FloatArray = np.nan_to_num(np.stack(bends)).sum(axis=0)
    return total

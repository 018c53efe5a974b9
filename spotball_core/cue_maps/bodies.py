"""Compute body cues: directions of heads and torsos, shared views, limbs, and lines of sight that players block."""

from __future__ import annotations

import numpy as np

from spotball_core.cue_maps.directions import (
    EARS,
    EYES,
    LEAST_CONFIDENCE,
    NOSE,
    Directions,
    head_directions,
    torso_directions,
    toward,
)
from spotball_core.schema.scene import Scene
from spotball_core.typing import BoolArray, FloatArray

CONE = 5.0
"""Concentration of a view cone, which falls to half of its value at 30 degrees from the axis."""

_LIMBS = ((11, 15), (12, 16), (5, 9), (6, 10))
"""Keypoints at both ends of each limb: hip and ankle, shoulder and wrist, on the left and on the right."""

_LEAST_LIMB = 0.05
"""Limbs that appear shorter than this share of the box's height have no direction in the image."""


def head(scene: Scene) -> FloatArray | None:
    """Score cells by their agreement with the directions of the heads, shape (n_cells,).

    The score is the sum over players of the direction's reliability times the cosine of the angle between the direction
    and the line from the head to the cell. The result is None if no head's direction is known.
    """
    return _agreement(scene, head_directions(scene)) if scene.players else None


def torso(scene: Scene) -> FloatArray | None:
    """Score cells by their agreement with the directions of the torsos, like `head`, shape (n_cells,)."""
    return _agreement(scene, torso_directions(scene)) if scene.players else None


def view(scene: Scene) -> FloatArray | None:
    r"""Score cells by how many pairs of people look at them, shape (n_cells,).

    Each person has a view cone with soft edges, $c_p(j) = r_p e^{5 (\cos\theta_{pj} - 1)}$, where $r_p$ is the
    reliability of the direction and $\theta_{pj}$ the angle between the direction and the line to the cell. At 30
    degrees from the axis, the cone falls to half. The direction is that of the head, or of the torso if the head's is
    unknown. The score is the sum of $c_p(j) c_q(j)$ over all pairs of people. The result is None if fewer than two
    directions are known.
    """
    if not scene.players:
        return None
    heads, torsos = head_directions(scene), torso_directions(scene)
    use_head = heads.reliability > 0
    either = Directions(
        np.where(use_head[:, None], heads.origins, torsos.origins),
        np.where(use_head[:, None], heads.vectors, torsos.vectors),
        np.where(use_head, heads.reliability, torsos.reliability),
    )
    if (either.reliability > 0).sum() < 2:
        return None
    cones = either.reliability[:, None] * np.exp(CONE * (toward(either, scene.layout.centers) - 1))
    pairs: FloatArray = (cones.sum(axis=0) ** 2 - (cones**2).sum(axis=0)) / 2
    return pairs


def limbs(scene: Scene) -> FloatArray | None:
    r"""Score cells by whether limbs reach or swing toward them, shape (n_cells,).

    The score of a leg (hip to ankle) or arm (shoulder to wrist) is the confidence of its keypoints times
    $\max(\cos\theta, 0)\, e^{-d / l}$, where $\theta$ is the angle between the limb and the line from its end to the
    cell, d the length of that line, and l the length of the limb. Scores are summed over the limbs of all players. The
    result is None if no limb was detected.
    """
    if not scene.players:
        return None
    total, detected = np.zeros(scene.layout.n_cells), False
    for body, box in zip(scene.keypoints, scene.boxes, strict=True):
        for first, last in _LIMBS:
            confidence = float(np.nan_to_num(min(body[first, 2], body[last, 2])))
            limb = body[last, :2] - body[first, :2]
            length = float(np.hypot(*limb))
            if confidence < LEAST_CONFIDENCE or not length > _LEAST_LIMB * (box[3] - box[1]):
                continue
            detected = True
            offsets = scene.layout.centers - body[last, :2]
            distance = np.hypot(*offsets.T)
            cosine = np.divide(offsets @ limb, distance * length, out=np.ones_like(distance), where=distance > 0)
            total += confidence * np.maximum(cosine, 0.0) * np.exp(-distance / length)
    return total if detected else None


def blocked(scene: Scene) -> FloatArray | None:
    """Return the negative share of people whose view of each cell is hidden by other players, shape (n_cells,).

    A person's line of sight runs from the eyes to the center of the cell. It is hidden if it crosses the inside of
    another player's box that does not contain the eyes themselves. Boxes have no depth, so players behind the line of
    sight also count as hiding it. The position of the eyes is the mean of the detected nose, eyes and ears, or else the
    horizontal middle of the box, a tenth of its height below its top. The result is None for fewer than two players.
    """
    if len(scene.players or ()) < 2:
        return None
    boxes, eyes = scene.boxes, _eyes(scene)
    hidden = _crosses(eyes, scene.layout.centers, boxes)
    above, below = eyes[:, None] > boxes[None, :, :2], eyes[:, None] < boxes[None, :, 2:]
    outside = ~np.logical_and(above, below).all(axis=-1) & ~np.eye(len(boxes), dtype=bool)
    hides = (hidden & outside[:, None]).any(axis=-1)
    share: FloatArray = hides.mean(axis=0)
    return -share


def _agreement(scene: Scene, directions: Directions) -> FloatArray | None:
    if not directions.known:
        return None
    cosine = toward(directions, scene.layout.centers)
    agreement: FloatArray = directions.reliability @ cosine
    return agreement


def _eyes(scene: Scene) -> FloatArray:
    """Return the position of each person's eyes, in pixels, shape (n_players, 2)."""
    x1, y1, x2, y2 = scene.boxes.T
    points = np.column_stack([(x1 + x2) / 2, y1 + 0.1 * (y2 - y1)])
    for place, body in enumerate(scene.keypoints):
        face = body[[NOSE, *EYES, *EARS]]
        detected = face[face[:, 2] >= LEAST_CONFIDENCE]
        if len(detected):
            points[place] = detected[:, :2].mean(axis=0)
    return points


def _crosses(starts: FloatArray, ends: FloatArray, boxes: FloatArray) -> BoolArray:
    """Return whether the line from each start to each end crosses the inside of each box.

    Args:
        starts: shape (n_starts, 2).
        ends: shape (n_ends, 2).
        boxes: shape (n_boxes, 4).

    Returns:
        Shape (n_starts, n_ends, n_boxes).
    """
    start = starts[:, None, None]
    step = ends[None, :, None] - start
    # If a line is parallel to an axis, it is between the box's edges everywhere or nowhere.
    with np.errstate(divide="ignore", invalid="ignore"):
        first, second = (boxes[:, :2] - start) / step, (boxes[:, 2:] - start) / step
    between = (start > boxes[:, :2]) & (start < boxes[:, 2:])
    low = np.where(step == 0, np.where(between, -np.inf, np.inf), np.minimum(first, second)).max(axis=-1)
    high = np.where(step == 0, np.where(between, np.inf, -np.inf), np.maximum(first, second)).min(axis=-1)
    crosses: BoolArray = np.maximum(low, 0.0) < np.minimum(high, 1.0)
    return crosses

"""A player's keypoints: the 17 body points of COCO, each as `[x, y, confidence]` in pixels of the image.

A keypoint that was not detected has confidence 0. Its x and y have no meaning, and `[0, 0, 0]` is usual.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import BeforeValidator, WithJsonSchema

from spotball_core.schema.outline import is_number

KEYPOINT_NAMES: Final = (
    "nose",
    "left_eye",
    "right_eye",
    "left_ear",
    "right_ear",
    "left_shoulder",
    "right_shoulder",
    "left_elbow",
    "right_elbow",
    "left_wrist",
    "right_wrist",
    "left_hip",
    "right_hip",
    "left_knee",
    "right_knee",
    "left_ankle",
    "right_ankle",
)
"""Names of the keypoints in COCO's order. Left and right are the person's, not the image's."""

SKELETON: Final = (
    *((15, 13), (13, 11), (16, 14), (14, 12), (11, 12), (5, 11), (6, 12), (5, 6), (5, 7), (6, 8), (7, 9), (8, 10)),
    *((1, 2), (0, 1), (0, 2), (1, 3), (2, 4), (3, 5), (4, 6)),
)
"""Pairs of keypoints that are connected by a line in a drawn skeleton: COCO's limbs, as 0-based indices."""

BOX_MARGIN: Final = 0.25
"""Maximum distance of a player's nearest keypoint from the player's box, as a share of the box's longer side."""

Keypoint = tuple[float, float, float]
"""x and y in pixels, and the confidence in [0, 1]."""


def keypoints_of(value: Any) -> tuple[Keypoint, ...]:
    """Check and return the keypoints of one player.

    Raises:
        ValueError: if there are not 17 points, a point is not three finite numbers, a confidence is outside [0, 1], or
            all confidences are 0 (use null for a player without a pose).

    Examples:
        >>> keypoints_of([[10, 20, 0.9]] + [[0, 0, 0]] * 16)[0]
        (10.0, 20.0, 0.9)
        >>> keypoints_of([[10, 20, 2]] * 17)
        Traceback (most recent call last):
        ...
        ValueError: the confidence of nose is 2.0, expected a number from 0 to 1
    """
    if not isinstance(value, (list, tuple)) or not all(isinstance(point, (list, tuple)) for point in value):
        raise ValueError("expected 17 triples [[x, y, confidence], ...], or null if the pose is not known")
    if len(value) != len(KEYPOINT_NAMES):
        raise ValueError(f"expected the {len(KEYPOINT_NAMES)} keypoints of COCO, but there are {len(value)}")
    points = tuple(_point(name, point) for name, point in zip(KEYPOINT_NAMES, value, strict=True))
    if not any(confidence for _, _, confidence in points):
        raise ValueError("no keypoint has a confidence above 0; write null if the pose is not known")
    return points


def near_box(points: tuple[Keypoint, ...], box: tuple[float, float, float, float]) -> bool:
    """Return whether at least one detected keypoint lies in a box enlarged by `BOX_MARGIN` on each side.

    Args:
        points: the keypoints of one player.
        box: x1, y1, x2, y2.

    Examples:
        >>> nose = keypoints_of([[10, 20, 0.9]] + [[0, 0, 0]] * 16)
        >>> near_box(nose, (5, 25, 15, 65)), near_box(nose, (5, 35, 15, 75))
        (True, False)
    """
    x1, y1, x2, y2 = box
    margin = BOX_MARGIN * max(x2 - x1, y2 - y1)
    return any(
        confidence > 0 and x1 - margin <= x <= x2 + margin and y1 - margin <= y <= y2 + margin
        for x, y, confidence in points
    )


def _point(name: str, value: Any) -> Keypoint:
    if len(value) != 3 or not all(is_number(part) for part in value):
        raise ValueError(f"a keypoint is three finite numbers [x, y, confidence], found {value!r:.60} for {name}")
    x, y, confidence = map(float, value)
    if not 0 <= confidence <= 1:
        raise ValueError(f"the confidence of {name} is {confidence}, expected a number from 0 to 1")
    return x, y, confidence


Keypoints = Annotated[
    tuple[Keypoint, ...],
    BeforeValidator(keypoints_of),
    WithJsonSchema(
        {
            "description": (
                "The 17 keypoints of COCO, as [x, y, confidence] in pixels. The confidence is 0 if a keypoint "
                "was not detected."
            ),
            "type": "array",
            "items": {
                "type": "array",
                "prefixItems": [{"type": "number"}, {"type": "number"}, {"type": "number", "minimum": 0, "maximum": 1}],
                "items": False,
                "minItems": 3,
            },
            "minItems": 17,
            "maxItems": 17,
        }
    ),
]
"""One player's keypoints, in the order of `KEYPOINT_NAMES`."""

"""Draw players' boxes and skeletons on an image, for visual checks of poses."""

from __future__ import annotations

import numpy as np

from spotball_core.schema.keypoints import SKELETON
from spotball_core.schema.scene import Scene
from spotball_gen.items.item import Image
from spotball_gen.items.pictures import opencv
from spotball_gen.poses.checks import CONFIDENT

_LEFT, _RIGHT, _MIDDLE = (255, 90, 80), (70, 220, 90), (80, 190, 255)
_WITH_POSE, _WITHOUT_POSE = (255, 255, 255), (255, 0, 200)
_NOSE = (255, 240, 0)

_MOST = 4096
"""Maximum length in pixels of a drawing's longer side, unless the image is larger."""


def draw_poses(image: Image, scene: Scene) -> Image:
    """Return a copy of an image with the players' boxes and skeletons, twice as large if it then fits 4096 pixels.

    Limbs of the player's left side are red, those of the right side green, others blue; the nose is a yellow dot. Boxes
    are white, or magenta if the player has no pose. Keypoints with a confidence below 0.3 are not drawn.

    Args:
        image: RGB, of the scene's size.
        scene: the boxes and keypoints.

    Raises:
        MissingExtraError: if OpenCV is not installed.
    """
    cv2 = opencv()
    scale = max(1, min(2, _MOST // max(scene.width, scene.height)))
    drawn: Image = cv2.resize(image, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC)
    for box, pose in zip(scene.boxes * scale, scene.keypoints * [scale, scale, 1], strict=True):
        known = not np.isnan(pose).any()
        x1, y1, x2, y2 = (round(edge) for edge in box.tolist())
        cv2.rectangle(drawn, (x1, y1), (x2, y2), _WITH_POSE if known else _WITHOUT_POSE, 1)
        if not known:
            continue
        places = [(round(x), round(y)) for x, y in pose[:, :2].tolist()]
        for start, end in SKELETON:
            if min(pose[start, 2], pose[end, 2]) >= CONFIDENT:
                cv2.line(drawn, places[start], places[end], _color(start, end), 2, cv2.LINE_AA)
        if pose[0, 2] >= CONFIDENT:
            cv2.circle(drawn, places[0], 3, _NOSE, -1, cv2.LINE_AA)
    return drawn


def _color(start: int, end: int) -> tuple[int, int, int]:
    """Return the color of a limb. The nose has index 0, and left keypoints have odd indices."""
    sides = {place % 2 for place in (start, end) if place}
    return _MIDDLE if len(sides) > 1 else _LEFT if sides == {1} else _RIGHT

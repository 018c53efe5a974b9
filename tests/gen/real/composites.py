"""Build real soccer frames with a real ball pasted where the original one was inpainted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from spotball_core import import_release
from spotball_gen.items.pictures import decoded

DONOR = "302"
"""The attention check of the release from which the ball is copied."""


@dataclass(frozen=True)
class Composite:
    """A real frame with a pasted ball.

    Attributes:
        name: the id of the image.
        image: the RGB image with the ball.
        without: the image without the ball.
        ball: the box of the ball (x1, y1, x2, y2).
    """

    name: str
    image: NDArray[np.uint8]
    without: NDArray[np.uint8]
    ball: tuple[float, float, float, float]


def composites(release: Path) -> Iterator[Composite]:
    """Yield the soccer images except attention checks, with the ball of image 302 at the original place and size."""
    scenes = [scene for scene in import_release(release).scenes if scene.sport == "soccer"]
    folder = release / "data/images/soccer"
    (donor,) = (scene for scene in scenes if scene.image == DONOR)
    x1, y1, x2, y2 = (round(edge) for edge in donor.ball_box)
    ball = decoded(folder / f"{DONOR}.jpg")[y1:y2, x1:x2]
    for scene in scenes:
        if scene.control or scene.ball_box is None:
            continue
        without = decoded(folder / f"{scene.image}.jpg")
        left, top, right, bottom = scene.ball_box
        side = max(round(((right - left) * (bottom - top)) ** 0.5), 6)
        x, y = round((left + right - side) / 2), round((top + bottom - side) / 2)
        x, y = min(max(x, 0), 640 - side), min(max(y, 0), 360 - side)
        small = cv2.resize(ball, (side, side), interpolation=cv2.INTER_AREA if side < len(ball) else cv2.INTER_CUBIC)
        image = without.copy()
        part = image[y : y + side, x : x + side]
        part[:] = np.round(small * _disk(side) + part * (1 - _disk(side)))
        yield Composite(scene.image, image, without, (x, y, x + side, y + side))


def _disk(side: int) -> NDArray[np.float64]:
    """Return the weights of a ball's pixels: 1 inside, decreasing to 0 over its edge."""
    middle = (side - 1) / 2
    rows, cols = np.ogrid[:side, :side]
    far = np.hypot(rows - middle, cols - middle)
    return np.clip(side / 2 - far, 0, 1)[..., None]

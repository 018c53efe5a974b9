"""Create textured pictures with inpainted regions."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]


def textured(seed: int, height: int = 180, width: int = 320, noise: float = 6.0) -> Pixels:
    """Return an image of slowly varying gray with uniform sensor noise."""
    rng = np.random.default_rng(seed)
    slow = cv2.GaussianBlur(rng.normal(0, 1, (height, width, 3)).astype(np.float32), (0, 0), 12)
    slow = 110 + 20 * slow / slow.std()
    fast = cv2.GaussianBlur(rng.normal(0, 1, (height, width, 3)).astype(np.float32), (0, 0), 0.7)
    return np.clip(slow + noise * fast / fast.std(), 0, 255).astype(np.uint8)


def disk(x: float, y: float, radius: float, height: int = 180, width: int = 320) -> Pixels:
    rows, cols = np.mgrid[:height, :width]
    return np.where((cols - x) ** 2 + (rows - y) ** 2 <= radius**2, np.uint8(255), np.uint8(0))


def filled(image: Pixels, mask: Pixels) -> Pixels:
    """Return the image inpainted by Telea's method, and unchanged outside the mask."""
    painted = cv2.inpaint(np.ascontiguousarray(image), mask, 5, cv2.INPAINT_TELEA)
    return np.where(mask[..., None] > 0, painted, image)

"""Crop a window of a decoded frame, and resize it to the run's image size."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from spotball_gen.items.pictures import opencv

Level = TypeVar("Level", np.uint8, np.float32)

_SHRUNK = 0.7
"""If the image is scaled by less than this factor, pixels are averaged, because interpolation would skip pixels."""


def fitted(pixels: NDArray[Level], window: tuple[int, int, int, int], size: tuple[int, int]) -> NDArray[Level]:
    """Return a window of a decoded frame as an image of the given size.

    Args:
        pixels: RGB, shape (height, width, 3). With floating-point values, the result is not rounded.
        window: (x1, y1, x2, y2) in pixels of the frame. Parts beyond the frame become black.
        size: width and height of the result in pixels.
    """
    rows, cols = pixels.shape[:2]
    x1, y1, x2, y2 = window
    if x1 < 0 or y1 < 0 or x2 > cols or y2 > rows:
        edges = max(-y1, 0), max(y2 - rows, 0), max(-x1, 0), max(x2 - cols, 0)
        cv2 = opencv()
        pixels = cv2.copyMakeBorder(pixels, *edges, cv2.BORDER_CONSTANT)
        x1, x2, y1, y2 = x1 + edges[2], x2 + edges[2], y1 + edges[0], y2 + edges[0]
    return np.ascontiguousarray(resized(pixels[y1:y2, x1:x2], size))


def resized(pixels: NDArray[Level], size: tuple[int, int]) -> NDArray[Level]:
    """Return an image resized to a width and height in pixels. An image of this size is returned unchanged."""
    if pixels.shape[1::-1] == size:
        return pixels
    cv2 = opencv()
    # For scales near 1, area averaging is slower and not better than interpolation.
    smooth = cv2.INTER_AREA if size[0] < _SHRUNK * pixels.shape[1] else cv2.INTER_LINEAR
    result: NDArray[Level] = cv2.resize(pixels, size, interpolation=smooth)
    return result

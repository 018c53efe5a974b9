"""Fit an image into a detector's input: as large as possible without changing its aspect ratio, with gray padding."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from spotball_gen.items.item import Image
from spotball_gen.items.pictures import opencv

GRAY = 114
"""Gray level of the padding, as in the models' training."""


@dataclass(frozen=True, slots=True)
class Letterbox:
    """The position of an image in a detector's input, in pixels.

    Attributes:
        image: (height, width) of the image.
        canvas: (height, width) of the input.
        inner: (height, width) of the image within the input.
        corner: (top, left) of the image within the input.

    Examples:
        >>> box = Letterbox.of((360, 640), (640, 640))
        >>> box.inner, box.corner
        ((360, 640), (140, 0))
        >>> box.to_image(np.array([[10, 150, 30, 180]]))
        array([[10., 10., 30., 40.]])
    """

    image: tuple[int, int]
    canvas: tuple[int, int]
    inner: tuple[int, int]
    corner: tuple[int, int]

    @classmethod
    def of(cls, image: tuple[int, int], canvas: tuple[int, int]) -> Letterbox:
        """Return the position of a centered image in a canvas, each given as (height, width)."""
        scale = min(canvas[0] / image[0], canvas[1] / image[1])
        inner = max(round(image[0] * scale), 1), max(round(image[1] * scale), 1)
        # If the padding is odd, the larger part is at the bottom and on the right.
        corner = (canvas[0] - inner[0]) // 2, (canvas[1] - inner[1]) // 2
        return cls(image, canvas, inner, corner)

    def fill(self, pixels: Image) -> NDArray[np.float32]:
        """Return the detector's input for an image.

        Args:
            pixels: RGB, shape (height, width, 3).

        Returns:
            The image with its padding, shape (3, height, width) with the canvas's height and width, in [0, 1].
        """
        cv2 = opencv()
        height, width = self.inner
        if self.inner != self.image:
            pixels = cv2.resize(pixels, (width, height), interpolation=cv2.INTER_LINEAR)
        top, left = self.corner
        canvas = np.full((*self.canvas, 3), GRAY, dtype=np.uint8)
        canvas[top : top + height, left : left + width] = pixels
        return np.ascontiguousarray(canvas.transpose(2, 0, 1), dtype=np.float32) / np.float32(255)

    def points_to_image(self, points: NDArray[np.floating]) -> NDArray[np.float64]:
        """Convert points (x, y) of the input to points of the image, shape (n, 2). They may be outside the image."""
        top, left = self.corner
        by_y, by_x = self.image[0] / self.inner[0], self.image[1] / self.inner[1]
        moved: NDArray[np.float64] = (points.astype(np.float64) - [left, top]) * [by_x, by_y]
        return moved

    def to_image(self, corners: NDArray[np.floating]) -> NDArray[np.float64]:
        """Convert boxes of the input to boxes of the image, clipped at its edges.

        Args:
            corners: x1, y1, x2, y2 in the input, shape (n, 4).

        Returns:
            The boxes in pixels of the image, shape (n, 4). Each axis is converted with its own scale, because rounding
                makes the two scales slightly different.
        """
        height, width = self.image
        return self.points_to_image(corners.reshape(-1, 2)).reshape(-1, 4).clip(0, [width, height, width, height])


def smallest_canvas(image: tuple[int, int], size: tuple[int, int], stride: int) -> tuple[int, int]:
    """Return the size of the smallest input that holds an image, for detectors that accept any size.

    Args:
        image: (height, width) of the image.
        size: (height, width) that the image is fitted into.
        stride: the input's sides must be multiples of this number.

    Returns:
        (height, width).

    Examples:
        >>> smallest_canvas((360, 640), (640, 640), 32)
        (384, 640)
    """
    # Use the unrounded size of the image. Otherwise it might be scaled down again.
    scale = min(Fraction(size[0], image[0]), Fraction(size[1], image[1]))
    return math.ceil(image[0] * scale / stride) * stride, math.ceil(image[1] * scale / stride) * stride

"""An image fitted into a detector's input: as large as it goes, its aspect kept, the rest gray."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from spotball_gen.items.item import Image
from spotball_gen.items.pictures import opencv

GRAY = 114
"""What is around the image in the input, as in the models' training."""


@dataclass(frozen=True, slots=True)
class Letterbox:
    """Where an image lies within a detector's input, in pixels.

    Attributes:
        image: (height, width) of the image.
        canvas: (height, width) of the input.
        inner: (height, width) that the image has within the input.
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
        """The image's place in the middle of a canvas, each given as (height, width)."""
        scale = min(canvas[0] / image[0], canvas[1] / image[1])
        inner = max(round(image[0] * scale), 1), max(round(image[1] * scale), 1)
        # Of an odd pixel, the larger part is below and on the right.
        corner = (canvas[0] - inner[0]) // 2, (canvas[1] - inner[1]) // 2
        return cls(image, canvas, inner, corner)

    def fill(self, pixels: Image) -> NDArray[np.float32]:
        """The detector's input for an image.

        Args:
            pixels: RGB, shape (height, width, 3).

        Returns:
            Shape (3, height, width) of the canvas, in [0, 1].
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
        """Points (x, y) of the input as points of the image, shape (n, 2); they may be beyond the image's edges."""
        top, left = self.corner
        by_y, by_x = self.image[0] / self.inner[0], self.image[1] / self.inner[1]
        moved: NDArray[np.float64] = (points.astype(np.float64) - [left, top]) * [by_x, by_y]
        return moved

    def to_image(self, corners: NDArray[np.floating]) -> NDArray[np.float64]:
        """Boxes of the input as boxes of the image; what is beyond the image's edges is cut off.

        Args:
            corners: x1, y1, x2, y2 on the canvas, shape (n, 4).

        Returns:
            The same in the image's pixels, shape (n, 4). Rounding made the two axes' scales differ a little: each is
            undone by its own.
        """
        height, width = self.image
        return self.points_to_image(corners.reshape(-1, 2)).reshape(-1, 4).clip(0, [width, height, width, height])


def smallest_canvas(image: tuple[int, int], size: tuple[int, int], stride: int) -> tuple[int, int]:
    """The smallest input for an image where a detector takes any size.

    Args:
        image: (height, width) of the image.
        size: (height, width) that the image is fitted into.
        stride: of which the input's sides must be multiples.

    Returns:
        (height, width).

    Examples:
        >>> smallest_canvas((360, 640), (640, 640), 32)
        (384, 640)
    """
    # Of what the image would take if it were not rounded to pixels: else it might be scaled down once more.
    scale = min(Fraction(size[0], image[0]), Fraction(size[1], image[1]))
    return math.ceil(image[0] * scale / stride) * stride, math.ceil(image[1] * scale / stride) * stride

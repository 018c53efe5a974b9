"""Prepare the input of an inpainting model: the surroundings of the mask at the model's size, without the ball."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spotball_gen.items.item import Image
from spotball_gen.items.pictures import opencv

CELL = 8
"""Side length in pixels of the cells into which a diffusion model divides an image: one latent pixel per cell. The
model's mask has one value per cell."""

LEAST = 128
"""Minimum side length of the window in pixels, if the image is large enough."""


@dataclass(frozen=True)
class ModelView:
    """The window of an image that the model receives, and the size to which the window is resized.

    Attributes:
        mask: mask of the whole image, shape (height, width), 255 inside and 0 outside.
        window: rows and columns of the window in the image.
        canvas: (height, width) of the model's input, multiples of 8.
    """

    mask: NDArray[np.uint8]
    window: tuple[slice, slice]
    canvas: tuple[int, int]

    @classmethod
    def of(cls, mask: NDArray[np.uint8], *, size: int, surroundings: float) -> ModelView:
        """Return the window around a mask.

        Args:
            mask: shape (height, width), 255 inside and 0 outside. It must not be empty.
            size: length in pixels of the canvas's longer side.
            surroundings: side length of the window, as a multiple of the mask's longer side.
        """
        rows, cols = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
        extent = max(np.ptp(rows), np.ptp(cols)) + 1
        side = max(round(surroundings * extent), LEAST)
        window = _around(rows, side, mask.shape[0]), _around(cols, side, mask.shape[1])
        lengths = [part.stop - part.start for part in window]
        height, width = (max(round(size * length / max(lengths) / CELL), 1) * CELL for length in lengths)
        return cls(mask, window, (height, width))

    def shown(self, image: Image) -> tuple[Image, NDArray[np.uint8]]:
        """Return the model's input: the resized window and its mask.

        Masked pixels are replaced by the mean color of the surroundings.

        Args:
            image: RGB, shape (height, width, 3).

        Returns:
            The canvas, RGB, shape (height, width, 3), and its mask, shape (height, width): 255 in every cell that the
                mask touches, 0 elsewhere.
        """
        pixels, mask = image[self.window].copy(), self.mask[self.window] > 0
        pixels[mask] = pixels[~mask].mean(axis=0).round() if not mask.all() else 0
        height, width = self.canvas
        spread = opencv().resize(
            mask.astype(np.float32), (width, height), interpolation=_method(mask.shape, self.canvas)
        )
        cells = (np.abs(spread) > 1e-3).reshape(height // CELL, CELL, width // CELL, CELL).any(axis=(1, 3))
        touched = np.kron(cells, np.ones((CELL, CELL), dtype=np.uint8)) * np.uint8(255)
        return _resized(pixels, self.canvas), touched

    def put_back(self, image: Image, painted: Image) -> Image:
        """Return the whole image, with the window replaced by the model's output.

        Args:
            image: RGB, shape (height, width, 3).
            painted: the model's output, of the canvas's size.
        """
        result = image.copy()
        rows, cols = self.window
        result[self.window] = _resized(painted, (rows.stop - rows.start, cols.stop - cols.start))
        return result


def _around(inside: NDArray[np.intp], side: int, length: int) -> slice:
    """Return a slice of at most `side` pixels around the given rows or columns, within the image."""
    side = min(side, length)
    start = round((int(inside[0]) + int(inside[-1]) + 1 - side) / 2)
    start = min(max(start, 0), length - side)
    return slice(start, start + side)


def _resized(pixels: Image, size: tuple[int, int]) -> Image:
    if pixels.shape[:2] == size:
        return pixels
    method = _method(pixels.shape, size)
    resized: Image = opencv().resize(pixels, (size[1], size[0]), interpolation=method)
    return resized


def _method(before: tuple[int, ...], after: tuple[int, int]) -> int:
    cv2 = opencv()
    method: int = cv2.INTER_CUBIC if after[0] * after[1] > before[0] * before[1] else cv2.INTER_AREA
    return method

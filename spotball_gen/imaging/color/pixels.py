"""Select pixels by color, and change masks. Masks are boolean arrays of shape (height, width)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from spotball_gen.items.item import Image
from spotball_gen.items.pictures import opencv

Color = tuple[int, int, int]
"""A color: red, green and blue, each from 0 to 255."""
Mask = NDArray[np.bool_]
Edges = tuple[int, int, int, int]
"""Edges of a box in pixels: (x1, y1, x2, y2), where x2 and y2 are exclusive."""


def of_colors(image: Image, colors: Iterable[Color], near: int) -> Mask:
    """Return the mask of pixels that differ from one of the colors by at most `near` in each channel.

    Examples:
        >>> of_colors(np.array([[[10, 10, 10], [10, 10, 13]]], dtype=np.uint8), [(8, 10, 12)], 2).tolist()
        [[True, True]]
    """
    cv2 = opencv()
    mask = np.zeros(image.shape[:2], dtype=np.bool_)
    for color in colors:
        low, high = (tuple(float(part + sign * near) for part in color) for sign in (-1, 1))
        mask |= cv2.inRange(image, low, high) > 0
    return mask


def of_hue(image: Image, color: Color, near: int, saturation: float, brightness: float) -> Mask:
    """Return the mask of pixels with the hue of a color, and with enough saturation and brightness.

    Args:
        image: RGB, shape (height, width, 3).
        color: the color. It must not be gray, which has no hue.
        near: maximum difference between the hues. The full circle of hues is 256.
        saturation: minimum saturation of a pixel, as a fraction of the color's.
        brightness: minimum brightness of a pixel, as a fraction of the color's.
    """
    cv2 = opencv()
    target = cv2.cvtColor(np.array([[color]], dtype=np.uint8), cv2.COLOR_RGB2HSV_FULL)[0, 0].astype(np.int16)
    pixels = cv2.cvtColor(image, cv2.COLOR_RGB2HSV_FULL).astype(np.int16)
    turned = np.abs((pixels[..., 0] - target[0] + 128) % 256 - 128)
    mask: Mask = (
        (turned <= near) & (pixels[..., 1] >= saturation * target[1]) & (pixels[..., 2] >= brightness * target[2])
    )
    return mask


def opened(mask: Mask, width: int) -> Mask:
    """Return the mask without parts that are thinner than `width` pixels (morphological opening with a disk)."""
    return _changed(mask, opencv().MORPH_OPEN, width)


def closed(mask: Mask, width: int) -> Mask:
    """Return the mask after filling gaps that are narrower than `width` pixels (morphological closing with a disk)."""
    return _changed(mask, opencv().MORPH_CLOSE, width)


def odd(share: float, height: int) -> int:
    """Return a fraction of the height in pixels, rounded to an odd number.

    Examples:
        >>> odd(0.014, 360), odd(0.02, 360), odd(0.02, 20)
        (5, 7, 1)
    """
    return 2 * int(share * height / 2) + 1


def parts(mask: Mask) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the 4-connected components of a mask.

    Returns:
        The component number of each pixel (0 outside the mask), shape (height, width); and x, y, width, height and area
            of each component in pixels, shape (n, 5), where the first row describes the pixels outside the mask.
    """
    _, labels, measured, _ = opencv().connectedComponentsWithStats(mask.astype(np.uint8), connectivity=4)
    return labels, measured


def _changed(mask: Mask, how: int, width: int) -> Mask:
    cv2 = opencv()
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (width, width))
    changed: Mask = cv2.morphologyEx(mask.astype(np.uint8), how, disc) > 0
    return changed

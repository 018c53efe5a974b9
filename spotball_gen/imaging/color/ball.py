"""Find a ball by its hue."""

from __future__ import annotations

import math

from spotball_gen.imaging.color.pixels import Color, closed, of_hue, parts
from spotball_gen.items.item import Box, Image

_HUE = 10
"""Maximum distance of a pixel's hue from the ball's hue. The full circle of hues is 256."""
_SATURATION, _BRIGHTNESS = 0.65, 0.5
"""Minimum saturation and brightness of a pixel, as fractions of the ball's. Seams are darker than the ball's color, and
its edges mix with other colors.
"""
_SMALLEST = 0.0003
"""Minimum area of a ball, as a fraction of the squared height of the image. In an image with a height of 360 pixels,
this is the area of a ball with a diameter of 7 pixels.
"""


def find_balls(image: Image, color: Color) -> tuple[Box, ...]:
    """Return the boxes of all regions with the ball's hue. Regions that are less round have lower scores.

    Args:
        image: RGB, shape (height, width, 3).
        color: the ball's color. It must not be gray, which has no hue.

    Returns:
        The boxes, highest score first. A score is the share of the box's inscribed ellipse that the region fills, times
            the ratio of the box's shorter to its longer side.
    """
    _, measured = parts(closed(of_hue(image, color, _HUE, _SATURATION, _BRIGHTNESS), 3))
    balls = []
    for x, y, width, height, area in measured[1:].tolist():
        if area >= _SMALLEST * image.shape[0] ** 2:
            filled = min(1.0, area / (math.pi / 4 * width * height))
            score = round(filled * min(width, height) / max(width, height), 4)
            balls.append(Box(x, y, x + width, y + height, score, "ball"))
    return tuple(sorted(balls, key=lambda box: (-box.score, box.corners)))

"""A ball by its hue."""

from __future__ import annotations

import math

from spotball_gen.imaging.color.pixels import Color, closed, of_hue, parts
from spotball_gen.items.item import Box, Image

_HUE = 10
"""How far a hue may be from the ball's, of 256 around the circle."""
_SATURATION, _BRIGHTNESS = 0.65, 0.5
"""At least, as parts of the ball's: its seams are darker, and at its edges its color mixes with others."""
_SMALLEST = 0.0003
"""Area of the smallest spot, as a share of the squared height: a ball 7 pixels across in 360."""


def find_balls(image: Image, color: Color) -> tuple[Box, ...]:
    """Spots of a ball's hue, whatever their shape.

    Args:
        image: RGB, shape (height, width, 3).
        color: the ball's; no gray, which has no hue.

    Returns:
        Their boxes, best first. A score is the part of the ellipse in the box that is filled, times the box's shorter
        side over its longer.
    """
    _, measured = parts(closed(of_hue(image, color, _HUE, _SATURATION, _BRIGHTNESS), 3))
    balls = []
    for x, y, width, height, area in measured[1:].tolist():
        if area >= _SMALLEST * image.shape[0] ** 2:
            filled = min(1.0, area / (math.pi / 4 * width * height))
            score = round(filled * min(width, height) / max(width, height), 4)
            balls.append(Box(x, y, x + width, y + height, score, "ball"))
    return tuple(sorted(balls, key=lambda box: (-box.score, box.corners)))

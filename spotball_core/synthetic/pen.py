"""Draw shapes with smooth edges for synthetic pictures, with helpers for geometry and color."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

Point = tuple[float, float]
Color = tuple[int, int, int]

FINER = 3
"""Factor by which images are drawn larger. They are then scaled down, which gives smooth edges."""


class Pen:
    """Draw on an image that is enlarged by the factor `FINER`. All coordinates are in pixels of the final image."""

    def __init__(self, draw: ImageDraw) -> None:
        self._draw = draw

    def area(self, points: list[Point], color: Color) -> None:
        """Fill a polygon."""
        self._draw.polygon([(x * FINER, y * FINER) for x, y in points], fill=color)

    def box(self, x1: float, y1: float, x2: float, y2: float, color: Color) -> None:
        """Fill an upright rectangle, given by its top left and bottom right corners."""
        self._draw.rectangle((x1 * FINER, y1 * FINER, x2 * FINER, y2 * FINER), fill=color)

    def stroke(self, points: list[Point], width: float, color: Color) -> None:
        """Draw a line with round ends and joints."""
        scaled = [(x * FINER, y * FINER) for x, y in points]
        self._draw.line(scaled, fill=color, width=max(1, round(width * FINER)), joint="curve")
        for x, y in points:
            self.disc((x, y), width / 2, color)

    def disc(self, middle: Point, radius: float, color: Color, *, flat: float = 1.0) -> None:
        """Fill a disc, or an ellipse whose height is `flat` times its width."""
        x, y, r = middle[0] * FINER, middle[1] * FINER, radius * FINER
        self._draw.ellipse((x - r, y - r * flat, x + r, y + r * flat), fill=color)

    def arc(self, middle: Point, radius: float, start: float, end: float, width: float, color: Color) -> None:
        """Draw an arc of a circle from one angle to another, in degrees, clockwise from the right."""
        x, y, r = middle[0] * FINER, middle[1] * FINER, radius * FINER
        self._draw.arc((x - r, y - r, x + r, y + r), start, end, fill=color, width=max(1, round(width * FINER)))

    def text(self, middle: Point, text: str, size: float, color: Color) -> None:
        """Draw a line of text centered on a point."""
        from PIL import ImageFont

        font = ImageFont.load_default(size * FINER)
        self._draw.text((middle[0] * FINER, middle[1] * FINER), text, color, font, anchor="mm")


def center_of(box: tuple[float, float, float, float]) -> Point:
    """Return the center of an upright rectangle."""
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def between(start: Point, end: Point, share: float) -> Point:
    """Return the point at this share of the way from `start` to `end`."""
    return start[0] + (end[0] - start[0]) * share, start[1] + (end[1] - start[1]) * share


def towards(start: Point, target: Point, reach: float) -> Point:
    """Return the target if it is within `reach` of `start`, otherwise the point at this distance in its direction."""
    away = math.dist(start, target)
    return between(start, target, min(1.0, reach / away)) if away else target


def mixed(color: Color, other: Color, share: float) -> Color:
    """Mix two colors. `share` is the share of `other` in the result.

    Examples:
        >>> mixed((0, 0, 0), (200, 100, 50), 0.5)
        (100, 50, 25)
    """
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(color, other, strict=True))
    return red, green, blue


def darker(color: Color, share: float) -> Color:
    """Return a color darkened to this share of its brightness."""
    return mixed((0, 0, 0), color, share)

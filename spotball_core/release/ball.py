"""Convert the ball's box in the release's ground truth, whose columns differ in meaning by sport.

In soccer, x and y are the top-left corner of the ball's bounding box, and width and height are its size, in a frame of
512 x 512 to which the whole image was scaled. In basketball and volleyball, x and y are the center of the box, and
width and height are its size, in pixels of the image.
"""

from __future__ import annotations

from spotball_core.release.tables import GRID

Box = tuple[float, float, float, float]

SCALED_SPORT = "soccer"
"""The sport whose boxes are in pixels of a scaled frame."""

FRAME = 512
"""Width and height of the scaled frame, in pixels."""

_ACROSS, _DOWN = GRID.width / FRAME, GRID.height / FRAME


def ball_box(sport: str, x: float, y: float, width: float, height: float) -> Box:
    """Return the ball's box in pixels of the image, from the columns of the ground truth.

    A box that extends beyond the image is not clipped, so its center and size remain those of the ball.

    Returns:
        (x1, y1, x2, y2), in pixels of the 640 x 360 image.

    Examples:
        >>> ball_box("soccer", 190.5, 358.5, 25, 43)
        (238.125, 252.0703125, 269.375, 282.3046875)
        >>> ball_box("basketball", 277, 75, 42, 45)
        (256.0, 52.5, 298.0, 97.5)
    """
    if sport == SCALED_SPORT:
        return x * _ACROSS, y * _DOWN, (x + width) * _ACROSS, (y + height) * _DOWN
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def ball_columns(sport: str, box: Box) -> tuple[float, float, float, float]:
    """Return x, y, width and height as in the ground truth, from a box in pixels; the inverse of `ball_box`.

    Examples:
        >>> ball_columns("basketball", (256.0, 52.5, 298.0, 97.5))
        (277.0, 75.0, 42.0, 45.0)
    """
    x1, y1, x2, y2 = box
    if sport == SCALED_SPORT:
        return x1 / _ACROSS, y1 / _DOWN, (x2 - x1) / _ACROSS, (y2 - y1) / _DOWN
    return (x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1

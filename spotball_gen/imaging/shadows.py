"""Find a ball's shadow on the ground: a flat, soft, dark spot below the ball that keeps the ground's color."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spotball_gen.items.item import Box, Image
from spotball_gen.items.pictures import opencv

_DARKER = 0.9
"""Maximum value of a shadow's color channels, as a fraction of the surroundings' values."""

_SAME_COLOR = 0.25
"""Maximum difference between the color channels in their ratio to the surroundings. A larger difference indicates an
object of another color.
"""

_EVEN = 0.13, 0.75
"""Maximum relative variation of the ground around a shadow, and the minimum share of its pixels within this limit.
Grass and floors are even, the stands are not.
"""

_DEEPER = 2.0
"""Minimum darkness of a shadow, as a multiple of the variation of its surroundings."""

_FULL = 0.6
"""Minimum share of its box that a shadow must fill. An ellipse fills 0.79; folds or gaps in the stands fill less."""

_TAKEN = 0.2
"""Maximum share of a shadow's pixels inside players' boxes. A dark spot with a larger share belongs to a player."""


def shadow_of(image: Image, ball: Box, players: Sequence[Box], *, reach: float) -> NDArray[np.bool_]:
    """Return the mask of the most probable shadow of a ball.

    Light is assumed to come roughly from above: the spot nearest to the vertical line through the ball is chosen,
    within twice the ball's size to either side. A spot is ignored if more than 20% of its pixels are inside players'
    boxes, because it probably belongs to a player.

    Args:
        image: RGB, shape (height, width, 3).
        ball: the ball.
        players: boxes of the players.
        reach: maximum distance below the ball, in ball sizes.

    Returns:
        The mask, shape (height, width); all False if no shadow is found.
    """
    cv2 = opencv()
    shadow = np.zeros(image.shape[:2], dtype=np.bool_)
    size, (x, y) = (ball.width + ball.height) / 2, ball.center
    # The surroundings extend by twice the size on each side.
    left, right = (int(np.clip(x + side * 4 * size, 0, image.shape[1])) for side in (-1, 1))
    top = int(np.clip(y - size, 0, image.shape[0]))
    bottom = int(np.clip(y + (reach + 2) * size, 0, image.shape[0]))
    if right - left < 3 or bottom - top < 3:
        return shadow
    window = cv2.GaussianBlur(image[top:bottom, left:right], (0, 0), max(size / 12, 0.5))
    around = cv2.medianBlur(window, 2 * int(1.5 * size) + 1)
    part = window.astype(np.float32) / np.maximum(around, 1)
    dark = ((part < _DARKER).all(axis=2) & (np.ptp(part, axis=2) < _SAME_COLOR)).astype(np.uint8)
    ball_mask = ellipse(ball, image.shape, size / 12 + 1)[top:bottom, left:right]
    dark[ball_mask] = 0
    _, labels, measured, centers = cv2.connectedComponentsWithStats(dark, connectivity=4)
    player_mask = np.zeros(dark.shape, dtype=np.bool_)
    for player in players:
        player_mask[_within(player, left, top)] = True
    best: tuple[float, int] | None = None
    for spot, ((*corner, width, height, area), (at_x, at_y)) in enumerate(zip(measured, centers, strict=True)):
        aside, below = abs(at_x + left - x), at_y + top - y
        fits = (
            0.5 * size <= width <= 2.5 * size
            and 0.15 * size <= height <= 1.5 * size
            and width >= 1.2 * height
            and area >= _FULL * _free(ball_mask, corner, width, height)
            and aside <= min(2 * size, size / 2 + below / 2)
            and 0 < below <= reach * size
        )
        if (
            not spot
            or not fits
            or (best is not None and aside >= best[0])
            or player_mask[labels == spot].mean() > _TAKEN
        ):
            continue
        if _on_even_ground(part, labels == spot, ball_mask | player_mask, (*corner, width, height)):
            best = float(aside), spot
    if best is not None:
        shadow[top:bottom, left:right] = labels == best[1]
    return shadow


def ellipse(box: Box, shape: tuple[int, ...], more: float) -> NDArray[np.bool_]:
    """Return the mask of the ellipse in a box that is enlarged by `more` pixels on each side."""
    x, y = box.center
    across = (np.arange(shape[1]) + 0.5 - x) / (box.width / 2 + more)
    down = (np.arange(shape[0]) + 0.5 - y) / (box.height / 2 + more)
    inside: NDArray[np.bool_] = across**2 + down[:, None] ** 2 <= 1
    return inside


def _free(ball: NDArray[np.bool_], corner: list[int], width: int, height: int) -> int:
    """Return the number of pixels in a shadow's box that the ball does not hide."""
    x, y = corner
    return int((~ball[y : y + height, x : x + width]).sum())


def _on_even_ground(
    part: NDArray[np.float32], spot: NDArray[np.bool_], excluded: NDArray[np.bool_], place: tuple[int, int, int, int]
) -> bool:
    """Return whether a spot is clearly darker than its surroundings and these surroundings are even.

    Dark areas between the seats of a stand do not have even surroundings.
    """
    x, y, width, height = place
    rows, cols = slice(max(y - height, 0), y + 2 * height), slice(max(x - width // 2, 0), x + width + width // 2)
    # The soft edges of a shadow count neither as spot nor as ground.
    reach = np.ones((3, 3), dtype=np.uint8)
    near = opencv().dilate(spot.astype(np.uint8), reach) > 0
    around = part[rows, cols][~(excluded | near)[rows, cols]]
    if not len(around):
        return False
    even = np.abs(around - 1).max(axis=1) < _EVEN[0]
    deep = float(1 - part[spot].mean()) >= _DEEPER * float(np.abs(around - 1).mean())
    return deep and bool(even.mean() > _EVEN[1])


def _within(box: Box, left: int, top: int) -> tuple[slice, slice]:
    """Return the rows and columns of a window that a box covers, enlarged by one pixel on each side, as slices."""
    rows = max(int(box.y1) - top - 1, 0), max(int(np.ceil(box.y2)) - top + 1, 0)
    cols = max(int(box.x1) - left - 1, 0), max(int(np.ceil(box.x2)) - left + 1, 0)
    return slice(*rows), slice(*cols)

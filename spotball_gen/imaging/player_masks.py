"""Compute masks of players: the pixels in a player's outline, or in the box of a player without an outline."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spotball_gen.items.item import Box


def player_mask(player: Box, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return the mask of a player's pixels.

    Args:
        player: the player's box. If it has an outline, the mask contains the pixels whose centers are in the outline's
            polygons; otherwise all pixels that the box touches.
        shape: height and width of the image.

    Returns:
        Shape (height, width).

    Examples:
        >>> box = Box(1, 0, 3, 2, label="player")
        >>> player_mask(box, (2, 4)).astype(int).tolist()
        [[0, 1, 1, 0], [0, 1, 1, 0]]
    """
    inside = np.zeros(shape[:2], dtype=np.bool_)
    if player.outline:
        import shapely

        for polygon in player.outline:
            (x1, y1), (x2, y2) = np.min(polygon, axis=0), np.max(polygon, axis=0)
            part = touched(Box(x1, y1, x2, y2), shape)
            rows, cols = np.mgrid[part]
            inside[part] |= shapely.contains_xy(shapely.Polygon(polygon), cols + 0.5, rows + 0.5)
        return inside
    inside[touched(player, shape)] = True
    return inside


def touched(box: Box, shape: tuple[int, ...]) -> tuple[slice, slice]:
    """Return the pixels that a box touches, as slices of rows and columns."""
    rows = np.clip([np.floor(box.y1), np.ceil(box.y2)], 0, shape[0]).astype(int).tolist()
    cols = np.clip([np.floor(box.x1), np.ceil(box.x2)], 0, shape[1]).astype(int).tolist()
    return slice(*rows), slice(*cols)

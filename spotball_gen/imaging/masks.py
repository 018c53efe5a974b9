"""Compute the mask for removing a ball: the ball, its shadow and a margin around both, but not the players."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from spotball_gen.imaging.shadows import ellipse, shadow_of
from spotball_gen.items.item import Box, Image, Item
from spotball_gen.items.pictures import opencv
from spotball_gen.items.stage import StageSettings


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


_RIM = 1.0
"""Width in pixels of the area around the ball in which its color mixes with the background."""


class MaskSettings(StageSettings):
    """Mask settings, shared by all kinds of inpainting.

    Attributes:
        margin: margin around the ball and its shadow, as a fraction of the ball's size.
        shadow: maximum distance of the shadow below the ball, in ball sizes; 0 disables the search.
        protect: whether to leave players' pixels unchanged, except where they overlap the ball. Players' pixels are
            those in a player's outline, or in the box of a player without an outline.
    """

    margin: float = Field(0.25, ge=0, le=2)
    shadow: float = Field(10.0, ge=0, le=30)
    protect: bool = True


@dataclass(frozen=True)
class MaskParts:
    """The pixels of an item's image to inpaint.

    Attributes:
        core: pixels of the ball, its shadow, and regions marked by reviewers, shape (height, width).
        whole: the core and the margin around it, shape (height, width).
    """

    core: NDArray[np.bool_]
    whole: NDArray[np.bool_]


def mask_parts(item: Item, settings: MaskSettings) -> MaskParts:
    """Return the pixels of an item's image to inpaint: those that hide the background, and the margin around them.

    The ball is the ellipse in its box. The ball and regions marked by reviewers (the note `regions` of `inpaint`) are
    always included, also where they overlap players. If `protect` is set, players' pixels are excluded from the margin
    and the shadow.

    Raises:
        ValueError: if the item has no ball.
    """
    if item.ball is None:
        raise ValueError("the item has no ball to inpaint")
    ball, shape = item.ball, item.image.shape[:2]
    margin = settings.margin * (ball.width + ball.height) / 2
    around = ellipse(ball, shape, max(margin, _RIM))
    shadow = np.zeros(shape, dtype=np.bool_)
    if settings.shadow:
        shadow = shadow_of(item.image, ball, item.players, reach=settings.shadow)
        around |= _dilated(shadow, margin)
    marked = np.zeros(shape, dtype=np.bool_)
    for region in item.notes.get("inpaint", {}).get("regions", ()):
        marked[touched(Box(*region), shape)] = True
    if marked.any():
        around |= _dilated(marked, margin)
    if settings.protect:
        free = ~player_pixels(item)
        around, shadow = around & free, shadow & free
    core = ellipse(ball, shape, _RIM) | marked
    return MaskParts(core | shadow, around | core | shadow)


def player_pixels(item: Item) -> NDArray[np.bool_]:
    """Return the mask of all players' pixels, shape (height, width): those in a player's outline, or in the box of a
    player without an outline.
    """
    inside = np.zeros(item.image.shape[:2], dtype=np.bool_)
    for player in item.players:
        inside |= player_mask(player, inside.shape)
    return inside


def ball_mask(item: Item, settings: MaskSettings) -> NDArray[np.uint8]:
    """Return the mask of the pixels to inpaint in an item's image; see `mask_parts`.

    Returns:
        Shape (height, width), 255 inside and 0 outside.

    Raises:
        ValueError: if the item has no ball.
    """
    return np.where(mask_parts(item, settings).whole, np.uint8(255), np.uint8(0))


def composite(image: Image, painted: Image, mask: NDArray[np.uint8]) -> Image:
    """Return the inpainted image inside the mask, and the unchanged image outside."""
    return np.where(mask[..., None] > 0, painted, image)


def _dilated(mask: NDArray[np.bool_], by: float) -> NDArray[np.bool_]:
    cv2 = opencv()
    width = 2 * round(by) + 1
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (width, width))
    dilated: NDArray[np.bool_] = cv2.dilate(mask.astype(np.uint8), kernel) > 0
    return dilated

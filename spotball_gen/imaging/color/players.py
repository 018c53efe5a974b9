"""Find the ball and players by color: players by their shirts and by the skin, hair and shorts connected to them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spotball_gen.items.item import Box, Image
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


_NEAR, _HAIR_NEAR = 28, 18
"""Maximum difference of a pixel from a known color in each channel, which allows for noise, compression and mixed
colors. The second value is for hair and is smaller, because shadows are as dark as hair.
"""
_THIN, _GAP = 0.014, 0.02
"""Minimum thickness of a shirt (thinner regions are lines or letters), and maximum gap within a person, as fractions of
the image's height.
"""
_LEAST_HEIGHT, _LEAST_AREA = 0.02, 0.0005
"""Minimum height of a shirt as a fraction of the image's height, and minimum area as a fraction of its square."""

# Proportions of a person, as fractions of the body's height.
_SHIRT_HEIGHT, _SHIRT_WIDTH = 0.54, 0.36
_ASIDE, _ABOVE, _BELOW = 0.4, 0.7, 0.42
"""Maximum extent of a person to each side of the shirt's center, and above and below the shirt's lower edge, as
fractions of the body's height."""
_HAIR_BELOW, _SHORTS_BELOW, _SHORTS_ASIDE = 0.1, 0.2, 0.05
"""Maximum extent of hair below the shirt's upper edge, and of shorts below and to the sides of the shirt, as fractions
of the body's height."""

_UPRIGHT = 0.8
"""Maximum width-to-height ratio of a shirt after merging pieces."""
_FILLED = 0.35
"""Typical share of a person's box that the person's pixels fill."""


@dataclass(frozen=True)
class Team:
    """Colors of a team's clothes."""

    shirt: Color
    shorts: Color


@dataclass
class _Shirt:
    """A shirt, which arms may divide into pieces: its edges and area, and the component numbers of the pieces."""

    edges: Edges
    area: int
    pieces: list[int]


def find_players(image: Image, teams: Sequence[Team], skin: Sequence[Color], hair: Sequence[Color]) -> tuple[Box, ...]:
    """Return the boxes of people in the teams' shirts, including people in the audience.

    Pieces of a shirt are merged if skin connects them. The size of the shirt determines how far the player can extend.
    Skin, hair and shorts within this distance that are connected to the shirt belong to the player. Two people in equal
    shirts are detected as one person if one largely hides the other.

    Args:
        image: RGB, shape (height, width, 3).
        teams: colors of each team's clothes.
        skin: skin tones.
        hair: hair colors.

    Returns:
        The boxes, highest score first. A score is the share of the box that the player's pixels fill, divided by the
            share that a person typically fills, and at most 1.
    """
    height = image.shape[0]
    smooth = opencv().medianBlur(image, 3)
    bare, heads = opened(of_colors(smooth, skin, _NEAR), 3), of_colors(smooth, hair, _HAIR_NEAR)
    shirts = [opened(of_colors(smooth, [team.shirt], _NEAR), odd(_THIN, height)) for team in teams]
    free = ~np.any(np.stack([*shirts, np.zeros_like(bare)]), axis=0)
    players: list[Box] = []
    for team, mask in zip(teams, shirts, strict=True):
        shorts = of_colors(smooth, [team.shorts], _NEAR)
        labels, measured = parts(mask)
        players += [
            _person(shirt, labels, bare & free, heads & free, shorts & free)
            for shirt in _shirts(labels, measured, mask | bare)
        ]
    return tuple(sorted(players, key=lambda box: (-box.score, box.corners)))


def _shirts(labels: NDArray[np.int32], measured: NDArray[np.int32], bodies: Mask) -> list[_Shirt]:
    """Return the shirts that are large enough, after merging pieces that skin connects."""
    body, _ = parts(closed(bodies, 3))
    by_body: dict[int, list[_Shirt]] = {}
    # Start with the largest piece.
    for piece in sorted(range(1, len(measured)), key=lambda i: (-measured[i, 4], i)):
        x, y, width, height, area = measured[piece].tolist()
        edges = x, y, x + width, y + height
        shirts = by_body.setdefault(int(body[y, x + int(np.argmax(labels[y, x : x + width] == piece))]), [])
        fitting = [shirt for shirt in shirts if _go_together(shirt.edges, edges)]
        if fitting:
            shirt = min(fitting, key=lambda shirt: (_apart(shirt.edges, edges), shirt.pieces))
            shirt.edges, shirt.area = _around(shirt.edges, edges), shirt.area + area
            shirt.pieces.append(piece)
        else:
            shirts.append(_Shirt(edges, area, [piece]))
    least = _LEAST_HEIGHT * len(bodies), _LEAST_AREA * len(bodies) ** 2
    together = [shirt for shirts in by_body.values() for shirt in shirts]
    return [shirt for shirt in together if shirt.edges[3] - shirt.edges[1] >= least[0] and shirt.area >= least[1]]


def _go_together(shirt: Edges, piece: Edges) -> bool:
    """Return whether a piece may belong to a shirt.

    It may if it is near the shirt, and if both together are upright or hardly larger than the shirt.
    """
    wide, high = _size(shirt)
    all_wide, all_high = _size(_around(shirt, piece))
    upright = all_wide <= _UPRIGHT * all_high
    return _apart(shirt, piece) < high / 2 and (upright or (all_wide <= 1.15 * wide and all_high <= 1.15 * high))


def _person(shirt: _Shirt, labels: NDArray[np.int32], bare: Mask, heads: Mask, shorts: Mask) -> Box:
    """Return the box of the person who wears a shirt."""
    height, width = labels.shape
    x1, y1, x2, y2 = shirt.edges
    tall = max((y2 - y1) / _SHIRT_HEIGHT, (x2 - x1) / _SHIRT_WIDTH)
    left, right = (int(np.clip((x1 + x2) / 2 + side * _ASIDE * tall, 0, width)) for side in (-1, 1))
    # The box always includes the shirt itself.
    left, right = min(left, x1), max(right, x2)
    top, bottom = int(max(y2 - _ABOVE * tall, 0)), int(min(y2 + _BELOW * tall, height))
    top, bottom = min(top, y1), max(bottom, y2)
    window = slice(top, bottom), slice(left, right)
    shirt_mask = _is_among(labels[window], shirt.pieces)
    head = heads[window].copy()
    head[max(int(y1 + _HAIR_BELOW * tall) - top, 0) :] = False
    below, aside = int(_SHORTS_BELOW * tall), int(_SHORTS_ASIDE * tall)
    legs = np.zeros_like(shirt_mask)
    legs_window = slice(max(y2 - 3 - top, 0), y2 + below - top), slice(max(x1 - aside - left, 0), x2 + aside - left)
    legs[legs_window] = shorts[window][legs_window]
    body = opened(bare[window] | head | legs, 3) | shirt_mask
    joined, _ = parts(closed(body, odd(_GAP, height)))
    person_mask = body & _is_among(joined, np.unique(joined[shirt_mask]))
    rows, cols = np.flatnonzero(person_mask.any(axis=1)), np.flatnonzero(person_mask.any(axis=0))
    filled = person_mask.sum() / ((rows[-1] - rows[0] + 1) * (cols[-1] - cols[0] + 1))
    return Box(
        left + int(cols[0]),
        top + int(rows[0]),
        left + int(cols[-1]) + 1,
        top + int(rows[-1]) + 1,
        score=round(min(1.0, float(filled) / _FILLED), 4),
        label="player",
    )


def _is_among(labels: NDArray[np.int32], chosen: Sequence[int] | NDArray[np.int32]) -> Mask:
    """Return which labels are among the chosen ones, as `numpy.isin` does, but with one look-up per pixel."""
    table = np.zeros(1 + max(int(labels.max()), int(np.max(chosen))), dtype=np.bool_)
    table[chosen] = True
    mask: Mask = table[labels]
    return mask


def _size(edges: Edges) -> tuple[int, int]:
    """Return the width and height of a box."""
    return edges[2] - edges[0], edges[3] - edges[1]


def _around(a: Edges, b: Edges) -> Edges:
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])


def _apart(a: Edges, b: Edges) -> int:
    """Return the larger of the horizontal and vertical gaps between two boxes, in pixels; negative if they overlap."""
    return max(a[0] - b[2], b[0] - a[2], a[1] - b[3], b[1] - a[3])

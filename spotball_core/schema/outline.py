"""A player's outline: one or more polygons in pixels of the image.

Several polygons are parts of one player, such as a body and an arm behind another player; the outline is their union.
In files, one polygon is `[[x, y], ...]`, and several are a list of these. COCO's segmentations are also read: polygons
as flat lists `[[x1, y1, x2, y2, ...], ...]`, and run-length encoded masks `{"counts", "size"}`.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from spotball_core.geometry import Polygon
from spotball_core.schema.coco_mask import polygons_of_mask

MOST_POINTS = 10_000
"""Maximum number of points in an outline."""


def polygons_of(value: Any) -> tuple[Polygon, ...]:
    """Return the polygons of an outline in any of the supported file formats.

    Raises:
        ValueError: if the value is not in a supported format, a polygon has fewer than 3 points or all points on one
            line, a number is not finite, or there are more than `MOST_POINTS` points.

    Examples:
        >>> polygons_of([[0, 0], [10, 0], [10, 30]])
        (((0.0, 0.0), (10.0, 0.0), (10.0, 30.0)),)
        >>> polygons_of([[0, 0, 10, 0, 10, 30]]) == polygons_of([[0, 0], [10, 0], [10, 30]])
        True
        >>> sorted(polygons_of({"counts": [4, 2, 2], "size": [2, 4]})[0])
        [(2.0, 0.0), (2.0, 2.0), (3.0, 0.0), (3.0, 2.0)]
    """
    if isinstance(value, dict):
        return polygons_of_mask(value)
    if not _is_list(value) or not value or not all(_is_list(part) and part for part in value):
        raise ValueError("an outline is a polygon [[x, y], ...], a list of polygons, or a COCO segmentation")
    if _is_list(value[0][0]):
        polygons = tuple(tuple(_point(point) for point in polygon) for polygon in value)
    elif len(value[0]) == 2:
        polygons = (tuple(_point(point) for point in value),)
    else:
        polygons = tuple(_of_flat(numbers) for numbers in value)
    if sum(map(len, polygons)) > MOST_POINTS:
        raise ValueError(f"an outline has at most {MOST_POINTS:,} points, found {sum(map(len, polygons)):,}")
    return tuple(map(_open, polygons))


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _of_flat(numbers: Any) -> Polygon:
    if len(numbers) % 2:
        raise ValueError(f"a COCO polygon has an even number of coordinates x1, y1, x2, y2, ..., found {len(numbers)}")
    return tuple(_point(pair) for pair in zip(numbers[::2], numbers[1::2], strict=True))


def _point(pair: Any) -> tuple[float, float]:
    if not _is_list(pair) or len(pair) != 2 or not all(is_number(part) for part in pair):
        raise ValueError(f"a point is two finite numbers [x, y], found {pair!r:.60}")
    return float(pair[0]), float(pair[1])


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number in the range of a float."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _open(polygon: Polygon) -> Polygon:
    """Return the polygon without a repeated first point at its end."""
    polygon = polygon[:-1] if len(polygon) > 1 and polygon[0] == polygon[-1] else polygon
    if len(set(polygon)) < 3:
        raise ValueError(f"a polygon has at least 3 points, found {len(set(polygon))}")
    if _on_a_line(polygon):
        raise ValueError("expected a polygon whose points do not lie on one line")
    return polygon


def _on_a_line(polygon: Polygon) -> bool:
    (x, y), *others = polygon
    ahead, down = next((u - x, v - y) for u, v in others if (u, v) != (x, y))
    return all(ahead * (v - y) == down * (u - x) for u, v in others)


def _as_written(polygons: tuple[Polygon, ...]) -> list[Any]:
    lists = [[list(point) for point in polygon] for polygon in polygons]
    return lists[0] if len(lists) == 1 else lists


_POLYGON = {
    "type": "array",
    "items": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
    "minItems": 3,
}

Outline = Annotated[
    tuple[Polygon, ...],
    BeforeValidator(polygons_of),
    PlainSerializer(_as_written),
    WithJsonSchema(
        {
            "description": "A polygon [[x, y], ...] in pixels, or a list of polygons whose union is the outline.",
            "anyOf": [_POLYGON, {"type": "array", "items": _POLYGON, "minItems": 1}],
        }
    ),
]
"""The polygons whose union is the outline."""

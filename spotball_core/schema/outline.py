"""A player's outline: one or more polygons in pixels of the image.

Several polygons are parts of one player, such as a body and an arm behind another player; the outline is their union.
In files, one polygon is `[[x, y], ...]`, and several are a list of these. COCO's segmentations are also read: polygons
as flat lists `[[x1, y1, x2, y2, ...], ...]`, and run-length encoded masks `{"counts", "size"}`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from spotball_core.geometry import Polygon, polygons_of_shape

_LONGEST_SIDE = 20_000
"""Maximum number of pixels along a side of a mask."""

_MOST_RUNS = 100_000
"""Maximum number of runs in a mask. It limits time and memory if a small file declares a huge mask."""


def polygons_of_mask(mask: dict[str, Any]) -> tuple[Polygon, ...]:
    """Return polygons whose union covers the pixels of a mask exactly.

    Args:
        mask: `size` is (height, width). `counts` are the lengths of alternating runs of pixels outside and inside, down
            the columns from the left: a list of numbers, or the compressed text that COCO's tools write.

    Raises:
        ValueError: for a malformed or empty mask.
    """
    import shapely

    height, counts = _checked(mask)
    spans = [
        (column, top, column + 1, bottom)
        for start, end in _runs(counts)
        for column, top, bottom in _columns(start, end, height)
    ]
    if not spans:
        raise ValueError("the mask is empty; write null if the outline is not known")
    return polygons_of_shape(shapely.union_all(shapely.box(*zip(*spans, strict=True))))


def _checked(mask: dict[str, Any]) -> tuple[int, list[int]]:
    size, counts = mask.get("size"), mask.get("counts")
    if not (isinstance(size, (list, tuple)) and len(size) == 2 and all(type(n) is int and n > 0 for n in size)):
        raise ValueError(
            f"expected a mask with the size [height, width] in whole numbers above 0, but the size is {size!r:.60}"
        )
    if isinstance(counts, str):
        counts = _decoded(counts)
    if not isinstance(counts, (list, tuple)) or not all(type(n) is int and n >= 0 for n in counts):
        raise ValueError("the counts of a mask are whole numbers of at least 0, or a text")
    if max(size) > _LONGEST_SIDE or len(counts) > _MOST_RUNS:
        raise ValueError(
            f"a mask has at most {_LONGEST_SIDE:,} pixels per side and {_MOST_RUNS:,} runs, "
            f"found {size[0]} x {size[1]} pixels and {len(counts):,} runs"
        )
    if sum(counts) != size[0] * size[1]:
        raise ValueError(
            f"the counts of a mask add up to {sum(counts)}, expected its number of pixels, {size[0] * size[1]}"
        )
    return size[0], list(counts)


def _decoded(text: str) -> list[int]:
    """Decode COCO's text format for counts.

    Each character has 5 bits of a number, the lowest first. From the fourth count on, the number is the difference from
    the count two places before.
    """
    counts: list[int] = []
    value = shift = 0
    for sign in text:
        bits = ord(sign) - 48
        if not 0 <= bits < 64 or shift > 60:
            raise ValueError(f"the counts of a mask have an invalid character, {sign!r}")
        value |= (bits & 31) << shift
        shift += 5
        if not bits & 32:
            if bits & 16:
                value -= 1 << shift
            counts.append(value + (counts[-2] if len(counts) > 2 else 0))
            value = shift = 0
    if shift:
        raise ValueError("the counts of a mask end with an incomplete number")
    return counts


def _runs(counts: list[int]) -> Iterator[tuple[int, int]]:
    """Yield the first pixel, and the pixel after the last, of each run inside the mask."""
    at = 0
    for place, count in enumerate(counts):
        if place % 2 and count:
            yield at, at + count
        at += count


def _columns(start: int, end: int, height: int) -> Iterator[tuple[int, int, int]]:
    """Split a run at the ends of columns: yield the column, its first row, and the row after its last."""
    while start < end:
        column, top = divmod(start, height)
        stop = min(end, (column + 1) * height)
        yield column, top, stop - column * height
        start = stop


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

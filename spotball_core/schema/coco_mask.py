"""Convert COCO's run-length encoded masks to polygons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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

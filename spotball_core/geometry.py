"""Compute distances from cells to outlines, the share of each cell that an outline covers, and the area of outlines.

For boxes, use `Grid.box_distances` and `Grid.box_shares`, which are faster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spotball_core.grid import Grid
from spotball_core.typing import FloatArray

if TYPE_CHECKING:
    from numpy.typing import NDArray

Polygon = tuple[tuple[float, float], ...]
"""The corners (x, y) of a polygon, in pixels. The first corner is not repeated at the end."""

Polygons = Sequence[Sequence[tuple[float, float]]]
"""An outline: polygons, in pixels, whose union is the outlined area."""


def outline_distances(outlines: Sequence[Polygons], grid: Grid) -> FloatArray:
    """Return the distance from each cell's center to each outline in pixels, 0 inside or on it (Spot the Ball, eq. 4).

    Returns:
        Shape (n_outlines, n_cells).

    Examples:
        >>> triangle = [[(64, 0), (128, 0), (64, 60)]]
        >>> float(outline_distances([triangle], Grid.standard())[0, 0])
        32.0
    """
    import shapely

    distances: FloatArray = shapely.distance(_shapes(outlines)[:, None], shapely.points(grid.centers))
    return distances


def outline_shares(outlines: Sequence[Polygons], grid: Grid) -> FloatArray:
    """Return the share of each cell's area that each outline covers (the quotient in eq. 6 of Spot the Ball).

    Returns:
        Shape (n_outlines, n_cells), in [0, 1].

    Examples:
        >>> triangle = [[(64, 0), (128, 0), (64, 60)]]
        >>> outline_shares([triangle], Grid.standard())[0, :3].tolist()
        [0.0, 0.5, 0.0]
    """
    import shapely

    shapes = _shapes(outlines)
    shares = np.zeros((len(shapes), grid.n_cells))
    # Only cut the cells that the outline's bounding box reaches.
    which, cells = np.nonzero(grid.box_shares(shapely.bounds(shapes)))
    pieces = shapely.intersection(shapes[which], shapely.box(*grid.rectangles[cells].T))
    shares[which, cells] = shapely.area(pieces) / (grid.cell_width * grid.cell_height)
    return np.minimum(shares, 1.0)


def outline_area(polygons: Polygons) -> float:
    """Return the area of an outline in square pixels.

    Examples:
        >>> outline_area([[(0, 0), (10, 0), (10, 10)], [(0, 0), (10, 0), (0, 10)]])
        75.0
    """
    import shapely

    return float(shapely.area(_shapes([polygons])[0]))


def clipped(polygons: Polygons, width: float, height: float) -> tuple[Polygon, ...]:
    """Return the part of an outline inside an image of this size in pixels; empty if no part is inside.

    Examples:
        >>> [sorted(part) for part in clipped([[(-5, 0), (5, 0), (5, 10), (-5, 10)]], 640, 360)]
        [[(0.0, 0.0), (0.0, 10.0), (5.0, 0.0), (5.0, 10.0)]]
    """
    import shapely

    return polygons_of_shape(shapely.intersection(_shapes([polygons])[0], shapely.box(0, 0, width, height)))


def polygons_of_shape(shape: Any) -> tuple[Polygon, ...]:
    """Return polygons whose union is a Shapely shape.

    The polygons have no holes: a part with a hole is cut into several polygons through the hole.
    """
    import shapely

    parts = [part for part_with_holes in shapely.get_parts(shape) for part in _without_holes(part_with_holes)]
    return tuple(tuple((float(x), float(y)) for x, y in part.exterior.coords[:-1]) for part in parts)


def _without_holes(part: Any) -> Iterator[Any]:
    import shapely

    if part.geom_type != "Polygon" or part.is_empty:
        return
    if not part.interiors:
        yield part
        return
    # Cut through the hole in the middle, so that many holes need few levels of cuts.
    x = sorted(hole.centroid.x for hole in part.interiors)[len(part.interiors) // 2]
    left, top, right, bottom = part.bounds
    for half in (shapely.box(left, top, x, bottom), shapely.box(x, top, right, bottom)):
        for piece in shapely.get_parts(shapely.intersection(part, half)):
            yield from _without_holes(piece)


def _shapes(outlines: Sequence[Polygons]) -> NDArray[Any]:
    """Return a valid Shapely shape for each outline, because polygons from detectors may cross themselves."""
    import shapely

    return np.array(
        [shapely.union_all([part for polygon in polygons for part in _areas(polygon)]) for polygons in outlines],
        dtype=object,
    )


def _areas(polygon: Sequence[tuple[float, float]]) -> NDArray[Any]:
    """Return the valid polygons that a polygon consists of. Parts without area are dropped."""
    import shapely

    # Apply get_parts twice: a collection may contain a shape of several parts.
    parts = shapely.get_parts(shapely.get_parts(shapely.make_valid(shapely.Polygon(polygon))))
    areas: NDArray[Any] = parts[shapely.get_dimensions(parts) == 2]
    return areas

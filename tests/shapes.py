"""Build cells and boxes as Shapely geometries, to check the geometry of the package."""

from __future__ import annotations

import shapely

from spotball_core.grid import Grid


def cells(grid: Grid) -> list[tuple[shapely.Point, shapely.Polygon]]:
    """Return the center of each cell as a point, and its area as a polygon."""
    wide, high = grid.width / grid.cols, grid.height / grid.rows
    found = []
    for row in range(grid.rows):
        for col in range(grid.cols):
            area = shapely.box(col * wide, row * high, (col + 1) * wide, (row + 1) * high)
            found.append((shapely.Point((col + 0.5) * wide, (row + 0.5) * high), area))
    return found


def as_shape(box: tuple[float, float, float, float]) -> shapely.Geometry:
    """Return the shape of a box: a polygon, a line or a point."""
    x1, y1, x2, y2 = box
    if (x1, y1) == (x2, y2):
        return shapely.Point(x1, y1)
    return shapely.LineString([(x1, y1), (x2, y2)]) if x1 == x2 or y1 == y2 else shapely.box(*box)

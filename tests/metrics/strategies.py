"""Hypothesis strategies for tests of metrics: small grids, counts, truth and boxes; and distances from plain loops."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from spotball_core.grid import Grid

Array = NDArray[Any]


class ImageCounts(NamedTuple):
    """Hold one image: its grid, how often each cell was named, and the cells of the ball."""

    grid: Grid
    counts: Array
    truth: Array


def distances(grid: Grid) -> Array:
    """Return the distances between cell centers, computed with plain loops."""
    wide, high = grid.width / grid.cols, grid.height / grid.rows
    centers = [((col + 0.5) * wide, (row + 0.5) * high) for row in range(grid.rows) for col in range(grid.cols)]
    return np.array([[math.dist(one, other) for other in centers] for one in centers])


def grids(max_rows: int = 4, max_cols: int = 4) -> st.SearchStrategy[Grid]:
    """Return grids of one or more cells, which are rarely square and rarely a whole number of pixels wide."""
    sizes = st.sampled_from([1, 30, 64, 359, 641, 0.37, 100 / 3])
    return st.builds(Grid, rows=st.integers(1, max_rows), cols=st.integers(1, max_cols), width=sizes, height=sizes)


def counts(n_cells: int, max_value: int = 6) -> st.SearchStrategy[Array]:
    """Return counts with ties and with cells that are never named, and at least one answer in total."""
    numbers = st.lists(st.integers(0, max_value), min_size=n_cells, max_size=n_cells)
    return numbers.filter(any).map(lambda values: np.array(values, dtype=float))


def masses(n_cells: int) -> st.SearchStrategy[Array]:
    """Return mass of any kind: counts, shares, a single cell, and masses of very different sizes."""
    one_cell = st.integers(0, n_cells - 1).map(lambda cell: np.eye(n_cells)[cell])
    values = st.sampled_from([0.0, 1e-9, 1e-6, 0.1, 1 / 3, 1.0, 2.0, 50.0]) | st.floats(0.001, 1.0)
    mixed = st.lists(values, min_size=n_cells, max_size=n_cells).filter(any).map(np.array)
    return one_cell | counts(n_cells) | mixed


def truths(n_cells: int) -> st.SearchStrategy[Array]:
    """Return masks of the cells of the ball, with at least one cell."""
    cells = st.sets(st.integers(0, n_cells - 1), min_size=1, max_size=4)
    return cells.map(lambda found: np.isin(np.arange(n_cells), list(found)))


@st.composite
def items(draw: st.DrawFn, max_rows: int = 4, max_cols: int = 4, max_value: int = 6) -> ImageCounts:
    grid = draw(grids(max_rows, max_cols))
    return ImageCounts(grid, draw(counts(grid.n_cells, max_value)), draw(truths(grid.n_cells)))


@st.composite
def boxes(draw: st.DrawFn, grid: Grid, max_boxes: int = 4) -> list[tuple[float, float, float, float]]:
    """Return boxes of players. Some have no area, or are partly or completely outside the image."""

    def interval(size: float) -> tuple[float, float]:
        low, high = sorted(draw(st.floats(-0.3, 1.3)) * size for _ in range(2))
        return (low, low) if draw(st.integers(0, 7)) == 0 else (low, high)

    found = []
    for _ in range(draw(st.integers(1, max_boxes))):
        (x1, x2), (y1, y2) = interval(grid.width), interval(grid.height)
        found.append((x1, y1, x2, y2))
    return found

"""Choose decoys for the leak test: untouched cells of the same image whose position is similar to the ball's cell."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spotball_core.schema.scene import Scene

DECOYS = 4
"""Number of decoys per ball."""

_ONE_ROW, _COVERED, _NEAR, _ASIDE = 1.0, 0.25, 0.05, 4.0
"""Differences in position that count equally: one row of cells, a share of 0.25 of a cell covered by players, 0.05
image diagonals in the distance to the nearest player, and four columns in the horizontal distance from the center.
"""

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


def ball_cell(scene: Scene) -> int:
    """Return the index of the cell with the largest part of the ball's box; without a box, of the first ball cell.

    Examples:
        >>> from spotball_core.grid import Grid
        >>> grid = Grid.standard()
        >>> ball_cell(Scene(sport="soccer", image="1", grid=grid, ball_box=(60, 10, 80, 30), ball_cells=("A1", "A2")))
        1
    """
    cells = scene.ball_cells or ()
    shares = scene.layout.cells_in(scene.ball_box) if scene.ball_box else {}
    return scene.layout.index(max(shares, key=lambda cell: shares[cell]) if shares else cells[0])


def decoys(places: Floats, cell: Ints, touched: Bools) -> Ints:
    """Return the untouched cells of each image whose position is most similar to that of the ball's cell.

    Args:
        places: positions of the cells, as returned by `surroundings`; shape (n_images, n_cells, 4).
        cell: index of the ball's cell, shape (n_images,).
        touched: cells with inpainted pixels, shape (n_images, n_cells). At least four cells of each image are
            untouched.

    Returns:
        Indices of the cells, the most similar first, shape (n_images, 4).

    Examples:
        In a row of six cells that differ only in their column, the second one is the ball's cell:

        >>> places = np.arange(6.0).reshape(1, 6, 1)
        >>> decoys(places, np.array([1]), np.array([[False, True, False, False, False, False]])).tolist()
        [[0, 2, 3, 4]]
    """
    apart = np.linalg.norm(places - np.take_along_axis(places, cell[:, None, None], axis=1), axis=2)
    return np.argsort(np.where(touched, np.inf, apart), axis=1, kind="stable")[:, :DECOYS]


def surroundings(scene: Scene) -> Floats:
    """Return four measures of each cell's position, scaled so that equal differences count equally; shape (n_cells, 4).

    The columns are the cell's row, its horizontal distance from the image's center, the share of the cell and its
    neighbors that players cover, and the distance of its center from the nearest player.
    """
    grid = scene.layout
    rows, cols = np.divmod(np.arange(grid.n_cells), grid.cols)
    aside = np.abs(cols - (grid.cols - 1) / 2)
    covered, near = np.zeros(grid.n_cells), np.ones(grid.n_cells)
    if scene.players:
        covered = _with_neighbors(np.minimum(grid.box_shares(scene.boxes).sum(axis=0), 1).reshape(grid.rows, grid.cols))
        near = grid.box_distances(scene.boxes).min(axis=0) / grid.diagonal
    return np.column_stack([rows / _ONE_ROW, aside / _ASIDE, covered.reshape(-1) / _COVERED, near / _NEAR])


def beside(cells: Bools, rows: int, cols: int) -> Bools:
    """Return the given cells and all cells that touch them, shape (n_cells,).

    Examples:
        >>> beside(np.eye(1, 12, dtype=bool)[0], 3, 4).nonzero()[0].tolist()
        [0, 1, 4, 5]
    """
    values = cells.reshape(rows, cols)
    return np.asarray(np.any([values, *_around(np.pad(values, 1))], axis=0)).reshape(-1)


def _with_neighbors(values: Floats) -> Floats:
    """Return, for each cell, the average of its own value and the mean of its eight neighbors."""
    mixed: Floats = (values + np.mean(_around(np.pad(values, 1, mode="edge")), axis=0)) / 2
    return mixed


def _around(padded: NDArray[Any]) -> list[NDArray[Any]]:
    """Return the eight neighbors of each cell, from an array padded by one cell on each side."""
    rows, cols = padded.shape[0] - 2, padded.shape[1] - 2
    steps = [(down, right) for down in (0, 1, 2) for right in (0, 1, 2) if (down, right) != (1, 1)]
    return [padded[down : down + rows, right : right + cols] for down, right in steps]

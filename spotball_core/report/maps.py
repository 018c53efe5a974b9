"""The heat maps of a report: where the ball and the guesses are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spotball_core.grid import Grid
from spotball_core.pages.maps import HeatMap, MapRow, Tile
from spotball_core.report.numbers.records import CellMap
from spotball_core.schema.policy import Window
from spotball_core.text.numbers import listed, plural, quantity
from spotball_core.typing import FloatArray

N_TOLD = 3
"""How many cells a map's words name."""


def map_row(
    title: str, ball: CellMap, guesses: Sequence[tuple[str, CellMap]], grid: Grid, window: Window | None
) -> MapRow:
    """A sport's maps.

    Args:
        title: the sport.
        ball: where the ball is.
        guesses: the name of each map, and where its guesses are.
        grid: of the maps.
        window: the center window; None where the grid has none.
    """
    counted = [("the ball", "cell", ball), *((name, "guess", cells) for name, cells in guesses)]
    top = max(max(cells.shares) for _, _, cells in counted) or 1.0
    maps = []
    for name, what, cells in counted:
        n = f"{plural(round(cells.n), what)}, {plural(cells.n_images, 'image')}"
        shares = np.array(cells.shares)
        maps.append(HeatMap(name, n, tiles(shares / top, grid), _words(name, n, shares, grid, cells.in_window)))
    outline = _around(window, grid) if window else None
    return MapRow(title, grid, outline, tuple(maps), quantity(top, "share"))


def tiles(density: FloatArray, grid: Grid) -> tuple[Tile, ...]:
    """The cells that hold something, shape (n_cells,) of densities from 0 to 1."""
    return tuple(
        Tile(float(x1), float(y1), float(x2 - x1), float(y2 - y1), float(density[cell]))
        for cell, (x1, y1, x2, y2) in enumerate(grid.rectangles)
        if density[cell] > 0
    )


def top_cells(shares: FloatArray, grid: Grid, n: int = N_TOLD) -> str:
    """The cells with the largest shares, in words.

    Examples:
        >>> grid = Grid.standard()
        >>> top_cells(grid.mask(["D5", "D6"]) / 2, grid)
        'D5 (50.0%) and D6 (50.0%)'
    """
    order = sorted(np.flatnonzero(shares > 0), key=lambda cell: -shares[cell])[:n]
    return listed([f"{grid.labels[cell]} ({quantity(float(shares[cell]), 'share')})" for cell in order])


def _around(window: Window, grid: Grid) -> Tile:
    (top, bottom), (left, right) = window
    wide, high = grid.cell_width, grid.cell_height
    return Tile((left - 1) * wide, (top - 1) * high, (right - left + 1) * wide, (bottom - top + 1) * high, 0.0)


def _words(name: str, n: str, shares: FloatArray, grid: Grid, in_window: float | None) -> str:
    words = f"{name}: {n}; most at {top_cells(shares, grid)}" if shares.any() else f"{name}: {n}"
    if in_window is not None and shares.any():
        words += f"; {quantity(in_window, 'share')} in the center window"
    return words

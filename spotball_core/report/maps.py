"""Prepare the heat maps of a report: where the ball and the guesses are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spotball_core.grid import Grid
from spotball_core.plots.heat_maps import HeatMap, SportMaps
from spotball_core.report.numbers.records import CellMap
from spotball_core.text.numbers import quantity
from spotball_core.text.words import listed, plural
from spotball_core.typing import FloatArray

N_NAMED = 3
"""Number of cells that a map's description names."""


def sport_maps(title: str, ball: CellMap, guesses: Sequence[tuple[str, CellMap]], grid: Grid) -> SportMaps:
    """Return the heat maps of a sport: the ball's map, then the maps of guesses.

    Args:
        title: the sport.
        ball: positions of the ball, pooled over images.
        guesses: the name and the positions of the guesses of each further map.
        grid: the grid of the maps.
    """
    maps = []
    for name, what, cells in [("the ball", "cell", ball), *((name, "guess", cells) for name, cells in guesses)]:
        n = f"{plural(round(cells.n), what)}, {plural(cells.n_images, 'image')}"
        maps.append(HeatMap(name, n, cells.shares, _words(name, n, np.array(cells.shares), grid, cells.in_window)))
    return SportMaps(title, tuple(maps))


def top_cells(shares: FloatArray, grid: Grid, n: int = N_NAMED) -> str:
    """Return a phrase that names the n cells with the largest shares.

    Examples:
        >>> grid = Grid.standard()
        >>> top_cells(grid.mask(["D5", "D6"]) / 2, grid)
        'D5 (50.0%) and D6 (50.0%)'
    """
    order = sorted(np.flatnonzero(shares > 0), key=lambda cell: -shares[cell])[:n]
    return listed([f"{grid.labels[cell]} ({quantity(float(shares[cell]), 'share')})" for cell in order])


def _words(name: str, n: str, shares: FloatArray, grid: Grid, in_window: float | None) -> str:
    words = f"{name}: {n}; most at {top_cells(shares, grid)}" if shares.any() else f"{name}: {n}"
    if in_window is not None and shares.any():
        words += f"; {quantity(in_window, 'share')} in the center window"
    return words

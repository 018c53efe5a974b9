"""Prepare heat maps for a page: the same maps as in figure files, as rectangles that scale to any width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spotball_core.grid import Grid
from spotball_core.plots.heat_maps import HeatMapChart
from spotball_core.schema.policy import Window
from spotball_core.text.numbers import quantity
from spotball_core.typing import FloatArray


@dataclass(frozen=True, slots=True)
class Tile:
    """A cell with guesses: its rectangle in pixels of the image, and its density from 0 to 1."""

    x: float
    y: float
    wide: float
    high: float
    density: float


@dataclass(frozen=True, slots=True)
class MapFigure:
    """Heat maps with their title and caption.

    Attributes:
        name: name of the files, unique on the page.
        title: what the maps show.
        caption: how to read the maps.
        chart: the maps.
    """

    name: str
    title: str
    caption: str
    chart: HeatMapChart

    @property
    def window(self) -> Tile | None:
        """The outline of the center window; None if the chart shows no window."""
        return _around(self.chart.window, self.chart.grid) if self.chart.window else None

    @property
    def top(self) -> str:
        """The share of guesses that the strongest color stands for, as text."""
        return quantity(self.chart.top, "share")

    def tiles(self, shares: FloatArray | Sequence[float]) -> tuple[Tile, ...]:
        """Return the cells of a map with a share above 0."""
        return tiles(np.asarray(shares) / self.chart.top, self.chart.grid)


def tiles(density: FloatArray, grid: Grid) -> tuple[Tile, ...]:
    """Return the cells with a density above 0, from densities of shape (n_cells,)."""
    return tuple(
        Tile(float(x1), float(y1), float(x2 - x1), float(y2 - y1), float(density[cell]))
        for cell, (x1, y1, x2, y2) in enumerate(grid.rectangles)
        if density[cell] > 0
    )


def heat(density: FloatArray, grid: Grid) -> str:
    """Return the cells with a density above 0 as SVG: one path for all cells of the same opacity.

    The SVG is written here and not in the template, because a report has tens of thousands of cells.

    Args:
        density: the opacity of each cell, from 0 to 1, shape (n_cells,).
        grid: the grid of the cells.

    Examples:
        >>> grid = Grid.standard()
        >>> heat(grid.mask(["A1", "A2"]) * 0.5, grid)
        '<path d="M0 0h64v60h-64zM64 0h64v60h-64z" fill-opacity="0.5"/>'
    """
    paths: dict[float, list[str]] = {}
    for tile in tiles(np.round(density, 2), grid):
        square = f"M{tile.x:g} {tile.y:g}h{tile.wide:g}v{tile.high:g}h{-tile.wide:g}z"
        paths.setdefault(tile.density, []).append(square)
    return "".join(f'<path d="{"".join(squares)}" fill-opacity="{opacity:g}"/>' for opacity, squares in paths.items())


def _around(window: Window, grid: Grid) -> Tile:
    (top, bottom), (left, right) = window
    wide, high = grid.cell_width, grid.cell_height
    return Tile((left - 1) * wide, (top - 1) * high, (right - left + 1) * wide, (bottom - top + 1) * high, 0.0)

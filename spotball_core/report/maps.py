"""Heat maps on the grid, as the page draws them: rectangles of one color, the denser the more guesses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.errors import OptionError
from spotball_core.grid import BoolArray, FloatArray, Grid, row_name
from spotball_core.metrics.inputs import ratio
from spotball_core.metrics.strategy import Window, window_mask
from spotball_core.report.numbers import listed, plural, quantity

N_TOLD = 3
"""How many cells a map's words name."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A cell that holds something: its rectangle in pixels of the image, and how dense it is, from 0 to 1."""

    x: float
    y: float
    wide: float
    high: float
    density: float


@dataclass(frozen=True, slots=True)
class HeatMap:
    """One map: whose, of how many, its tiles, and what it shows in words."""

    name: str
    under: str
    tiles: tuple[Tile, ...]
    alt: str


@dataclass(frozen=True, slots=True)
class MapRow:
    """A sport's maps, on one grid and one scale.

    Attributes:
        title: the sport.
        grid: their grid.
        window: outline of the center window, None where the grid has none.
        maps: the truth's first.
        top: the share that the densest color stands for.
    """

    title: str
    grid: Grid
    window: Tile | None
    maps: tuple[HeatMap, ...]
    top: str


def map_row(title: str, masses: Mapping[str, tuple[ArrayLike, str]], grid: Grid, window: Window | None) -> MapRow:
    """A sport's maps.

    Args:
        title: the sport.
        masses: for each map, by its name: how often each cell of each image was named, shape (n_images, n_cells), and
            what is counted ("guess", "cell").
        grid: of the images.
        window: the center window; None for the paper's, where the grid has one.
    """
    shares = {name: _pooled(mass) for name, (mass, _) in masses.items()}
    top = max(float(share.max()) for share in shares.values()) or 1.0
    inside = _window(grid, window)
    maps = []
    for name, (mass, what) in masses.items():
        rows = np.atleast_2d(np.asarray(mass, dtype=float))
        n = f"{plural(round(float(rows.sum())), what)}, {plural(int(rows.any(axis=-1).sum()), 'image')}"
        maps.append(HeatMap(name, n, tiles(shares[name] / top, grid), _words(name, n, shares[name], grid, inside)))
    outline = _around(inside, grid) if inside is not None else None
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


def window_words(window: Window) -> str:
    """A window in words.

    Examples:
        >>> window_words(((2, 4), (3, 7)))
        'rows B–D, columns 3–7'
    """
    (top, bottom), (left, right) = window
    return f"rows {row_name(top)}–{row_name(bottom)}, columns {left}–{right}"


def _pooled(mass: ArrayLike) -> FloatArray:
    total = np.atleast_2d(np.asarray(mass, dtype=float)).sum(axis=0)
    return np.nan_to_num(ratio(total, total.sum()))


def _window(grid: Grid, window: Window | None) -> BoolArray | None:
    try:
        return window_mask(grid, window)
    except OptionError:
        return None


def _around(inside: BoolArray, grid: Grid) -> Tile:
    corners = grid.rectangles[inside]
    (x1, y1), (x2, y2) = corners[:, :2].min(axis=0), corners[:, 2:].max(axis=0)
    return Tile(float(x1), float(y1), float(x2 - x1), float(y2 - y1), 0.0)


def _words(name: str, n: str, shares: FloatArray, grid: Grid, inside: BoolArray | None) -> str:
    words = f"{name}: {n}; most at {top_cells(shares, grid)}" if shares.any() else f"{name}: {n}"
    if inside is not None and shares.any():
        words += f"; {quantity(float(shares[inside].sum()), 'share')} in the center window"
    return words

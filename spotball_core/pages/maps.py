"""Heat maps as a page draws them: rectangles of one color, the denser the more guesses."""

from __future__ import annotations

from dataclasses import dataclass

from spotball_core.grid import Grid


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

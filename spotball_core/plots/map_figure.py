"""The figure of heat maps, for a file: where guesses fall, a row for each sport."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from spotball_core.grid import Grid, row_name
from spotball_core.plots.sheet import (
    ABOVE,
    BELOW,
    FAINT,
    FOOT,
    HEADER,
    INK,
    NAME,
    NAME_WIDTH,
    SMALL,
    SMALL_WIDTH,
    WIDTH,
    above_axes,
    at,
    axes_at,
    entitle,
    foot_height,
    new_sheet,
    percent,
    wrapped,
)
from spotball_core.schema.policy import Window
from spotball_core.text.numbers import window_words
from spotball_core.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

# In inches.
_HEADING, _MAPS_LEFT, _MAPS_RIGHT, _MAP_GAP = 0.14, 0.28, 0.85, 0.12
_MAPS_ACROSS = 6


@dataclass(frozen=True, slots=True)
class MapPanel:
    """One heat map: whose guesses, how many, and the share of them in each cell, shape (n_cells,)."""

    name: str
    size: str
    shares: FloatArray | Sequence[float]


def draw_maps(maps: Mapping[str, Sequence[MapPanel]], grid: Grid, window: Window | None, note: str = "") -> Figure:
    """Draw heat maps with one color scale, in percent of a map's guesses.

    Args:
        maps: by sport, at least one for each.
        grid: the grid; its size in pixels gives the maps their shape.
        window: rows and columns, first and last, to outline; None for no outline.
        note: a line for the figure's foot.
    """
    top = max(float(max(one.shares)) for row in maps.values() for one in row) or 1.0
    foot = "Guesses pooled over images; one color scale for all maps; white: never named."
    if window:
        foot += f" Outline: the center window ({window_words(window)})."
    feet = wrapped([foot, note])

    # Laid out by hand, in inches from the top left: maps of one size, whatever the length of the texts above them.
    across = _maps_across(maps.values())
    step = (WIDTH - _MAPS_LEFT - _MAPS_RIGHT + _MAP_GAP) / across
    wide = step - _MAP_GAP
    high = wide * grid.height / grid.width
    n_lines = sum(math.ceil(len(row) / across) for row in maps.values())
    body = len(maps) * _HEADING + n_lines * (ABOVE + high + BELOW)
    figure = new_sheet(height=HEADER + body + foot_height(feet))
    y = HEADER
    for sport, row in maps.items():
        figure.text(*at(figure, _MAPS_LEFT, y), sport, va="top", fontsize=NAME, fontweight="bold", color=INK)
        y += _HEADING
        for start in range(0, len(row), across):
            y += ABOVE
            for place, one in enumerate(row[start : start + across]):
                axes = axes_at(figure, _MAPS_LEFT + place * step, y, wide, high)
                shown = _draw_map(axes, one, grid, window, top)
                axes.tick_params(labelleft=place == 0)
            y += high + BELOW
    bar_height = min(body - _HEADING - ABOVE - BELOW, 2.5)
    bar = axes_at(figure, WIDTH - _MAPS_RIGHT + 0.18, HEADER + (body - bar_height) / 2, 0.11, bar_height)
    figure.colorbar(shown, cax=bar, format=percent).outline.set_visible(False)
    bar.set_ylabel("share of the guesses in a map", fontsize=SMALL, color=INK)
    bar.tick_params(labelsize=SMALL, colors=INK, length=2)
    entitle(figure, "Where the guesses fall", feet)
    return figure


def _draw_map(axes: Axes, one: MapPanel, grid: Grid, window: Window | None, top: float) -> AxesImage:
    from matplotlib.patches import Rectangle

    image = axes.imshow(
        np.ma.masked_equal(np.asarray(one.shares), 0).reshape(grid.rows, grid.cols),
        cmap="magma_r",
        vmin=0,
        vmax=top,
        extent=(0.5, grid.cols + 0.5, grid.rows + 0.5, 0.5),
        aspect=grid.cell_height / grid.cell_width,
        interpolation="nearest",
    )
    if window:
        (first_row, last_row), (first_col, last_col) = window
        corner, wide, high = (first_col - 0.5, first_row - 0.5), last_col - first_col + 1, last_row - first_row + 1
        axes.add_patch(Rectangle(corner, wide, high, fill=False, edgecolor="#2a9d8f", linewidth=1.0))
    axes.set_title(one.name, fontsize=NAME, color=INK, loc="left", pad=15)
    above_axes(axes, one.size, 5, fontsize=SMALL, color=FAINT)
    axes.set_xticks(range(1, grid.cols + 1))
    axes.set_yticks(range(1, grid.rows + 1), [row_name(row) for row in range(1, grid.rows + 1)])
    axes.tick_params(labelsize=FOOT, length=0, pad=2, colors=FAINT)
    axes.spines[:].set_color("#c9c9c9")
    return image


def _maps_across(rows: Iterable[Sequence[MapPanel]]) -> int:
    """How many maps stand side by side: few enough for the texts above them, and lines about equally full."""
    rows = list(rows)
    text = max(max(NAME_WIDTH * len(one.name), SMALL_WIDTH * len(one.size)) for row in rows for one in row)
    room = int((WIDTH - _MAPS_LEFT - _MAPS_RIGHT + _MAP_GAP) / text)
    most = max(map(len, rows))
    return math.ceil(most / math.ceil(most / max(1, min(_MAPS_ACROSS, room))))

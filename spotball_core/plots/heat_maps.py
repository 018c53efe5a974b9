"""Draw heat maps of guesses: a block of maps per sport, all on one color scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from spotball_core.grid import Grid, row_name
from spotball_core.plots.canvas import LABEL, NAME, SMALL, FigureFrame, axes_at, columns, fitted, framed
from spotball_core.plots.theme import FAINT, INK, PAPER, RULE, THEME
from spotball_core.schema.policy import Window
from spotball_core.text.numbers import quantity, window_words
from spotball_core.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# In inches: minimum width of a map; space between maps, for row labels, above and below a map; a sport's heading.
_LEAST_WIDE, _GAP, _LEFT, _ABOVE, _BELOW, _HEADING = 1.7, 0.12, 0.16, 0.36, 0.22, 0.24
_SCALE_HIGH, _SCALE_WIDE = 0.3, 1.2
_PAD = 0.05
"""Space between a map and the labels of its rows and columns, in inches."""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """One map: the respondent, its numbers of guesses and images, each cell's share of guesses, and a description."""

    name: str
    size: str
    shares: FloatArray | Sequence[float]
    alt: str = ""


@dataclass(frozen=True, slots=True)
class SportMaps:
    """The maps of one sport; the ground truth's is first."""

    title: str
    maps: tuple[HeatMap, ...]


@dataclass(frozen=True)
class HeatMapChart:
    """Heat maps in the theme's color `heat`: a stronger color means more guesses. Cells never named have no color.

    Attributes:
        sports: the maps of each sport; at least one sport with at least one map.
        grid: the grid of the maps; its size in pixels determines the shape of the maps.
        window: first and last row and column of an outline; None for no outline.
    """

    sports: tuple[SportMaps, ...]
    grid: Grid
    window: Window | None = None

    wide: ClassVar[bool] = True

    @property
    def names(self) -> tuple[str, ...]:
        """The sport of each block of maps."""
        return tuple(sport.title for sport in self.sports)

    @cached_property
    def top(self) -> float:
        """The share of guesses that the strongest color stands for, which is the same in all maps."""
        return max(float(max(heat_map.shares)) for sport in self.sports for heat_map in sport.maps) or 1.0

    @property
    def caption(self) -> str:
        """The caption that explains how to read the maps."""
        outline = f" The dashed line shows the center window ({window_words(self.window)})." if self.window else ""
        return (
            "Each map shows where one respondent guessed, over all images; the map of the ball shows its cells. Blank "
            f"cells have no guesses.{outline}"
        )

    @property
    def _aspect(self) -> float:
        return self.grid.height / self.grid.width

    def draw(self, places: Sequence[int], frame: FigureFrame | None = None) -> Figure:
        """Draw the maps of the sports with the given indices; if `frame` is given, add its title, notes and margins."""
        blocks = [self.sports[place] for place in places]
        width = frame.width if frame else columns(2)
        room = width - _LEFT + _GAP
        across = min(max(int(room / (_LEAST_WIDE + _GAP)), 1), max(len(block.maps) for block in blocks))
        wide = min(room / across - _GAP, 1.25 * _LEAST_WIDE)
        high = wide * self._aspect
        line = _ABOVE + high + _BELOW
        n_lines = sum(math.ceil(len(block.maps) / across) for block in blocks)
        body = len(blocks) * _HEADING + n_lines * line
        figure, left, top = framed(body + _SCALE_HIGH, width, frame)
        total_wide, total_high = figure.get_size_inches()
        y = top
        for block in blocks:
            look: dict[str, Any] = {"va": "top", "fontsize": NAME, "fontweight": "bold", "color": INK}
            figure.text(left / total_wide, 1 - y / total_high, block.title, **look)
            y += _HEADING
            for start in range(0, len(block.maps), across):
                for place, heat_map in enumerate(block.maps[start : start + across]):
                    x = left + _LEFT + place * (wide + _GAP)
                    axes = axes_at(figure, x, y + _ABOVE, wide, high)
                    self._draw(axes, heat_map, wide, row_names=place == 0)
                y += line
        self._draw_scale(figure, left + _LEFT, y + 0.04)
        return figure

    def _draw(self, axes: Axes, heat_map: HeatMap, wide: float, *, row_names: bool) -> None:
        from matplotlib.patches import Rectangle

        grid = self.grid
        shares = np.asarray(heat_map.shares).reshape(grid.rows, grid.cols)
        extent = (0.5, grid.cols + 0.5, grid.rows + 0.5, 0.5)
        axes.imshow(
            shares, cmap=heat_colors(), vmin=0, vmax=self.top, extent=extent, aspect="auto", interpolation="nearest"
        )
        look: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
        axes.annotate(fitted(heat_map.name, LABEL, wide), (0, 1), (0, 14), fontsize=LABEL, color=INK, **look)
        axes.annotate(fitted(heat_map.size, SMALL, wide), (0, 1), (0, 3), fontsize=SMALL, color=FAINT, **look)
        # Draw lines as two collections and labels as texts: ticks took most of the time of a report's figures.
        axes.set_axis_off()
        lines: dict[str, Any] = {"color": RULE, "linewidth": 0.5, "clip_on": False}
        axes.vlines(np.arange(0.5, grid.cols + 1), 0.5, grid.rows + 0.5, **lines)
        axes.hlines(np.arange(0.5, grid.rows + 1), 0.5, grid.cols + 0.5, **lines)
        labels: dict[str, Any] = {"fontsize": SMALL, "color": FAINT}
        cell_wide, cell_high = wide / grid.cols, wide * self._aspect / grid.rows
        for col in _labeled(grid.cols):
            axes.text(col, grid.rows + 0.5 + _PAD / cell_high, str(col), ha="center", va="top", **labels)
        for row in _labeled(grid.rows) if row_names else ():
            axes.text(0.5 - _PAD / cell_wide, row, row_name(row), ha="right", va="center_baseline", **labels)
        if self.window:
            (first_row, last_row), (first_col, last_col) = self.window
            size = last_col - first_col + 1, last_row - first_row + 1
            look = {"fill": False, "edgecolor": THEME["truth"][0], "linewidth": 1.0, "zorder": 3}
            axes.add_patch(Rectangle((first_col - 0.5, first_row - 0.5), *size, linestyle=(0, (3, 2)), **look))

    def _draw_scale(self, figure: Figure, x: float, y: float) -> None:
        """Draw the color scale, with the values at its ends."""
        axes = axes_at(figure, x, y, _SCALE_WIDE, 0.11)
        axes.imshow(np.linspace(0, 1, 64)[None], cmap=heat_colors(), aspect="auto", extent=(0, 1, 0, 1))
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set(color=RULE, linewidth=0.5)
        look: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "center"}
        text = f"share of the guesses in a map, 0 to {quantity(self.top, 'share')}"
        axes.annotate(text, (1, 0.5), (5, 0), fontsize=SMALL, color=FAINT, **look)


def heat_colors() -> Any:
    """Return the color map of densities: from the paper color to the theme's heat color."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("heat", [PAPER, THEME["heat"][0]])


def _labeled(n: int) -> range:
    """Return which of n rows or columns, counted from 1, have a label: about ten."""
    return range(1, n + 1, math.ceil(n / 10))

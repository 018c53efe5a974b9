"""Draw the surface of the threshold fit: its objective for every pair of thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from spotball_core.plots.canvas import COLUMN, LINE, SMALL, FigureFrame, PanelBox, headline, panels
from spotball_core.plots.theme import FAINT, INK
from spotball_core.report.numbers.records import ThresholdFit
from spotball_core.text.words import plural
from spotball_core.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

_COLORS = "viridis"
_WHITE, _BLACK = "#fefefe", "#000000"  # colors on the surface, whose colors do not depend on the theme


@dataclass(frozen=True)
class SurfaceChart:
    """Chart with one panel: tau on x, theta on y, objective as color, and an outline around values near the maximum.

    Attributes:
        surface: the threshold fit.
        chosen: the policy's tau and theta.
    """

    surface: ThresholdFit
    chosen: tuple[float, float]

    wide: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        """The title of each panel."""
        return ("all sports",)

    def draw(self, places: Sequence[int], frame: FigureFrame | None = None) -> Figure:
        """Draw the panel; if `frame` is given, add its title, notes and margins."""
        box = PanelBox(COLUMN - 1.6, COLUMN - 1.6, 0.6, 1.0, 0.5 + LINE, 0.45)
        figure, (axes,) = panels(len(places), box, frame)
        self._draw(axes, figure, box)
        return figure

    def _draw(self, axes: Axes, figure: Figure, box: PanelBox) -> None:
        from matplotlib.ticker import FuncFormatter

        surface = self.surface
        across, up = _edges(np.array(surface.taus)), _edges(np.array(surface.thetas))
        mesh = axes.pcolormesh(across, up, np.array(surface.objective).T, cmap=_COLORS, edgecolor="face", linewidth=0.4)
        axes.add_collection(_outline(surface, across, up))
        for (tau, theta), marker in ((surface.best, "*"), (self.chosen, "X")):
            look: dict[str, Any] = {
                "color": _WHITE,
                "markeredgecolor": _BLACK,
                "markeredgewidth": 0.8,
                "linestyle": "none",
            }
            axes.plot([tau], [theta], marker, markersize=13 if marker == "*" else 9, clip_on=False, zorder=4, **look)
        axes.set_xlabel("τ, share of the image's diagonal", fontsize=SMALL, color=FAINT, labelpad=2)
        axes.set_ylabel("θ, share of the cell's area", fontsize=SMALL, color=FAINT, labelpad=4)
        axes.tick_params(labelsize=SMALL, labelcolor=FAINT, color=FAINT, length=2)
        axes.spines[:].set_visible(False)
        left, bottom, wide, high = axes.get_position().bounds
        inch = wide / box.wide
        bar = figure.add_axes((left + wide + 0.15 * inch, bottom, 0.13 * inch, high))
        percent = FuncFormatter(lambda value, _: f"{100 * value:g}%")
        figure.colorbar(mesh, cax=bar, format=percent).outline.set_visible(False)
        bar.tick_params(labelsize=SMALL, labelcolor=FAINT, color=FAINT, length=2)
        bar.set_ylabel("(near-player rate + overlap rate) / 2", fontsize=SMALL, color=FAINT)
        headline(axes, "all sports", plural(surface.n_responses, "response"), box)
        self._draw_key(axes)

    def _draw_key(self, axes: Axes) -> None:
        """Draw the legend of markers and lines above the plot."""
        from matplotlib.lines import Line2D

        mark: dict[str, Any] = {"color": _WHITE, "markeredgecolor": _BLACK, "markeredgewidth": 0.8, "linestyle": "none"}
        handles = [
            Line2D([], [], marker="*", markersize=10, label="largest", **mark),
            Line2D([], [], marker="X", markersize=7, label="this report", **mark),
            Line2D([], [], color=INK, linewidth=1.8, label="within 1% of largest"),
        ]
        look: dict[str, Any] = {
            "fontsize": SMALL,
            "frameon": False,
            "borderpad": 0,
            "borderaxespad": 0.4,
            "handletextpad": 0.4,
        }
        key = axes.legend(
            handles=handles, loc="lower left", bbox_to_anchor=(-0.2, 1), ncols=3, columnspacing=1.2, **look
        )
        for text in key.get_texts():
            text.set_color(INK)


def _edges(values: FloatArray) -> FloatArray:
    """Return the edges of the cells with these centers, shape (n + 1,)."""
    if len(values) == 1:
        return np.array([values[0] - 0.5, values[0] + 0.5])
    middles = (values[1:] + values[:-1]) / 2
    return np.concatenate([[2 * values[0] - middles[0]], middles, [2 * values[-1] - middles[-1]]])


def _outline(surface: ThresholdFit, across: FloatArray, up: FloatArray) -> LineCollection:
    """Return the border of the near-largest values: every edge between a cell inside and a cell outside."""
    from matplotlib.collections import LineCollection

    inside = np.pad(np.array(surface.near_largest), 1)
    upright = np.argwhere(inside[1:, 1:-1] != inside[:-1, 1:-1])
    level = np.argwhere(inside[1:-1, 1:] != inside[1:-1, :-1])
    lines = [((across[i], up[j]), (across[i], up[j + 1])) for i, j in upright]
    lines += [((across[i], up[j]), (across[i + 1], up[j])) for i, j in level]
    return LineCollection(lines, colors=_BLACK, linewidths=1.8, zorder=3, capstyle="round")

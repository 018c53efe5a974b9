"""Draw how crowded images are: the number of players, and the share of the image that they cover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from spotball_core.plots.canvas import (
    COLUMN,
    LABEL,
    SMALL,
    FigureFrame,
    PanelBox,
    headline,
    panels,
    quiet_axes,
    scale,
    text_width,
)
from spotball_core.plots.theme import FAINT, INK
from spotball_core.schema.report import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Strip:
    """One sport's images: the value of each image, and their mean with its interval."""

    name: str
    values: tuple[float, ...]
    mean: float
    ends: Interval | None


@dataclass(frozen=True)
class StripChart:
    """Chart with one panel per measure, one row per sport, one dot per image.

    Attributes:
        measures: for each panel, the title, one strip per sport, and whether the values are shares.
    """

    measures: tuple[tuple[str, tuple[Strip, ...], bool], ...]

    wide: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        """The title of each panel."""
        return tuple(title for title, _, _ in self.measures)

    def draw(self, places: Sequence[int], frame: FigureFrame | None = None) -> Figure:
        """Draw the panels with the given indices; if `frame` is given, add its title, notes and margins."""
        names = [strip.name for _, strips, _ in self.measures for strip in strips]
        left = max(text_width(name, LABEL) for name in names) + 0.15
        rows = max(len(strips) for _, strips, _ in self.measures)
        box = PanelBox(COLUMN - left - 0.15, 0.5 * rows, left, 0.15, 0.36, 0.3)
        figure, axes = panels(len(places), box, frame)
        for panel_axes, place in zip(axes, places, strict=True):
            _draw_strips(panel_axes, *self.measures[place], box)
        return figure


def _draw_strips(axes: Axes, title: str, strips: Sequence[Strip], percent: bool, box: PanelBox) -> None:
    quiet_axes(axes)
    axes.set_ylim(len(strips) - 0.5, -0.5)
    end = 1.05 * (max(max(strip.values) for strip in strips) or 1.0)
    axes.set_xlim(0, end)
    axes.set_xticks(*scale(0, end, percent=percent, n=5))
    axes.set_yticks([])
    for y, strip in enumerate(strips):
        # Spread the dots by a fixed pattern, so that equal values do not hide each other and the figure is
        # reproducible.
        spread = (np.arange(len(strip.values)) * 0.618034 % 1 - 0.5) * 0.4
        axes.plot(strip.values, y + 0.12 + spread, "o", color=FAINT, alpha=0.45, markersize=3.2, markeredgewidth=0)
        if strip.ends:
            axes.hlines(y - 0.3, *strip.ends, color=INK, linewidth=1.6)
        axes.plot([strip.mean], [y - 0.3], "D", color=INK, markersize=4.5)
        text = f"mean {100 * strip.mean:.1f}%" if percent else f"mean {strip.mean:.2f}"
        look: dict[str, Any] = {"textcoords": "offset points", "fontsize": SMALL, "color": INK, "va": "center_baseline"}
        axes.annotate(text, ((strip.ends or (0, strip.mean))[1], y - 0.3), (5, 0), **look)
        look |= {"xycoords": ("axes fraction", "data"), "fontsize": LABEL}
        axes.annotate(strip.name, (0, y), (-72 * (box.left - 0.06), 0), **look)
    headline(axes, title, "", box)

"""How crowded images are: players, and how much of the image they cover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.grid import FloatArray, Grid
from spotball_core.report.canvas import LABEL, SMALL, Box, Frame, headline, panels, quiet_axes, scale, text_width
from spotball_core.report.look import FAINT, INK
from spotball_core.schema.report import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def coverage(boxes: ArrayLike, grid: Grid) -> float:
    """Share of the image that at least one of these boxes covers.

    Args:
        boxes: shape (n_boxes, 4), as (x1, y1, x2, y2) in pixels; what is outside the image does not count.
        grid: gives the image's size.

    Examples:
        >>> coverage([[0, 0, 320, 180], [160, 0, 320, 360]], Grid.standard())  # a quarter, and an eighth more below
        0.375
    """
    corners = np.asarray(boxes, dtype=float).reshape(-1, 4)
    corners = np.clip(corners, 0, [grid.width, grid.height, grid.width, grid.height])
    # Between neighboring edges every box covers all or nothing.
    xs, ys = np.unique(corners[:, ::2]), np.unique(corners[:, 1::2])
    if len(xs) < 2 or len(ys) < 2:
        return 0.0
    left, top = xs[:-1], ys[:-1]
    x1, y1, x2, y2 = (corners[:, i, None] for i in range(4))
    across, down = (x1 <= left) & (left < x2), (y1 <= top) & (top < y2)
    covered = (across[:, :, None] & down[:, None, :]).any(axis=0)
    return float((covered * np.diff(xs)[:, None] * np.diff(ys)[None]).sum() / (grid.width * grid.height))


@dataclass(frozen=True, slots=True)
class Strip:
    """One sport's images: a value each, shape (n_images,), and their mean with its interval."""

    name: str
    values: FloatArray
    mean: float
    ends: Interval | None


@dataclass(frozen=True)
class StripChart:
    """A panel for each measure, a row for each sport, a dot for each image.

    Attributes:
        measures: title, strips and whether the values are shares, of each panel.
    """

    measures: tuple[tuple[str, tuple[Strip, ...], bool], ...]

    @property
    def n(self) -> int:
        """How many panels there are."""
        return len(self.measures)

    def draw(self, places: Sequence[int], frame: Frame | None = None) -> Figure:
        """Some of the panels, as they are on a page, or framed for a file."""
        names = [strip.name for _, strips, _ in self.measures for strip in strips]
        left = max(text_width(name, LABEL) for name in names) + 0.15
        rows = max(len(strips) for _, strips, _ in self.measures)
        box = Box(max(4.4 - left, 2.0), 0.5 * rows, left, 0.15, 0.36, 0.3)
        figure, axes = panels(len(places), box, frame)
        for one, place in zip(axes, places, strict=True):
            _draw_strips(one, *self.measures[place], box)
        return figure


def _draw_strips(axes: Axes, title: str, strips: Sequence[Strip], percent: bool, box: Box) -> None:
    quiet_axes(axes)
    axes.set_ylim(len(strips) - 0.5, -0.5)
    end = 1.05 * (max(float(strip.values.max()) for strip in strips) or 1.0)
    axes.set_xlim(0, end)
    axes.set_xticks(*scale(0, end, percent=percent, n=5))
    axes.set_yticks([])
    for y, strip in enumerate(strips):
        # Spread by a fixed pattern, so that equal values do not hide each other and the figure is always the same.
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

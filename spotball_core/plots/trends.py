"""Draw line charts with one panel per respondent, for example of accuracy at each distance or proximity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Final

from spotball_core.plots.canvas import (
    COLUMN,
    LINE,
    SMALL,
    FigureFrame,
    PanelBox,
    headline,
    panels,
    quiet_axes,
    scale,
    text_width,
)
from spotball_core.plots.theme import FAINT, INK, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HIGH: Final = 2.0
_HEAD: Final = 0.5
_BELOW: Final = 0.42
_LEFT: Final = 0.5
_SPREAD: Final = 0.06
"""Horizontal shift between the lines of a panel, as a share of the smallest step, so that intervals do not overlap."""


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """A point of a line: its horizontal position `step`, its value, and the ends of its confidence interval."""

    step: float
    value: float
    ends: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class TrendLine:
    """A line of a chart: points with a common name, color and marker.

    Attributes:
        name: the label at the right end of the line; empty for no label.
        color: as #rrggbb.
        marker: a Matplotlib marker.
        points: the points in the order of their steps.
        dashed: whether the line is dashed and without markers, as for baselines and model predictions.
        joined: whether the points are connected by a line.
    """

    name: str
    color: str
    marker: str
    points: tuple[TrendPoint, ...]
    dashed: bool = False
    joined: bool = True


@dataclass(frozen=True, slots=True)
class TrendPanel:
    """One panel of a chart: its title, a note under the title, and its lines."""

    title: str
    under: str
    lines: tuple[TrendLine, ...]


@dataclass(frozen=True)
class TrendChart:
    """A chart of panels with the same axes.

    Attributes:
        panels: the panels; at least one.
        across: label of the horizontal axis.
        up: label of the vertical axis, with the unit.
        percent: whether values are shares, which the axis shows in percent.
        start: a value that the vertical axis includes, such as 0; None to start the axis at the lowest value.
        step: function that formats a step for the horizontal axis.
    """

    panels: tuple[TrendPanel, ...]
    across: str
    up: str
    percent: bool = False
    start: float | None = None
    step: Callable[[float], str] = "{:g}".format

    wide: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        """The title of each panel."""
        return tuple(panel.title for panel in self.panels)

    def draw(self, places: Sequence[int], frame: FigureFrame | None = None) -> Figure:
        """Draw the panels with the given indices; `frame` adds a title and notes if the figure is written to a file."""
        selected = [self.panels[place] for place in places]
        names = [line.name for panel in self.panels for line in panel.lines]
        right = max(text_width(name, SMALL) for name in names) + 0.12
        box = PanelBox(COLUMN - _LEFT - right, _HIGH, _LEFT, right, _HEAD, _BELOW)
        figure, axes = panels(len(selected), box, frame)
        for axis, panel in zip(axes, selected, strict=True):
            self._draw(axis, panel, box)
        return figure

    def _scale(self) -> tuple[float, float]:
        values = [
            value
            for panel in self.panels
            for line in panel.lines
            for point in line.points
            for value in (point.value, *(point.ends or ()))
        ]
        low, high = min(values), max(values)
        if self.start is not None:
            low = min(low, self.start)
        room = 0.06 * ((high - low) or 1.0)
        return (low if low == self.start else low - room), high + room

    def _draw(self, axes: Axes, panel: TrendPanel, box: PanelBox) -> None:
        quiet_axes(axes, "y")
        low, high = self._scale()
        axes.set_ylim(low, high)
        axes.set_yticks(*scale(low, high, percent=self.percent))
        steps = sorted(
            {point.step for chart_panel in self.panels for line in chart_panel.lines for point in line.points}
        )
        gap = min((b - a for a, b in pairwise(steps)), default=1.0)
        axes.set_xlim(steps[0] - 0.35 * gap, steps[-1] + 0.35 * gap)
        axes.set_xticks(steps, [self.step(step) for step in steps])
        axes.set_xlabel(self.across, fontsize=SMALL, color=FAINT, labelpad=2)
        solid = [line for line in panel.lines if not line.dashed]
        for line in panel.lines:
            shift = 0.0 if line.dashed else (solid.index(line) - (len(solid) - 1) / 2) * _SPREAD * gap
            _draw_line(axes, line, shift)
        self._name_lines(axes, panel)
        headline(axes, panel.title, f"{panel.under}, {self.up}" if panel.under else self.up, box)

    def _name_lines(self, axes: Axes, panel: TrendPanel) -> None:
        """Write each line's name at its end, moved apart if names would touch."""
        low, high = self._scale()
        inch = (high - low) / _HIGH
        named = [line for line in panel.lines if line.points and line.name]
        ends = sorted(((line.points[-1].value, line) for line in named), key=lambda pair: pair[0])
        heights: list[float] = []
        for value, _ in ends:
            heights.append(max(value, heights[-1] + LINE * inch) if heights else value)
        over = heights[-1] - high if heights else 0.0
        heights = [height - max(0.0, over) for height in heights]
        look: dict[str, Any] = {"textcoords": "offset points", "va": "center_baseline", "annotation_clip": False}
        for height, (_, line) in zip(heights, ends, strict=True):
            color = FAINT if line.dashed else INK
            axes.annotate(
                line.name, (1, height), (5, 0), xycoords=("axes fraction", "data"), fontsize=SMALL, color=color, **look
            )
            axes.plot(
                [1.0], [height], line.marker, color=line.color, markersize=3, transform=_edge(axes), clip_on=False
            )


def trend_alts(panels: Sequence[TrendPanel], *, percent: bool) -> tuple[str, ...]:
    """Return the text alternative (alt text) of each panel, which lists the panel's numbers."""

    def told(value: float) -> str:
        return f"{value:.0%}" if percent else f"{value:.2f}"

    return tuple(
        f"{panel.title}: "
        + "; ".join(
            f"{line.name or 'model'} {', '.join(told(point.value) for point in line.points)}" for line in panel.lines
        )
        + "."
        for panel in panels
    )


def _edge(axes: Axes) -> Any:
    """Return a transform with x in shares of the axes and y in data coordinates."""
    return axes.get_yaxis_transform()


def _draw_line(axes: Axes, line: TrendLine, shift: float) -> None:
    x = [point.step + shift for point in line.points]
    y = [point.value for point in line.points]
    if line.dashed:
        axes.plot(x, y, color=line.color, linewidth=1.1, linestyle=(0, (4, 2)), zorder=1)
        return
    for at, point in zip(x, line.points, strict=True):
        if point.ends:
            axes.vlines(at, *point.ends, color=line.color, linewidth=1.6, zorder=2)
    if line.joined:
        axes.plot(x, y, color=line.color, linewidth=1.3, zorder=2.5)
    look: dict[str, Any] = {"markersize": 5.5, "markeredgecolor": PAPER, "markeredgewidth": 0.6, "zorder": 3}
    axes.plot(x, y, line.marker, color=line.color, linestyle="none", **look)

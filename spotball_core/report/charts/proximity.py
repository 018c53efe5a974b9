"""Draw how near guesses are to players: near-player rate against overlap rate, and the density of distances."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from spotball_core.plots.canvas import (
    COLUMN,
    LABEL,
    LINE,
    SMALL,
    FigureFrame,
    PanelBox,
    Point,
    headline,
    mark,
    panels,
    quiet_axes,
    scale,
    segments,
    text_width,
)
from spotball_core.plots.theme import FAINT, INK, PAPER, THEME
from spotball_core.schema.report import Interval
from spotball_core.text.numbers import quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_LEFT, _RIGHT = 0.65, 0.15
_SIDE = COLUMN - _LEFT - _RIGHT
_TRUTH = THEME["truth"][0]
_MARK, _CLEAR = 0.06, 0.02
"""Half the side of a point's square, and the distance between labels and lines, in inches."""

_TRIES = 60
"""Number of horizontal and of vertical positions that are tried for a label."""

_FAR = 0.25
"""A label farther from its point than this is connected to it by a line, in inches."""


Box = tuple[float, float, float, float]
"""Left, bottom, right and top of a box, in inches from the plot's corner."""


@dataclass(frozen=True, slots=True)
class ProximityPoint:
    """One respondent and prompt: near-player rate on x, overlap rate on y, with their intervals."""

    respondent: str
    prompt: str
    color: str
    marker: str
    near: float
    overlap: float
    near_ends: Interval | None
    overlap_ends: Interval | None


@dataclass(frozen=True, slots=True)
class ProximityPanel:
    """One sport's points, and the rates (near, overlap) of the ball's cells; None if these are not known."""

    title: str
    under: str
    points: tuple[ProximityPoint, ...]
    truth: tuple[float, float] | None


@dataclass(frozen=True)
class ProximityChart:
    """Chart of near-player rate against overlap rate, with one panel per sport and the same scales in all panels."""

    panels: tuple[ProximityPanel, ...]

    wide: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        """The title of each panel."""
        return tuple(panel.title for panel in self.panels)

    def draw(self, places: Sequence[int], frame: FigureFrame | None = None) -> Figure:
        """Draw the panels with the given indices; if `frame` is given, add its title, notes and margins."""
        box = PanelBox(_SIDE, _SIDE, _LEFT, _RIGHT, 0.5, 0.45 + LINE)
        figure, axes = panels(len(places), box, frame)
        for panel_axes, place in zip(axes, places, strict=True):
            self._draw(panel_axes, self.panels[place], box)
        return figure

    @cached_property
    def _ends(self) -> tuple[Interval, Interval]:
        """The start and end of the near-player scale, and those of the overlap scale."""
        near = [v for panel in self.panels for p in panel.points for v in (p.near, *(p.near_ends or ()))]
        overlap = [v for panel in self.panels for p in panel.points for v in (p.overlap, *(p.overlap_ends or ()))]
        for panel in self.panels:
            if panel.truth:
                near.append(panel.truth[0])
                overlap.append(panel.truth[1])

        def room(values: Sequence[float]) -> Interval:
            gap = 0.08 * (max(values) - min(values) or 0.2)
            return min(values) - gap, max(values) + gap

        return room(near), room(overlap)

    def _draw(self, axes: Axes, panel: ProximityPanel, box: PanelBox) -> None:
        quiet_axes(axes, "both")
        axes.set_xlim(*self._ends[0])
        axes.set_ylim(*self._ends[1])
        axes.set_xticks(*scale(*self._ends[0], percent=True, n=5))
        axes.set_yticks(*scale(*self._ends[1], percent=True, n=5))
        axes.set_xlabel("near-player rate", fontsize=SMALL, color=FAINT, labelpad=2)
        axes.set_ylabel("overlap rate", fontsize=SMALL, color=FAINT, labelpad=4)
        look: dict[str, Any] = {
            "markeredgecolor": PAPER,
            "markeredgewidth": 0.6,
            "clip_on": False,
            "linestyle": "none",
            "zorder": 3,
        }
        crosses = [(ends, point.color) for point in panel.points for ends in _cross(point)]
        segments(axes, [ends for ends, _ in crosses], [color for _, color in crosses], width=0.8, alpha=0.45)
        for point in panel.points:
            axes.plot([point.near], [point.overlap], point.marker, color=point.color, markersize=6.5, **look)
            rates = f"near {quantity(point.near, 'share')}, overlap {quantity(point.overlap, 'share')}"
            mark(axes, f"{point.respondent} {point.prompt}".rstrip() + f": {rates}")
        labels = _ends_of_respondents(panel.points)
        if panel.truth:
            axes.plot([panel.truth[0]], [panel.truth[1]], "*", color=_TRUTH, markersize=12, **look)
            labels.append(("the ball", *panel.truth))
        for name, middle, base, start in self._placed(labels, panel):
            place = (72 * middle, 72 * base)
            half = text_width(name, LABEL) / 2
            edge = min(max(start[0], middle - half), middle + half)
            if math.hypot(edge - start[0], base - start[1]) > _FAR:
                side = base + math.copysign(LINE / 2, start[1] - base) if abs(start[1] - base) > LINE / 2 else base
                ends = [(x / _SIDE, y / _SIDE) for x, y in (start, (edge, side))]
                axes.plot(*zip(*ends, strict=True), color=FAINT, linewidth=0.6, transform=axes.transAxes, zorder=1.5)
            axes.annotate(
                name,
                (0, 0),
                place,
                xycoords="axes fraction",
                textcoords="offset points",
                ha="center",
                va="center",
                fontsize=LABEL,
                color=INK,
                zorder=4,
                bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.5, "alpha": 0.7},
            )
        headline(axes, panel.title, panel.under, box)
        self._draw_key(axes, panel)

    def _inches(self, near: float, overlap: float) -> tuple[float, float]:
        (left, right), (low, high) = self._ends
        return (near - left) / (right - left) * _SIDE, (overlap - low) / (high - low) * _SIDE

    def _obstacles(self, panel: ProximityPanel) -> list[Box]:
        """Return the boxes of points and interval lines, which labels must not cover."""
        boxes = []
        for point in panel.points:
            x, y = self._inches(point.near, point.overlap)
            boxes.append((x - _MARK, y - _MARK, x + _MARK, y + _MARK))
            if point.near_ends:
                left, right = (self._inches(end, point.overlap)[0] for end in point.near_ends)
                boxes.append((left, y - _CLEAR, right, y + _CLEAR))
            if point.overlap_ends:
                low, high = (self._inches(point.near, end)[1] for end in point.overlap_ends)
                boxes.append((x - _CLEAR, low, x + _CLEAR, high))
        if panel.truth:
            x, y = self._inches(*panel.truth)
            boxes.append((x - 2 * _MARK, y - 2 * _MARK, x + 2 * _MARK, y + 2 * _MARK))
        return boxes

    def _placed(
        self, labels: Sequence[tuple[str, float, float]], panel: ProximityPanel
    ) -> Iterator[tuple[str, float, float, tuple[float, float]]]:
        """Yield each label's text, position and point, in inches. The label is as near to its point as possible without
        covering other marks."""
        taken = self._obstacles(panel)
        for name, near, overlap in labels:
            x, y = self._inches(near, overlap)
            half = text_width(name, LABEL) / 2 + _CLEAR
            middles = (
                np.linspace(half, max(_SIDE - half, half), _TRIES),
                np.linspace(LINE / 2, _SIDE - LINE / 2, _TRIES),
            )
            middle, base = (grid.ravel() for grid in np.meshgrid(*middles))
            others = np.array(taken).reshape(-1, 4).T[:, :, None]
            wide = np.minimum(middle + half, others[2]) - np.maximum(middle - half, others[0])
            high = np.minimum(base + LINE / 2, others[3]) - np.maximum(base - LINE / 2, others[1])
            covered = (wide.clip(0) * high.clip(0)).sum(axis=0)
            # Measure from the label's nearest edge, so that a label to the right of its point is as near as one above
            # it.
            away = np.hypot((np.abs(middle - x) - half).clip(0), np.abs(base - y))
            best = int(np.argmin(1e3 * covered + away))
            spot = float(middle[best]), float(base[best])
            taken.append((spot[0] - half, spot[1] - LINE / 2, spot[0] + half, spot[1] + LINE / 2))
            yield name, *spot, (x, y)

    def _draw_key(self, axes: Axes, panel: ProximityPanel) -> None:
        """Draw the legend of prompts and their markers below the axis."""
        key = {p.prompt: p.marker for p in panel.points if p.prompt}
        x = 0.0
        for prompt, marker in key.items() if len(key) > 1 else ():
            y = -(0.45 + LINE / 2) / _SIDE
            axes.plot(
                [(x + 0.05) / _SIDE], [y], marker, color=FAINT, markersize=5, clip_on=False, transform=axes.transAxes
            )
            place = (72 * (x + 0.14), 72 * y * _SIDE)
            look: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "center"}
            axes.annotate(prompt, (0, 0), place, fontsize=SMALL, color=FAINT, annotation_clip=False, **look)
            x += 0.14 + text_width(prompt, SMALL) + 0.2


def _cross(point: ProximityPoint) -> Iterator[tuple[Point, Point]]:
    """Yield the ends of each rate's interval, as a line through the point."""
    if point.near_ends:
        left, right = point.near_ends
        yield (left, point.overlap), (right, point.overlap)
    if point.overlap_ends:
        low, high = point.overlap_ends
        yield (point.near, low), (point.near, high)


def _ends_of_respondents(points: Sequence[ProximityPoint]) -> list[tuple[str, float, float]]:
    """Return one label per respondent: its name, and the rates of its last prompt."""
    return list({point.respondent: (point.respondent, point.near, point.overlap) for point in points}.values())


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

"""How near the players guesses fall: near-player rate against overlap rate."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from spotball_core.plots.canvas import (
    LABEL,
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
from spotball_core.plots.theme import FAINT, INK, PAPER, THEME
from spotball_core.schema.report import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIDE = 3.1
_TRUTH = THEME["truth"][0]
_MARK = 0.1
"""Half the side of the square around a point that labels keep out of, in inches."""

_FAR = 0.25
"""A label farther from its point than this has a line to it, in inches."""


@dataclass(frozen=True, slots=True)
class ProximityPoint:
    """One respondent and prompt: near-player rate across, overlap rate up, with their intervals."""

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
    """One sport's points, and where the truth is."""

    title: str
    under: str
    points: tuple[ProximityPoint, ...]
    truth: tuple[float, float] | None


@dataclass(frozen=True)
class ProximityChart:
    """Near-player rate against overlap rate, on one scale for all panels."""

    panels: tuple[ProximityPanel, ...]

    @property
    def n(self) -> int:
        """How many panels there are."""
        return len(self.panels)

    def draw(self, places: Sequence[int], frame: FigureFrame | None = None) -> Figure:
        """Some of the panels, as they are on a page, or framed for a file."""
        box = PanelBox(_SIDE, _SIDE, 0.65, 0.15, 0.5, 0.45 + LINE)
        figure, axes = panels(len(places), box, frame)
        for one, place in zip(axes, places, strict=True):
            self._draw(one, self.panels[place], box)
        return figure

    @cached_property
    def _ends(self) -> tuple[Interval, Interval]:
        """Where the scales begin and end."""
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
        for point in panel.points:
            if point.near_ends:
                axes.hlines(point.overlap, *point.near_ends, color=point.color, linewidth=0.8, alpha=0.45)
            if point.overlap_ends:
                axes.vlines(point.near, *point.overlap_ends, color=point.color, linewidth=0.8, alpha=0.45)
            axes.plot([point.near], [point.overlap], point.marker, color=point.color, markersize=6.5, **look)
        labels = _ends_of_respondents(panel.points)
        if panel.truth:
            axes.plot([panel.truth[0]], [panel.truth[1]], "*", color=_TRUTH, markersize=12, **look)
            labels.append(("the ball", *panel.truth))
        for name, middle, base, start in self._placed(labels, panel):
            place = (72 * middle, 72 * base)
            if math.hypot(middle - start[0], base - start[1]) > _FAR + text_width(name, LABEL) / 2:
                ends = [(x / _SIDE, y / _SIDE) for x, y in (start, (middle, base))]
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

    def _placed(
        self, labels: Sequence[tuple[str, float, float]], panel: ProximityPanel
    ) -> Iterator[tuple[str, float, float, tuple[float, float]]]:
        """Where each label goes, in inches, and its point: near it, where it covers least of points and labels."""
        marks = [self._inches(p.near, p.overlap) for p in panel.points]
        marks += [self._inches(*panel.truth)] if panel.truth else []
        taken = [(x - _MARK, y - _MARK, x + _MARK, y + _MARK) for x, y in marks]
        for name, near, overlap in labels:
            x, y = self._inches(near, overlap)
            half = text_width(name, LABEL) / 2
            # Around the point, in rings: right and left of it by half the label's width more than above and below.
            steps = [
                ((ring + half) * math.cos(angle), (ring + 0.02) * math.sin(angle))
                for ring in (0.13, 0.3, 0.5, 0.75)
                for angle in np.arange(16) * math.pi / 8
            ]
            spots = [(x + dx, y + dy) for dx, dy in steps]
            boxes = [(a - half, b - LINE / 2, a + half, b + LINE / 2) for a, b in spots]
            costs = [
                sum(_shared(box, other) for other in taken) + 10 * _outside(box) + 0.02 * (step // 16)
                for step, box in enumerate(boxes)
            ]
            best = int(np.argmin(costs))
            taken.append(boxes[best])
            yield name, *spots[best], (x, y)

    def _draw_key(self, axes: Axes, panel: ProximityPanel) -> None:
        """Which marker is which prompt, under the axis."""
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


def _ends_of_respondents(points: Sequence[ProximityPoint]) -> list[tuple[str, float, float]]:
    """A label for each respondent, at its last prompt's point."""
    return list({point.respondent: (point.respondent, point.near, point.overlap) for point in points}.values())


def _shared(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> float:
    """Area that two boxes share."""
    return max(min(a[2], b[2]) - max(a[0], b[0]), 0) * max(min(a[3], b[3]) - max(a[1], b[1]), 0)


def _outside(box: tuple[float, float, float, float]) -> float:
    """How far a box sticks out of the plot, in inches."""
    return max(-box[0], 0) + max(-box[1], 0) + max(box[2] - _SIDE, 0) + max(box[3] - _SIDE, 0)

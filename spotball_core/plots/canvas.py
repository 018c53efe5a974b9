"""What the report's figures share: panels of one size side by side, their type, their axes.

Sizes are in inches, laid out by hand, so that a panel looks the same alone on a page and beside others in a file.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from spotball_core.plots.theme import FAINT, INK, PAPER, RULE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ACROSS = 3
"""Panels side by side in a file, at most."""

NAME, LABEL, SMALL, FOOT, TITLE = 10.0, 9.0, 8.0, 7.5, 12.0
"""Sizes of type, in points."""

LINE = 0.17
"""Height of a line of small type."""

_CHARACTER = 0.0092
"""Width of a character for each point of its type, on the safe side."""

_RUNNING = 0.0081
"""The same in running text, where wide and narrow characters even out."""

_MARGIN, _HEADER, _GAP = 0.12, 0.38, 0.3

_LEAST = 7.6
"""Width of a framed figure, at least: a signature's."""


@dataclass(frozen=True, slots=True)
class PanelBox:
    """A panel: the plot's width and height, and the room around it."""

    wide: float
    high: float
    left: float
    right: float
    above: float
    below: float

    @property
    def outer(self) -> tuple[float, float]:
        """Width and height with the room around the plot."""
        return self.left + self.wide + self.right, self.above + self.high + self.below


@dataclass(frozen=True, slots=True)
class FigureFrame:
    """What a figure has around its panels when it stands alone, in a file: a title, and notes at its foot."""

    title: str
    notes: tuple[str, ...]


@contextmanager
def plain_style() -> Iterator[None]:
    """Matplotlib's own settings, whatever the user has changed: the same figure on every machine."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        # Names come from the data: a dollar sign in one is no formula.
        matplotlib.rcParams["text.parse_math"] = False
        yield


def panels(
    n: int, box: PanelBox, frame: FigureFrame | None = None, *, across: int = ACROSS
) -> tuple[Figure, list[Axes]]:
    """A figure with n empty panels, some side by side; without a frame it is the panels and nothing else."""
    from matplotlib.figure import Figure

    across, gap = min(n, across), _GAP if frame else 0.0
    step_right, step_down = box.outer[0] + gap, box.outer[1] + gap
    wide, high = across * step_right - gap, math.ceil(n / across) * step_down - gap
    header = _HEADER if frame else 0.0
    feet: list[str] = []
    if frame:
        wide = max(wide, _LEAST) + 2 * _MARGIN
        fits = int((wide - 2 * _MARGIN) / (_RUNNING * FOOT))
        feet = [line for note in frame.notes for line in textwrap.wrap(note, fits, break_on_hyphens=False)]
    total = header + high + (2 * _MARGIN + len(feet) * 1.5 * FOOT / 72 if frame else 0.0)
    margin = _MARGIN if frame else 0.0
    figure = Figure(figsize=(wide, total), facecolor=PAPER)
    axes = []
    for place in range(n):
        down, right = divmod(place, across)
        x, y = margin + right * step_right + box.left, header + down * step_down + box.above
        size = (x / wide, 1 - (y + box.high) / total, box.wide / wide, box.high / total)
        axes.append(figure.add_axes(size))
    if frame:
        look: dict[str, Any] = {"ha": "left", "color": INK, "fontsize": TITLE, "fontweight": "bold"}
        figure.text(margin / wide, 1 - margin / total, frame.title, va="top", **look)
        look = {"ha": "left", "color": FAINT, "fontsize": FOOT, "linespacing": 1.5}
        figure.text(margin / wide, margin / total, "\n".join(feet), va="bottom", **look)
    return figure, axes


def text_width(text: str, points: float) -> float:
    """About how wide a text is."""
    return len(text) * points * _CHARACTER


def headline(axes: Axes, title: str, under: str, box: PanelBox) -> None:
    """A panel's title and what stands under it, flush with the panel's left edge."""
    look: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "annotation_clip": False}
    left, top = -72 * (box.left - 0.06), 72 * (box.above - 0.05)
    axes.annotate(title, (0, 1), (left, top), va="top", fontsize=NAME, fontweight="bold", color=INK, **look)
    axes.annotate(under, (0, 1), (left, top - 13), va="top", fontsize=SMALL, color=FAINT, **look)


def quiet_axes(axes: Axes, grid: str = "x") -> None:
    """Axes that stay behind what is drawn: faint grid lines, no frame, no ticks."""
    axes.grid(axis=grid, color=RULE, linewidth=0.7)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    axes.tick_params(labelsize=SMALL, labelcolor=FAINT, color=RULE, length=0)


def scale(start: float, end: float, *, percent: bool, n: int = 4) -> tuple[list[float], list[str]]:
    """Where a scale has ticks, about n of them, and what they say.

    Examples:
        >>> scale(0, 0.25, percent=True)
        ([0.0, 0.08, 0.16, 0.24], ['0%', '8%', '16%', '24%'])
    """
    from matplotlib.ticker import MaxNLocator

    ticks = [float(tick) for tick in MaxNLocator(n).tick_values(start, end) if start <= tick <= end]
    return ticks, [f"{100 * tick:g}%" if percent else f"{tick:g}" for tick in ticks]


def stacked(spans: Sequence[tuple[float, float]], gap: float) -> list[int]:
    """On which line each text goes, from 0, so that texts with these extents do not touch; first come, first placed.

    Examples:
        >>> stacked([(0, 5), (4, 8), (9, 12)], gap=1.0)
        [0, 1, 0]
    """
    lines: list[list[tuple[float, float]]] = []
    places = []
    for low, high in spans:
        place = next(
            (i for i, line in enumerate(lines) if all(high + gap <= a or low - gap >= b for a, b in line)), len(lines)
        )
        if place == len(lines):
            lines.append([])
        lines[place].append((low, high))
        places.append(place)
    return places

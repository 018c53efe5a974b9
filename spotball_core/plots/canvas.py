"""Provide what all figures share: sizes, fonts, axes, and panels of equal size side by side.

Sizes are those of a figure on a page, in inches (fonts: in points). Figures for print and slides have the same layout,
scaled as a whole (`plots.presets`), so a panel looks the same everywhere.
"""

from __future__ import annotations

import gc
import math
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from spotball_core.errors import MissingExtraError
from spotball_core.plots.theme import FAINT, INK, PAPER, RULE
from spotball_core.text.words import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Point = tuple[float, float]

COLUMN, GAP = 3.74, 0.42
"""Width of a panel with its labels, and the space between two panels, in inches."""

NAME, LABEL, SMALL, TITLE = 10.0, 9.0, 8.0, 12.0
"""Font sizes in points. SMALL is the smallest."""

LINE = 0.17
"""Height of a line of small text, in inches."""

PANEL = "panel_"
"""Prefix of the SVG id of a panel's axes. It is followed by the panel's left, top, width and height in points."""

_MARGIN, _HEADER = 0.12, 0.38

_SAFE = 1.03
"""Factor by which texts are assumed to be wider than in DejaVu Sans, because a browser may use another font."""


def columns(n: int) -> float:
    """Return the width of n panels side by side, in inches."""
    return n * COLUMN + (n - 1) * GAP


@dataclass(frozen=True, slots=True)
class PanelBox:
    """The size of a panel in inches: the plot's width and height, and the space around the plot."""

    wide: float
    high: float
    left: float
    right: float
    above: float
    below: float

    @property
    def outer(self) -> tuple[float, float]:
        """The width and height of the panel, including the space around the plot."""
        return self.left + self.wide + self.right, self.above + self.high + self.below


@dataclass(frozen=True, slots=True)
class FigureFrame:
    """The title, notes and margins around the panels of a figure file.

    Attributes:
        title: the title at the top; empty for none.
        notes: paragraphs at the bottom: the caption and the signature.
        width: width of the figure without its margins, in inches.
        margin: margin on all sides, in inches.
    """

    title: str = ""
    notes: tuple[str, ...] = ()
    width: float = columns(3)
    margin: float = _MARGIN


@contextmanager
def plain_style() -> Iterator[None]:
    """Use Matplotlib's default settings within a `with` block, so that a figure is the same on every machine.

    Garbage collection is paused in the block: figures consist of many objects that refer to each other, and collection
    would take a fifth of the drawing time.

    Raises:
        MissingExtraError: if matplotlib is not installed.
    """
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError as error:
        raise MissingExtraError("drawing", "report") from error

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        # Names come from the data, so a dollar sign in a name must not start a formula.
        matplotlib.rcParams["text.parse_math"] = False
        collecting = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if collecting:
                gc.enable()


def framed(height: float, width: float, frame: FigureFrame | None) -> tuple[Figure, float, float]:
    """Create an empty figure for a drawing of this size, with the frame's title and notes around it.

    Args:
        height: height of the drawing, in inches.
        width: width of the drawing, in inches; the frame may be wider.
        frame: the title, notes and margins; None for the drawing alone.

    Returns:
        The figure, and the distances of the drawing from the figure's left edge and top edge, in inches.
    """
    from matplotlib.figure import Figure

    if frame is None:
        return Figure(figsize=(width, height), facecolor=PAPER), 0.0, 0.0
    margin, inner = frame.margin, max(width, frame.width)
    header = margin + (_HEADER - _MARGIN if frame.title else 0.0)
    feet = [line for note in frame.notes for line in _lines(note, inner)]
    total = header + height + margin + (len(feet) * 1.5 * SMALL / 72 + _MARGIN if feet else 0.0)
    wide = inner + 2 * margin
    figure = Figure(figsize=(wide, total), facecolor=PAPER)
    look: dict[str, Any] = {"ha": "left", "color": INK, "fontsize": TITLE, "fontweight": "bold"}
    if frame.title:
        figure.text(margin / wide, 1 - margin / total, frame.title, va="top", **look)
    look = {"ha": "left", "color": FAINT, "fontsize": SMALL, "linespacing": 1.5}
    if feet:
        figure.text(margin / wide, margin / total, "\n".join(feet), va="bottom", **look)
    return figure, margin, header


def axes_at(figure: Figure, x: float, y: float, wide: float, high: float) -> Axes:
    """Add axes whose top left corner is at (x, y), in inches from the figure's top left."""
    total_wide, total_high = figure.get_size_inches()
    return figure.add_axes((x / total_wide, 1 - (y + high) / total_high, wide / total_wide, high / total_high))


def panels(n: int, box: PanelBox, frame: FigureFrame | None = None) -> tuple[Figure, list[Axes]]:
    """Create a figure with n empty panels, in rows that fit the frame's width, or in one row without a frame.

    Returns:
        The figure, and the axes of each panel.
    """
    (step_right, step_down), gap = box.outer, GAP if frame else 0.0
    fits = int((frame.width + gap + 1e-9) / (step_right + gap)) if frame else n
    across = min(n, max(fits, 1))
    down = math.ceil(n / across)
    wide, high = across * (step_right + gap) - gap, down * (step_down + gap) - gap
    figure, left, top = framed(high, wide, frame)
    axes = []
    for place in range(n):
        row, column = divmod(place, across)
        x, y = left + column * (step_right + gap), top + row * (step_down + gap)
        of_panel = axes_at(figure, x + box.left, y + box.above, box.wide, box.high)
        start_panel(of_panel, x, y, step_right, step_down)
        axes.append(of_panel)
    return figure, axes


def start_panel(axes: Axes, x: float, y: float, wide: float, high: float) -> None:
    """Start a panel: these axes, and all axes until the next panel starts. A page can cut it out of an SVG file.

    Args:
        axes: the panel's first axes.
        x: distance of the panel's left edge from the figure's, in inches.
        y: distance of the panel's top edge from the figure's.
        wide: width of the panel.
        high: height of the panel.
    """
    axes.set_gid(PANEL + "_".join(f"{72 * inches:.2f}" for inches in (x, y, wide, high)))
    axes.patch.set_visible(False)


def text_width(text: str, points: float) -> float:
    """Estimate the width of a text in inches, slightly larger than its width in DejaVu Sans."""
    return _SAFE * points / 72 * sum(map(_advance, text))


def fitted(text: str, points: float, width: float) -> str:
    """Shorten a text in its middle until it fits a width in inches."""
    most = len(text)
    short = text
    while most > 3 and text_width(short, points) > width:
        most -= 1
        short = shortened(text, most)
    return short


def _lines(text: str, width: float) -> list[str]:
    """Wrap small text to a width in inches."""
    average = text_width(text, SMALL) / max(len(text), 1)
    return textwrap.wrap(text, max(int(width / (average or 1.0) / 1.04), 10), break_on_hyphens=False)


@cache
def _advance(character: str) -> float:
    """Return a character's width in DejaVu Sans, as a multiple of the font size."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    size = 100
    font = get_font(findfont(FontProperties(family="DejaVu Sans")))
    font.set_size(size, 72)
    if not font.get_char_index(ord(character)):
        return 1.0  # Another font draws this character; characters missing in DejaVu Sans are wide.
    return float(font.load_char(ord(character)).linearHoriAdvance / 65536 / size)


def headline(axes: Axes, title: str, under: str, box: PanelBox) -> None:
    """Write a panel's title and subtitle, aligned with the panel's left edge."""
    look: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "annotation_clip": False}
    left, top = -72 * (box.left - 0.06), 72 * (box.above - 0.05)
    axes.annotate(title, (0, 1), (left, top), va="top", fontsize=NAME, fontweight="bold", color=INK, **look)
    axes.annotate(under, (0, 1), (left, top - 13), va="top", fontsize=SMALL, color=FAINT, **look)


def quiet_axes(axes: Axes, grid: str = "x") -> None:
    """Style axes as a background: faint grid lines, no frame, no ticks."""
    axes.grid(axis=grid, color=RULE, linewidth=0.7)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)
    axes.tick_params(labelsize=SMALL, labelcolor=FAINT, color=RULE, length=0)


def segments(
    axes: Axes, ends: Sequence[tuple[Point, Point]], colors: Sequence[str], *, width: float = 1.6, alpha: float = 1.0
) -> None:
    """Draw straight lines between pairs of points, in data coordinates, without changing the limits of the axes.

    One collection holds all lines, because separate lines would take most of a figure's time.
    """
    from matplotlib.collections import LineCollection

    if ends:
        lines = LineCollection(list(ends), colors=list(colors), linewidths=width, alpha=alpha, zorder=2)
        axes.add_collection(lines, autolim=False)


def mark(axes: Axes, text: str) -> None:
    """Add a description to the last plotted element. A page shows this text when the pointer is on the element."""
    line = axes.lines[-1]
    line.set_gid(f"mark-{axes.figure.axes.index(axes)}-{len(axes.lines)}")
    line.set_label(text)


def scale(start: float, end: float, *, percent: bool, n: int = 4) -> tuple[list[float], list[str]]:
    """Return the values of about n ticks on a scale from `start` to `end`, and the ticks' labels.

    Examples:
        >>> scale(0, 0.25, percent=True)
        ([0.0, 0.08, 0.16, 0.24], ['0%', '8%', '16%', '24%'])
    """
    from matplotlib.ticker import MaxNLocator

    ticks = [float(tick) for tick in MaxNLocator(n).tick_values(start, end) if start <= tick <= end]
    return ticks, [f"{100 * tick:g}%" if percent else f"{tick:g}" for tick in ticks]


def stacked(spans: Sequence[tuple[float, float]], gap: float) -> list[int]:
    """Assign each text to a line (from 0), so that texts on the same line are at least `gap` apart.

    `spans` holds the start and end of each text, in the unit of the gap.

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

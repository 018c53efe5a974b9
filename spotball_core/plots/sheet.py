"""A sheet of one width, laid out by hand in inches from its top left: a title, what is drawn, small type at the foot.

Figures are made with matplotlib's objects, never with pyplot, so that making one touches no global state and opens no
window. Drawing needs the extra `report`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from spotball_core.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

WIDTH = 10.0
MARGIN, HEADER = 0.1, 0.42
ABOVE, BELOW = 0.42, 0.32
"""Room around axes, for what is written there."""

NAME_WIDTH, SMALL_WIDTH = 0.068, 0.059
"""Of a character of text of these sizes, on the safe side."""

NAME, SMALL, FOOT = 9, 7.5, 7
"""Sizes of type in points; 7 are 10 pixels on a picture shown 1000 pixels wide."""

INK, FAINT = "#222222", "#6b6b6b"

_TITLE = 12
_FOOT_CHARACTERS = 195


def new_sheet(*, height: float) -> Figure:
    """An empty sheet, this many inches high.

    Raises:
        MissingExtraError: without matplotlib.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("drawing", "report") from error
    return Figure(figsize=(WIDTH, height), facecolor="white")


def entitle(figure: Figure, title: str, feet: Sequence[str], legend: Sequence[Line2D] = ()) -> None:
    """Title above, small type below, both flush left."""
    x, y = at(figure, MARGIN, MARGIN)
    figure.suptitle(title, x=x, y=y, ha="left", va="top", fontsize=_TITLE, fontweight="bold", color=INK)
    _, y = at(figure, 0, figure.get_figheight() - MARGIN)
    foot = "\n".join(feet)
    figure.supxlabel(foot, x=x, y=y, ha="left", va="bottom", fontsize=FOOT, color=FAINT, linespacing=1.5)
    if legend:
        corner = at(figure, WIDTH - MARGIN, MARGIN / 2)
        looks = {"ncols": len(legend), "fontsize": SMALL, "frameon": False, "borderpad": 0.3}
        figure.legend(handles=legend, loc="upper right", bbox_to_anchor=corner, **looks)


def wrapped(feet: Iterable[str]) -> list[str]:
    """Notes for the foot, in lines that fit the width."""
    return [line for foot in feet for line in textwrap.wrap(foot, _FOOT_CHARACTERS, break_on_hyphens=False)]


def foot_height(feet: Sequence[str]) -> float:
    """How high so many lines of notes are, in inches."""
    return 2 * MARGIN + len(feet) * 1.5 * FOOT / 72


def at(figure: Figure, x: float, y: float) -> tuple[float, float]:
    """A point in inches from the top left, as matplotlib wants it: in shares of the figure from the bottom left."""
    return x / WIDTH, 1 - y / figure.get_figheight()


def axes_at(figure: Figure, x: float, y: float, wide: float, high: float) -> Axes:
    """Axes whose top left corner is at (x, y), all in inches from the figure's top left."""
    left, bottom = at(figure, x, y + high)
    return figure.add_axes((left, bottom, wide / WIDTH, high / figure.get_figheight()))


def above_axes(axes: Axes, text: str, points: float, **look: Any) -> None:
    """Text this many points above the axes, flush with their left edge."""
    axes.annotate(text, (0, 1), (0, points), xycoords="axes fraction", textcoords="offset points", **look)


def percent(share: float, _position: float = 0) -> str:
    """A share in percent, as matplotlib asks for its ticks."""
    return f"{100 * share:.4g}%"

"""Draw values with intervals: one row per respondent and prompt, one panel per sport."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

from spotball_core.plots.canvas import (
    COLUMN,
    LABEL,
    LINE,
    SMALL,
    FigureFrame,
    PanelBox,
    fitted,
    headline,
    panels,
    quiet_axes,
    scale,
    segments,
    stacked,
    text_width,
)
from spotball_core.plots.theme import FAINT, INK, PAPER
from spotball_core.text.numbers import quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW, _APART = 0.19, 0.35  # a row's height; space between respondents
_HEAD, _BELOW, _GAP = 0.46, 0.4, 0.08
_LEAST_WIDE = 0.9

NAME_ROOM, PROMPT_ROOM = 22, 12
"""Maximum number of characters of a respondent's name and of a prompt."""


@dataclass(frozen=True, slots=True)
class Dot:
    """One row: a value with its interval.

    Attributes:
        respondent: the respondent.
        prompt: the prompt, if the respondent has several; else empty.
        color: as #rrggbb.
        marker: a Matplotlib marker.
        value: the value; None to draw only the note.
        ends: the ends of the interval; None for no interval.
        tick: another value of the same row, drawn as a short vertical line; None for no tick.
        note: the text in the right margin; if empty, the value with its unit.
    """

    respondent: str
    prompt: str
    color: str
    marker: str
    value: float | None
    ends: tuple[float, float] | None = None
    tick: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A vertical line through all rows, with a name, and a band if it has an interval."""

    value: float
    name: str
    color: str = FAINT
    ends: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class DotPanel:
    """The rows and lines of one sport."""

    title: str
    under: str
    dots: tuple[Dot, ...]
    rules: tuple[ReferenceLine, ...] = ()


@dataclass(frozen=True)
class DotChart:
    """Chart of values with intervals, whose panels share one scale.

    Attributes:
        panels: the panels; at least one.
        axis: label of the scale, with its unit.
        unit: unit of the values, as in `text.numbers.quantity`.
        start: highest value at which the scale may start; None to start at the lowest value.
        end: lowest value at which the scale may end; None to end at the highest value.
    """

    panels: tuple[DotPanel, ...]
    axis: str
    unit: str
    start: float | None = 0.0
    end: float | None = None

    wide: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        """The title of each panel."""
        return tuple(panel.title for panel in self.panels)

    def draw(self, places: Sequence[int], frame: FigureFrame | None = None) -> Figure:
        """Draw the panels with the given indices; if `frame` is given, add its title, notes and margins."""
        chosen = [self.panels[place] for place in places]
        rows = max(_positions(panel.dots)[1] for panel in chosen)
        lines = max(max(stacked(self._spans(panel), gap=0.0), default=-1) + 1 for panel in chosen)
        box = PanelBox(self._wide, rows * _ROW, self._left, self._right, _HEAD + lines * LINE, _BELOW)
        figure, axes = panels(len(chosen), box, frame)
        for panel_axes, panel in zip(axes, chosen, strict=True):
            self._draw(panel_axes, panel, rows, box)
        return figure

    # Widths in inches, equal for all panels, also if only some are drawn ---------------------------------------

    @cached_property
    def _names(self) -> float:
        return max((text_width(dot.respondent, LABEL) for panel in self.panels for dot in panel.dots), default=0.0)

    @cached_property
    def _left(self) -> float:
        prompts = max((text_width(dot.prompt, SMALL) for panel in self.panels for dot in panel.dots), default=0.0)
        return self._names + (prompts + _GAP if prompts else 0.0) + 2 * _GAP

    @cached_property
    def _right(self) -> float:
        return max((text_width(self.note(dot), SMALL) for panel in self.panels for dot in panel.dots), default=0) + 0.1

    @property
    def _wide(self) -> float:
        return max(COLUMN - self._left - self._right, _LEAST_WIDE)

    @cached_property
    def limits(self) -> tuple[float, float]:
        """The start and end of the scale, which all panels share."""
        values = [
            value
            for panel in self.panels
            for part in (panel.dots, panel.rules)
            for item in part
            for value in (item.value, *(item.ends or ()), getattr(item, "tick", None))
            if value is not None
        ]
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        start = low if self.start is None else min(self.start, low)
        ends_at_data = self.end is None or high > self.end
        high = high if self.end is None else max(high, self.end)
        room = 0.04 * ((high - start) or 1.0)
        return (start - room if start == low and start != self.start else start), high + ends_at_data * room

    def note(self, dot: Dot) -> str:
        """Return the text in a row's right margin."""
        return dot.note or (quantity(dot.value, self.unit) if dot.value is not None else "")

    def _inches(self, value: float) -> float:
        start, end = self.limits
        return (value - start) / (end - start) * self._wide

    def _spans(self, panel: DotPanel) -> list[tuple[float, float]]:
        """Return the horizontal extent of each line's name, in inches, moved apart where names would meet."""
        spans = []
        values = sorted(rule.value for rule in panel.rules)
        for rule in panel.rules:
            wide, x = text_width(rule.name, SMALL), self._inches(rule.value)
            turned = 0.5 if len(values) == 1 else 1.0 if values.index(rule.value) < len(values) / 2 else 0.0
            start = min(max(x - turned * wide, -self._left), self._wide + self._right - wide)
            spans.append((start, start + wide))
        return spans

    # Drawing -------------------------------------------------------------------------------------------------

    def _draw(self, axes: Axes, panel: DotPanel, n_rows: float, box: PanelBox) -> None:
        quiet_axes(axes)
        start, end = self.limits
        axes.set_xlim(start, end)
        axes.set_ylim(n_rows - 0.5, -0.5)
        axes.set_yticks([])
        self._label_axis(axes)
        spans = self._spans(panel)
        for rule, across, line in zip(panel.rules, spans, stacked(spans, gap=0.0), strict=True):
            _draw_rule(axes, rule, sum(across) / 2, line)
        look: dict[str, Any] = {
            "xycoords": ("axes fraction", "data"),
            "textcoords": "offset points",
            "va": "center_baseline",
        }
        rows = _positions(panel.dots)[0]
        _draw_intervals(axes, panel.dots, rows)
        before = None
        for dot, y in zip(panel.dots, rows, strict=True):
            _draw_dot(axes, dot, y)
            if dot.respondent != before:
                place = (-72 * (self._left - 0.06), 0)
                axes.annotate(dot.respondent, (0, y), place, ha="left", fontsize=LABEL, color=INK, **look)
            if dot.prompt:
                axes.annotate(dot.prompt, (0, y), (-72 * _GAP, 0), ha="right", fontsize=SMALL, color=FAINT, **look)
            right = (72 * (self._right - 0.04), 0)
            axes.annotate(self.note(dot), (1, y), right, ha="right", fontsize=SMALL, color=INK, **look)
            before = dot.respondent
        headline(axes, panel.title, panel.under, box)

    def _label_axis(self, axes: Axes) -> None:
        """Label the scale: as many ticks as have room, and the name below the plot or moved into the panel."""
        for n in range(4, 0, -1):
            ticks, labels = scale(*self.limits, percent=self.unit == "share", n=n)
            room = min((self._inches(b) - self._inches(a) for a, b in pairwise(ticks)), default=self._wide)
            if room > max((text_width(label, SMALL) for label in labels), default=0.0) + _GAP:
                break
        axes.set_xticks(ticks, labels)
        name = fitted(self.axis, SMALL, self._left + self._wide + self._right)
        half = text_width(name, SMALL) / 2
        middle = max(min(self._wide / 2, self._wide + self._right - half), half - self._left)
        axes.set_xlabel(name, x=middle / self._wide, fontsize=SMALL, color=FAINT, labelpad=2)


def _positions(dots: Sequence[Dot]) -> tuple[list[float], float]:
    """Return the row of each dot, with space between respondents, and the total number of rows."""
    places, y = [], 0.0
    for place, dot in enumerate(dots):
        if place and dot.respondent != dots[place - 1].respondent:
            y += _APART
        places.append(y)
        y += 1.0
    return places, max(y, 1.0)


def _draw_rule(axes: Axes, rule: ReferenceLine, middle: float, line: int) -> None:
    """Draw a reference line, with its name centered at `middle` inches, `line` text lines above the plot."""
    if rule.ends:
        axes.axvspan(*rule.ends, color=rule.color, alpha=0.14, linewidth=0, zorder=0.5)
    axes.axvline(rule.value, color=rule.color, linewidth=1.1, linestyle="-" if rule.ends else (0, (4, 2)), zorder=1)
    look: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "ha": "center", "va": "bottom"}
    axes.annotate(rule.name, (0, 1), (72 * middle, 3 + 72 * LINE * line), fontsize=SMALL, color=INK, **look)


def _draw_intervals(axes: Axes, dots: Sequence[Dot], rows: Sequence[float]) -> None:
    """Draw all intervals and ticks."""
    drawn = [(dot, y) for dot, y in zip(dots, rows, strict=True) if dot.value is not None]
    level = [(((dot.ends[0], y), (dot.ends[1], y)), dot.color) for dot, y in drawn if dot.ends]
    upright = [(((dot.tick, y - 0.32), (dot.tick, y + 0.32)), dot.color) for dot, y in drawn if dot.tick is not None]
    lines = [*level, *upright]
    segments(axes, [ends for ends, _ in lines], [color for _, color in lines])


def _draw_dot(axes: Axes, dot: Dot, y: float) -> None:
    if dot.value is None:
        return
    look: dict[str, Any] = {
        "markersize": 5.5,
        "markeredgecolor": PAPER,
        "markeredgewidth": 0.6,
        "clip_on": False,
        "zorder": 3,
    }
    axes.plot([dot.value], [y], dot.marker, color=dot.color, **look)

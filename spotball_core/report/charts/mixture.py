"""Draw the mixtures that explain respondents' guesses: the weight of each component, one column per component."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from spotball_core.plots.canvas import (
    LABEL,
    SMALL,
    FigureFrame,
    PanelBox,
    columns,
    headline,
    mark,
    panels,
    quiet_axes,
    segments,
    text_width,
)
from spotball_core.plots.theme import FAINT, INK, PAPER
from spotball_core.text.numbers import interval, quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PART, _ROW, _GAP = 1.0, 0.21, 0.08  # maximum width of a part's column; height of a row; space

Weight = tuple[float, tuple[float, float] | None]


@dataclass(frozen=True, slots=True)
class Mix:
    """One row: a respondent, a prompt, and the weight of each mixture component with its interval."""

    respondent: str
    prompt: str
    color: str
    marker: str
    weights: dict[str, Weight]


@dataclass(frozen=True, slots=True)
class MixPanel:
    """The rows of one sport."""

    title: str
    under: str
    mixes: tuple[Mix, ...]


@dataclass(frozen=True)
class MixtureChart:
    """Chart of weights from 0 to 100%, with one panel per sport and one column per mixture component.

    Attributes:
        panels: the panels; at least one.
        parts: names of the mixture components, in column order; a row may lack some of them.
    """

    panels: tuple[MixPanel, ...]
    parts: tuple[str, ...]

    wide: ClassVar[bool] = True

    @property
    def names(self) -> tuple[str, ...]:
        """The title of each panel."""
        return tuple(panel.title for panel in self.panels)

    def draw(self, places: Sequence[int], frame: FigureFrame | None = None) -> Figure:
        """Draw the panels with the given indices; if `frame` is given, add its title, notes and margins."""
        chosen = [self.panels[place] for place in places]
        rows = max(len(panel.mixes) for panel in chosen)
        mixes = [mix for panel in self.panels for mix in panel.mixes]
        names = max(text_width(mix.respondent, LABEL) for mix in mixes)
        prompts = max(text_width(mix.prompt, SMALL) for mix in mixes)
        left = names + (prompts + _GAP if prompts else 0.0) + 2 * _GAP
        wide = min(_PART * len(self.parts), columns(2) - left - 0.1)
        box = PanelBox(wide, _ROW * rows, left, columns(2) - left - wide, 0.66, 0.3)
        figure, axes = panels(len(chosen), box, frame)
        for panel_axes, panel in zip(axes, chosen, strict=True):
            self._draw(panel_axes, panel, rows, box)
        return figure

    def _draw(self, axes: Axes, panel: MixPanel, rows: int, box: PanelBox) -> None:
        quiet_axes(axes)
        # The columns are side by side on one axis; each has width 1 plus a gap.
        axes.set_xlim(0, len(self.parts))
        axes.set_ylim(rows - 0.5, -0.5)
        axes.set_yticks([])
        inner = (0.06, 0.80)

        def at(column: int, weight: float) -> float:
            return column + inner[0] + (inner[1] - inner[0]) * weight

        ticks = []
        for column, part in enumerate(self.parts):
            for weight, name in ((0.0, "0"), (0.5, ""), (1.0, "100%")):
                ticks.append((at(column, weight), name))
            look: dict[str, Any] = {
                "xycoords": ("data", "axes fraction"),
                "textcoords": "offset points",
                "annotation_clip": False,
            }
            axes.annotate(part, (at(column, 0), 1), (0, 4), fontsize=SMALL, color=INK, va="bottom", **look)
        axes.set_xticks([x for x, _ in ticks], [name for _, name in ticks])
        axes.tick_params(labelsize=SMALL)
        intervals = [
            ((at(column, ends[0]), y), (at(column, ends[1]), y), mix.color)
            for y, mix in enumerate(panel.mixes)
            for column, part in enumerate(self.parts)
            if (ends := mix.weights.get(part, (0.0, None))[1])
        ]
        segments(axes, [(start, end) for start, end, _ in intervals], [color for *_, color in intervals])
        before = None
        look = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "va": "center_baseline"}
        for y, mix in enumerate(panel.mixes):
            if mix.respondent != before:
                place = (-72 * (box.left - 0.06), 0)
                axes.annotate(mix.respondent, (0, y), place, ha="left", fontsize=LABEL, color=INK, **look)
            axes.annotate(mix.prompt, (0, y), (-72 * _GAP, 0), ha="right", fontsize=SMALL, color=FAINT, **look)
            before = mix.respondent
            for column, part in enumerate(self.parts):
                if part in mix.weights:
                    weight, ends = mix.weights[part]
                    dot: dict[str, Any] = {
                        "markeredgecolor": PAPER,
                        "markeredgewidth": 0.6,
                        "clip_on": False,
                        "zorder": 3,
                    }
                    axes.plot([at(column, weight)], [y], mix.marker, color=mix.color, markersize=5.5, **dot)
                    name = f"{mix.respondent} {mix.prompt}".rstrip()
                    mark(axes, f"{name}: {part} {quantity(weight, 'share')} {interval(ends, 'share')}".rstrip())
        headline(axes, panel.title, panel.under, box)

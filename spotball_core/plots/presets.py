"""Write figures for print and for slides: the drawings of a page, at the sizes of journals and talks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.plots.canvas import FigureFrame, columns
from spotball_core.plots.theme import save_figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure


class Chart(Protocol):
    """A figure with panels that can be drawn separately."""

    @property
    def names(self) -> tuple[str, ...]:
        """The title of each panel."""

    @property
    def wide(self) -> bool:
        """Whether a panel takes two columns."""

    def draw(self, places: Sequence[int], frame: FigureFrame | None = None) -> Figure:
        """Draw the panels with the given indices; if `frame` is given, add its title, notes and margins."""


@dataclass(frozen=True, slots=True)
class FigureSize:
    """A size of figures.

    Attributes:
        name: name of the folder for these figures.
        width: width of the finished figure, in inches.
        n_columns: number of panels of one column that fit side by side. It determines the scale of the whole figure.
        each: whether each panel is a separate figure; else all panels are one figure.
        height: maximum height of the finished figure, in inches; a higher figure is scaled down. None for no limit.
    """

    name: str
    width: float
    n_columns: int
    each: bool
    height: float | None = None


@dataclass(frozen=True, slots=True)
class FigurePreset:
    """Sizes, file formats and texts of figures.

    Attributes:
        sizes: the sizes. A chart whose panels take two columns is not written in one column.
        endings: endings of the files' names.
        titles: whether figures have a title by default.
        notes: whether figures have their caption and signature at the bottom by default.
        margin: margin around figures, in inches of a figure on a page.
    """

    sizes: tuple[FigureSize, ...]
    endings: tuple[str, ...]
    titles: bool
    notes: bool
    margin: float


DPI = 300

PRESETS = {
    "paper": FigurePreset(
        (FigureSize("single-column", 3.35, 1, each=True), FigureSize("double-column", 7.0, 2, each=False)),
        (".pdf", ".svg", ".png"),
        titles=False,
        notes=False,
        margin=0.04,
    ),
    "slides": FigurePreset(
        (FigureSize("slides", 6.0, 1, each=True, height=6.6), FigureSize("slides", 12.4, 2, each=True, height=6.6)),
        (".pdf", ".svg", ".png"),
        titles=True,
        notes=False,
        margin=0.12,
    ),
}
"""Presets by name: `paper` has text of at least 7 points; `slides` is for slides of 13.33 x 7.5 inches."""


def draw_preset(chart: Chart, preset: FigurePreset, frame: FigureFrame, folder: Path, name: str) -> list[Path]:
    """Write a figure in all sizes of a preset into folders named after the sizes.

    Args:
        chart: the figure.
        preset: sizes and file formats.
        frame: title and notes; its width is ignored.
        folder: parent of the folders of the sizes.
        name: name of the files, without ending. Files of single panels also contain the panel's name.

    Returns:
        The paths of the written files, sorted.

    Raises:
        OptionError: if two panels would have the same file.
    """
    written: list[Path] = []
    for size in preset.sizes:
        narrow_alone = not chart.wide and (size.each or len(chart.names) == 1)
        if size.n_columns != (1 if narrow_alone else 2) and (chart.wide or narrow_alone):
            continue
        groups = [[place] for place in range(len(chart.names))] if size.each else [list(range(len(chart.names)))]
        for places in groups:
            figure = chart.draw(places, FigureFrame(frame.title, frame.notes, columns(size.n_columns), preset.margin))
            _resize(figure, size)
            parts = [name, *([file_name(chart.names[places[0]])] if size.each and len(groups) > 1 else [])]
            for ending in preset.endings:
                path = folder / size.name / f"{'-'.join(parts)}{ending}"
                if path in written:
                    raise OptionError(
                        f"two panels of {name} have the same file name: {path.name}. Rename a respondent or sport",
                        code="duplicate",
                    )
                path.parent.mkdir(parents=True, exist_ok=True)
                save_figure(figure, path, dpi=DPI)
                written.append(path)
    return sorted(written)


def file_name(title: str) -> str:
    """Return a panel's title in a form that can be part of a file's name.

    Examples:
        >>> file_name("Share of the image covered"), file_name("../fußball")
        ('share-of-the-image-covered', 'fußball')
    """
    return "-".join("".join(c.lower() if c.isalnum() else " " for c in title).split())[:80] or "panel"


def _resize(figure: Figure, size: FigureSize) -> None:
    """Scale a figure as a whole: its size, its fonts and its lines."""
    from matplotlib.collections import Collection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.text import Annotation, Text

    wide, high = figure.get_size_inches()
    factor = size.width / wide
    if size.height is not None:
        factor = min(factor, size.height / high)
    for text in figure.findobj(Text):
        text.set_fontsize(float(text.get_fontsize()) * factor)
    for note in figure.findobj(Annotation):
        x, y = note.xyann
        note.xyann = (x * factor, y * factor)
    for line in figure.findobj(Line2D):
        line.set_linewidth(float(line.get_linewidth()) * factor)
        line.set_markersize(float(line.get_markersize()) * factor)
        line.set_markeredgewidth(float(line.get_markeredgewidth()) * factor)
    for patch in figure.findobj(Patch):
        patch.set_linewidth(patch.get_linewidth() * factor)
    for collection in figure.findobj(Collection):
        collection.set_linewidth((np.asarray(collection.get_linewidth()) * factor).tolist())
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            axis.labelpad *= factor
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                tick.set_pad(cast("Any", tick).get_pad() * factor)  # the type hint wrongly says that it returns None
    figure.set_size_inches(wide * factor, high * factor)

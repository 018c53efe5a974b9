"""Draw the figures of a page: in the page, as separate files, and, if requested, at sizes for print or slides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from spotball_core.pages.parts import PagePicture, Section
from spotball_core.plots.canvas import FigureFrame, plain_style
from spotball_core.plots.inline import Inline, inline_panels, mark_texts
from spotball_core.plots.presets import PRESETS, Chart, draw_preset
from spotball_core.plots.theme import save_figure
from spotball_core.service.parallel import THIS_PROCESS, Workers

ENDINGS = (".png", ".svg")
"""Endings of the files for each figure of the page."""

CAPTIONS = "captions.md"


class Figure(Protocol):
    """A chart with its title and caption."""

    @property
    def name(self) -> str:
        """The name of the figure's files, without ending."""

    @property
    def title(self) -> str:
        """The title, which states what the figure shows."""

    @property
    def caption(self) -> str:
        """The caption, which explains how to read the figure."""

    @property
    def chart(self) -> Chart:
        """The chart that draws the figure's panels."""


class DrawnFigures:
    """The figures of a page, which workers draw into a new folder.

    Args:
        folder: folder for the files, which is created.
        sections: sections of the page.
        signature: signature of figures whose section has no signature.
        presets: names from `plots.presets.PRESETS`, for figures in addition to those of the page.
        workers: workers that draw the figures.
        tell: called with a description of the current step.
    """

    def __init__(
        self,
        folder: Path,
        sections: Sequence[Section],
        signature: str,
        presets: Sequence[str],
        workers: Workers = THIS_PROCESS,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        folder.mkdir()
        self._folder = folder
        self._tell = tell
        self._figures = [(figure, own or signature) for figure, own in _figures(sections)]
        draw = partial(_draw, folder, presets)
        # Maps take longest, so they are started first, but the page does not wait for them. Wide charts have the most
        # marks; they come before the other pictures, so that the processes finish together.
        maps = [signed for signed in self._figures if not isinstance(signed[0], PagePicture)]
        pictures = [signed for signed in self._figures if isinstance(signed[0], PagePicture)]
        self._maps = workers.map(draw, maps)
        self._pictures = workers.map(draw, sorted(pictures, key=lambda signed: not signed[0].chart.wide))
        self._files: dict[str, list[str]] = {}

    def panels(self) -> dict[str, list[Inline]]:
        """Wait until the charts are drawn, and return the panels of each chart, by the chart's name."""
        panels = {}
        for name, files, inline in self._pictures:
            self._tell(f"drawing {name}")
            self._files[name], panels[name] = files, inline
        return panels

    def finish(self) -> None:
        """Wait until the heat maps are drawn, and write the captions of all figures to a file."""
        for name, files, _ in self._maps:
            self._tell(f"drawing {name}")
            self._files[name] = files
        captions = [
            f"## {figure.title}\n\n{figure.caption}\n\n`{signature}`\n\n" + "".join(self._files[figure.name])
            for figure, signature in self._figures
        ]
        if captions:
            text = "# Figures and their captions\n\n" + "\n".join(captions)
            (self._folder / CAPTIONS).write_text(text, encoding="utf-8", newline="\n")


def _figures(sections: Sequence[Section]) -> Iterator[tuple[Figure, str]]:
    """Yield every figure with the signature of its section."""
    for section in sections:
        for picture in section.pictures:
            yield picture, section.signature
        if section.maps:
            yield section.maps, section.signature


def _draw(folder: Path, presets: Sequence[str], signed: tuple[Figure, str]) -> tuple[str, list[str], list[Inline]]:
    """Write the files of a figure with its signature.

    Returns:
        The figure's name, its files as lines of a Markdown list, and its panels for the page (an empty list for maps).
    """
    figure, signature = signed
    chart = figure.chart
    written = [folder / f"{figure.name}{ending}" for ending in ENDINGS]
    panels: list[Inline] = []
    with plain_style():
        drawn = chart.draw(range(len(chart.names)), FigureFrame(figure.title, (figure.caption, signature)))
        for path in written:
            save_figure(drawn, path)
        if isinstance(figure, PagePicture) and not figure.rows:
            svg = (folder / f"{figure.name}.svg").read_text(encoding="utf-8")
            panels = inline_panels(svg, mark_texts(drawn), figure.name, figure.alts)
        for name in presets:
            preset = PRESETS[name]
            title = figure.title if preset.titles else ""
            notes = (figure.caption, signature) if preset.notes else ()
            written += draw_preset(chart, preset, FigureFrame(title, notes), folder, figure.name)
    return figure.name, [f"- {path.relative_to(folder).as_posix()}\n" for path in written], panels

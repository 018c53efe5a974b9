"""Draw the figures of a page: for the page, as files next to it, and on request for print or slides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from spotball_core.pages.parts import PagePicture, Section
from spotball_core.plots.canvas import FigureFrame, plain_style
from spotball_core.plots.inline import Inline, inline_svg
from spotball_core.plots.presets import PRESETS, Chart, draw_preset
from spotball_core.plots.saving import save_figure
from spotball_core.service.parallel import THIS_PROCESS, Workers

ENDINGS = (".png", ".svg")
"""Endings of the files for each figure of the page."""

CAPTIONS = "captions.md"


@dataclass(frozen=True, slots=True)
class FigureOptions:
    """The figures that are written in addition to those of the page.

    Attributes:
        presets: names from `plots.presets.PRESETS`.
        titles: whether those figures have a title; None for the preset's default.
        notes: whether they have their caption and signature at the bottom; None for the preset's default.
    """

    presets: tuple[str, ...] = ()
    titles: bool | None = None
    notes: bool | None = None


PAGE_ONLY = FigureOptions()


class Figure(Protocol):
    """A chart with its title and caption."""

    @property
    def name(self) -> str:
        """Name of its files."""

    @property
    def title(self) -> str:
        """What it shows."""

    @property
    def caption(self) -> str:
        """Explanation for readers."""

    @property
    def chart(self) -> Chart:
        """Its panels."""


class DrawnFigures:
    """The figures of a page, which workers draw into a new folder. The panels for the page come first, then the files.

    Args:
        folder: folder for the files.
        sections: sections of the page.
        signature: signature of figures whose section has no signature.
        options: which further figures are written.
        workers: workers that draw the figures.
        tell: called with a description of the current step.
    """

    def __init__(
        self,
        folder: Path,
        sections: Sequence[Section],
        signature: str,
        options: FigureOptions,
        workers: Workers = THIS_PROCESS,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        folder.mkdir()
        self._folder = folder
        self._tell = tell
        self._figures = [(figure, own or signature) for figure, own in _figures(sections)]
        self._pictures = [figure for figure, _ in self._figures if isinstance(figure, PagePicture)]
        # Maps take longest and come first, so that workers finish together.
        self._by_size = sorted(self._figures, key=lambda each: isinstance(each[0], PagePicture))
        self._panels = workers.map(_panels, self._pictures)
        self._files = workers.map(partial(_files, folder, options), self._by_size)

    def panels(self) -> dict[str, list[Inline]]:
        """Return the panels of each picture, by the picture's name, once they are drawn."""
        panels = {}
        for picture in self._pictures:
            self._tell(f"drawing {picture.name}")
            panels[picture.name] = next(self._panels)
        return panels

    def finish(self) -> None:
        """Wait for the files, and write the captions."""
        files = {}
        for figure, _ in self._by_size:
            self._tell(f"writing {figure.name}")
            files[figure.name] = next(self._files)
        captions = [
            f"## {figure.title}\n\n{figure.caption}\n\n`{signature}`\n\n" + "".join(files[figure.name])
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


def _panels(picture: PagePicture) -> list[Inline]:
    """Draw a picture's panels for the page."""
    with plain_style():
        return [
            inline_svg(picture.chart.draw([place]), f"{picture.name}-{place}", alt)
            for place, alt in enumerate(picture.alts)
        ]


def _files(folder: Path, options: FigureOptions, signed: tuple[Figure, str]) -> list[str]:
    """Write the files of a figure with its signature; return them as lines of a Markdown list."""
    figure, signature = signed
    chart = figure.chart
    written = [folder / f"{figure.name}{ending}" for ending in ENDINGS]
    with plain_style():
        drawn = chart.draw(range(len(chart.names)), FigureFrame(figure.title, (figure.caption, signature)))
        for path in written:
            save_figure(drawn, path)
        for name in options.presets:
            preset = PRESETS[name]
            title = figure.title if (preset.titles if options.titles is None else options.titles) else ""
            notes = (figure.caption, signature) if (preset.notes if options.notes is None else options.notes) else ()
            written += draw_preset(chart, preset, FigureFrame(title, notes), folder, figure.name)
    return [f"- {path.relative_to(folder).as_posix()}\n" for path in written]

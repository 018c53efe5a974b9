"""Define the parts of a page, and render it: sections with sentences, figures, maps, tables and cards."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import TYPE_CHECKING

from spotball_core.grid import row_name
from spotball_core.pages.dots import DotRows, RowMark, dot_rows
from spotball_core.plots import theme
from spotball_core.plots.dots import DotChart
from spotball_core.plots.inline import Inline

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from spotball_core.pages.cards import Gallery, Opening, PhotoSheet
    from spotball_core.pages.maps import MapFigure
    from spotball_core.plots.presets import Chart


@dataclass(frozen=True)
class PagePicture:
    """A chart with its title and caption.

    Attributes:
        name: name of the chart's files, unique on the page.
        title: the chart's content in a few words.
        caption: how to read the chart: units, n, intervals.
        chart: the chart, which draws its panels.
        alts: a description of each panel, with numbers.
    """

    name: str
    title: str
    caption: str
    chart: Chart
    alts: tuple[str, ...]

    @cached_property
    def rows(self) -> tuple[DotRows, ...]:
        """The rows of a dot chart, which fit any width; empty for other charts, which are drawn as SVG."""
        return dot_rows(self.chart, self.alts) if isinstance(self.chart, DotChart) else ()

    @property
    def fits_beside(self) -> bool:
        """Whether a page shows the chart next to text, because it has one panel that is one column wide."""
        return len(self.chart.names) == 1 and not self.chart.wide and not self.rows


@dataclass(frozen=True, slots=True)
class Sparkline:
    """A small chart in a table's cell.

    Attributes:
        mark: the value and its interval.
        lines: the lines through all charts of the column.
        is_beyond: whether the value is beyond the end of the axis, where an arrow shows it.
    """

    mark: RowMark
    lines: tuple[RowMark, ...]
    is_beyond: bool = False


@dataclass(frozen=True, slots=True)
class TableCell:
    """A table's cell: a value, its interval in small type, additional text in italics, and a small chart of them."""

    text: str
    small: str = ""
    slanted: str = ""
    chart: Sparkline | None = None


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows under one heading; the first `PageTable.names` columns name the rows."""

    title: str
    rows: tuple[tuple[TableCell, ...], ...]


@dataclass(frozen=True)
class PageTable:
    """A table with its caption.

    Attributes:
        name: unique on the page.
        caption: the table's content and units.
        heads: headings of the columns.
        names: number of leading columns that name the row.
        groups: the rows, grouped under headings.
        fold: label of the control that unfolds the table; empty for a table that is open.
        key: the lines through all small charts, with their names.
    """

    name: str
    caption: str
    heads: tuple[str, ...]
    names: int
    groups: tuple[TableRows, ...]
    fold: str = ""
    key: tuple[RowMark, ...] = ()

    @cached_property
    def spans(self) -> tuple[int, ...]:
        """Number of HTML columns per head: one for values, and one each for intervals and additional text.

        Columns with charts are one HTML column.
        """
        return tuple(
            1 if charts else 1 + any(cell.small for cell in column) + any(cell.slanted for cell in column)
            for column, charts in zip(self._columns, self.charts, strict=True)
        )

    @cached_property
    def charts(self) -> tuple[bool, ...]:
        """Whether each column has small charts."""
        return tuple(any(cell.chart for cell in column) for column in self._columns)

    @cached_property
    def _columns(self) -> list[list[TableCell]]:
        rows = [row for group in self.groups for row in group.rows]
        return [[row[place] for row in rows] for place in range(len(self.heads))]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page with a heading. Its figures come first, then its sentences; explanations are folded.

    Attributes:
        name: unique on the page.
        title: the section's heading.
        short: the name in the page's navigation; the heading if empty.
        lead: paragraphs about the topic and how to read the section; folded if there is a figure.
        points: the findings that the figures show.
        details: further findings, usually one sentence per sport, which are folded.
        missing: why there is nothing to show; empty if there is something.
        pictures: charts.
        maps: heat maps.
        tables: tables.
        gallery: a wall of images.
        photos: cards of the gaze task's photos.
        opening: images with heat maps, next to the charts.
        signature: signature of the section's numbers; empty if they come from the report's scoring.
    """

    name: str
    title: str
    lead: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    missing: str = ""
    short: str = ""
    details: tuple[str, ...] = ()
    pictures: tuple[PagePicture, ...] = ()
    maps: MapFigure | None = None
    tables: tuple[PageTable, ...] = ()
    gallery: Gallery | None = None
    photos: PhotoSheet | None = None
    opening: Opening | None = None
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """The content of a page outside its sections, such as the title.

    Attributes:
        title: the page's heading.
        generator: the command that writes the page.
        intro: paragraphs below the title.
        signature: signature of the page's numbers; empty if each section has its own.
        warnings: warnings about the data, which are folded at the bottom of the page; the top states their number.
        dropped: number of excluded responses or trials, by reason.
        reference: the respondent that others are compared with; None without a reference.
        respondents: respondents whose rows, marks and cards the reader can select.
        about: paragraphs at the bottom; by default they name the record and the figures of a report.
        back: address of the page that this page is a part of; empty for a page on its own.
        remarks: remarks on methods.
    """

    title: str
    generator: str
    intro: Sequence[str]
    signature: str
    warnings: Sequence[str]
    dropped: Mapping[str, int]
    reference: str | None = None
    respondents: Sequence[str] = ()
    about: Sequence[str] = ()
    back: str = ""
    remarks: Sequence[str] = ()


def render_page(page: Page, sections: Sequence[Section], svgs: Mapping[str, Sequence[Inline]]) -> str:
    """Return a page as HTML.

    Args:
        page: the page's content outside its sections.
        sections: sections from top to bottom.
        svgs: the panels of each picture, by the picture's name, from `inline_panels`.
    """
    from spotball_core.version import version

    environment = _environment()
    from markupsafe import Markup

    script = _text("explorer.js").replace("</", "<\\/")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return environment.get_template("template.html").render(
        page=page,
        generator=f"{page.generator} {version()}",
        theme=Markup(theme.css()),
        style=Markup(_text("style.css")),
        script=Markup(script),
        script_hash=f"sha256-{digest}",
        dropped="; ".join(f"{what}: {n}" for what, n in page.dropped.items() if n),
        sections=sections,
        # Our code makes this from escaped text; all other text is escaped here.
        svgs={name: [(Markup(panel.svg), panel.width) for panel in panels] for name, panels in svgs.items()},
    )


def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_text), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(n=lambda value: f"{value:g}", row=row_name, words=_words)
    return environment


def _words(text: str) -> Markup:
    """Convert text to HTML, with text in backquotes as code."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _text(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")

"""Define the parts of a report's page: sections with sentences, figures, maps, tables and cards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spotball_core.pages.cards import Gallery, PhotoSheet
    from spotball_core.pages.maps import MapFigure
    from spotball_core.plots.presets import Chart


@dataclass(frozen=True, slots=True)
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

    @property
    def fits_beside(self) -> bool:
        """Whether a page can show the chart next to text, because it has one panel that is one column wide."""
        return len(self.chart.names) == 1 and not self.chart.wide


@dataclass(frozen=True, slots=True)
class TableCell:
    """A table's cell: a value, its interval in small type, and additional text in italics."""

    text: str
    small: str = ""
    slanted: str = ""


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
    """

    name: str
    caption: str
    heads: tuple[str, ...]
    names: int
    groups: tuple[TableRows, ...]
    fold: str = ""

    @cached_property
    def spans(self) -> tuple[int, ...]:
        """Number of HTML columns per head: one for values, and one each for intervals and additional text."""
        rows = [row for group in self.groups for row in group.rows]
        columns = [[row[place] for row in rows] for place in range(len(self.heads))]
        return tuple(
            1 + any(cell.small for cell in column) + any(cell.slanted for cell in column) for column in columns
        )


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page with a heading.

    Attributes:
        name: unique on the page.
        title: the section's heading.
        lead: paragraphs about the topic and how to read the section.
        points: the findings, usually one sentence per sport.
        missing: why there is nothing to show; empty if there is something.
        pictures: charts.
        maps: heat maps.
        tables: tables.
        gallery: cards of images, after the tables.
        photos: cards of the gaze task's photos, after the tables.
        signature: signature of the section's numbers; empty if they come from the report's scoring.
    """

    name: str
    title: str
    lead: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    missing: str = ""
    pictures: tuple[PagePicture, ...] = ()
    maps: MapFigure | None = None
    tables: tuple[PageTable, ...] = ()
    gallery: Gallery | None = None
    photos: PhotoSheet | None = None
    signature: str = ""

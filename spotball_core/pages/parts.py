"""What a report's page is made of: sections, and in them sentences, figures, maps, tables and cards."""

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
    """A chart with its words.

    Attributes:
        name: of its files, and unique on the page.
        title: what it shows.
        caption: how to read it: units, n, intervals.
        chart: its panels.
        alts: what each panel says, in numbers.
    """

    name: str
    title: str
    caption: str
    chart: Chart
    alts: tuple[str, ...]

    @property
    def fits_beside(self) -> bool:
        """Whether a page can show it next to its words: it has one panel of one column."""
        return len(self.chart.names) == 1 and not self.chart.wide


@dataclass(frozen=True, slots=True)
class TableCell:
    """A table's cell: a value, in small type its interval, in italics what belongs to it."""

    text: str
    small: str = ""
    slanted: str = ""


@dataclass(frozen=True, slots=True)
class TableRows:
    """Rows under one heading; the first `names` columns of the table name them."""

    title: str
    rows: tuple[tuple[TableCell, ...], ...]


@dataclass(frozen=True)
class PageTable:
    """A table.

    Attributes:
        name: unique on the page.
        caption: what it holds, in which units.
        heads: of its columns.
        names: how many columns, from the left, name the row.
        groups: its rows.
        fold: what the reader unfolds it by; empty for a table that is open.
    """

    name: str
    caption: str
    heads: tuple[str, ...]
    names: int
    groups: tuple[TableRows, ...]
    fold: str = ""

    @cached_property
    def spans(self) -> tuple[int, ...]:
        """Over how many columns each head goes: values have one, intervals and what belongs to them one each."""
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
        title: its heading.
        lead: paragraphs: what it is about, and how to read it.
        points: what was found, a sentence a sport.
        missing: why there is nothing to show; else empty.
        pictures: charts.
        maps: heat maps.
        tables: tables.
        gallery: cards of images, behind the tables.
        photos: cards of the second task's photos, likewise.
        signature: of its numbers, where they are not of the report's scoring.
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

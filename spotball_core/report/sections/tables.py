"""Write the section with all numbers, and helpers for the tables of other sections."""

from __future__ import annotations

from collections.abc import Callable

from spotball_core.metrics.registry import METRICS
from spotball_core.pages.parts import PageTable, Section, TableCell, TableRows
from spotball_core.report.view import OfGroup, PageView
from spotball_core.schema.report import GroupScore
from spotball_core.scoring.tables import FAMILIES
from spotball_core.text.numbers import interval, number, unit_of


def everything(view: PageView) -> Section:
    """Return the section with every metric of every group, one table per family of metrics."""
    tables = []
    for family, title in FAMILIES.items():
        keys = [key for key, m in METRICS.items() if m.family == family and has_values(view, key)]
        if keys:
            heads = ("Respondent", "Prompt", *(head(key, view) for key in keys))

            def cells(score: GroupScore, keys: list[str] = keys) -> tuple[TableCell, ...]:
                return (*names(score, view), *(cell(key, score, view, sd=True) for key in keys))

            groups = by_sport(view, cells)
            name = f"all-{family.replace(' ', '-')}"
            tables.append(PageTable(name, caption(title, view, sd=True), heads, 2, groups, fold=title))
    lead = ("The file `report.json` contains these numbers in full precision, and the reasons for missing numbers.",)
    return Section("numbers", "Every number", lead, short="Tables", tables=tuple(tables))


def by_sport(view: PageView, cells: Callable[[GroupScore], tuple[TableCell, ...]]) -> tuple[TableRows, ...]:
    """Return a table's rows, grouped by sport; `cells` converts the scores of a group of responses to its row."""
    return tuple(TableRows(sport, tuple(map(cells, view.of_sport(sport)))) for sport in view.sports)


def names(group: OfGroup, view: PageView) -> tuple[TableCell, TableCell]:
    """Return the table cells with a group's respondent and prompt."""
    return TableCell(view.in_words(group.respondent or "")), TableCell(group.prompt or "")


def head(key: str, view: PageView) -> str:
    """Return a metric's column head, with its unit."""
    title = METRICS[key].full_title(view.policy.model_copy(update={"reference": view.reference_words}))
    sign = {"share": " (%)", "none": "", "ratio": ""}.get(unit_of(key, view.policy))
    return title + (f" ({unit_of(key, view.policy)})" if sign is None else sign)


def cell(key: str, score: GroupScore, view: PageView, *, sd: bool = False) -> TableCell:
    """Return the table cell with a metric's value, and with its interval in small type."""
    value, unit = score.metrics[key], unit_of(key, view.policy)
    if value.value is None:
        return TableCell("–")
    spread = f" ± {number(value.sd, unit)}" if sd and value.sd is not None and unit != "share" else ""
    return TableCell(number(value.value, unit) + spread, interval(value.ci95, unit))


def caption(title: str, view: PageView, *, sd: bool = False) -> str:
    """Return a table's caption: its content, and what the standard deviations and intervals next to values are."""
    parts = [title]
    parts += ["The number after ± is the standard deviation over images"] if sd else []
    parts += ["Brackets show 95% bootstrap intervals over images"] if view.policy.bootstrap else []
    return f"{'. '.join(parts)}."


def has_values(view: PageView, key: str) -> bool:
    """Return whether any scored group has a value of the metric."""
    return any(score.metrics[key].value is not None for score in view.scored)

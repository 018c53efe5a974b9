"""The page's tables of scores: the headline, every number, and what other sections' tables are made with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from spotball_core.metrics.registry import METRICS
from spotball_core.report.analysis import Analysis
from spotball_core.report.numbers import interval, number, unit_of
from spotball_core.report.page_parts import Cell, Rows, Section, Table
from spotball_core.report.tables import FAMILIES

if TYPE_CHECKING:
    from spotball_core.groups import Group
    from spotball_core.schema.report import GroupScore

HEADLINE = ("accuracy", "euclidean_error", "wasserstein")


def headline(analysis: Analysis) -> Section:
    """Who answered how much, and the three measures that come first."""
    keys = [key for key in HEADLINE if has_values(analysis, key)]
    heads = ("Respondent", "Prompt", "Images", "Responses", "Unparsed", *(head(key, analysis) for key in keys))

    def cells(group: Group, score: GroupScore) -> tuple[Cell, ...]:
        counts = (f"{n:,}" for n in (score.n_images, score.n_responses, score.n_unparsed))
        return (*names(group), *map(Cell, counts), *(cell(key, score, analysis) for key in keys))

    table = Table("headline", caption("Main scores", analysis), heads, 2, by_sport(analysis, cells))
    return Section("summary", "Scores at a glance", tables=(table,))


def everything(analysis: Analysis) -> Section:
    """Every metric of every group, one table a family."""
    tables = []
    for family, title in FAMILIES.items():
        keys = [key for key, m in METRICS.items() if m.family == family and has_values(analysis, key)]
        if keys:
            heads = ("Respondent", "Prompt", *(head(key, analysis) for key in keys))

            def cells(group: Group, score: GroupScore, keys: list[str] = keys) -> tuple[Cell, ...]:
                return (*names(group), *(cell(key, score, analysis, sd=True) for key in keys))

            groups = by_sport(analysis, cells)
            name = f"all-{family.replace(' ', '-')}"
            tables.append(Table(name, caption(title, analysis, sd=True), heads, 2, groups, fold=title))
    lead = ("The same numbers in full precision, with the reasons for those that are missing, are in report.json.",)
    return Section("numbers", "Every number", lead, tables=tuple(tables))


def by_sport(analysis: Analysis, cells: Callable[[Group, GroupScore], tuple[Cell, ...]]) -> tuple[Rows, ...]:
    """A table's rows, sport by sport."""
    return tuple(
        Rows(sport, tuple(cells(group, score) for group, score in analysis.of_sport(sport)))
        for sport in analysis.sports
    )


def names(group: Group) -> tuple[Cell, Cell]:
    """The cells that name a group beside its sport."""
    return Cell(group.respondent or ""), Cell(group.prompt or "")


def head(key: str, analysis: Analysis) -> str:
    """A metric's column head, with its unit."""
    title = METRICS[key].title.replace("-k ", f"-{analysis.scoring.policy.top_k} ")
    sign = {"share": " (%)", "none": "", "ratio": ""}.get(unit_of(key, analysis.scoring.policy))
    if "reference" in METRICS[key].needs:
        title += f" to {analysis.reference}"
    return title + (f" ({unit_of(key, analysis.scoring.policy)})" if sign is None else sign)


def cell(key: str, score: GroupScore, analysis: Analysis, *, sd: bool = False) -> Cell:
    """A metric's value in a table, its interval in small type."""
    value, unit = score.metrics[key], unit_of(key, analysis.scoring.policy)
    if value.value is None:
        return Cell("–")
    spread = f" ± {number(value.sd, unit)}" if sd and value.sd is not None and unit != "share" else ""
    return Cell(number(value.value, unit) + spread, interval(value.ci95, unit))


def caption(title: str, analysis: Analysis, *, sd: bool = False) -> str:
    """A table's caption: what it holds, and what stands beside its values."""
    parts = ["± standard deviation over images"] if sd else []
    parts += ["in brackets the 95% bootstrap interval over images"] if analysis.scoring.policy.bootstrap else []
    return title + (f": {', '.join(parts)}." if parts else ".")


def has_values(analysis: Analysis, key: str) -> bool:
    """Whether any group has a value of a metric."""
    return any(score.metrics[key].value is not None for _, score in analysis.scored)

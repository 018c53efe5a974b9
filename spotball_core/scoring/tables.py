"""Write a score report or a noise ceiling as text, CSV, Markdown, LaTeX or HTML. All forms include the signature."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from spotball_core.metrics.metric import Metric
from spotball_core.metrics.registry import METRICS
from spotball_core.schema.policy import ScorePolicy
from spotball_core.schema.report import (
    Ceiling,
    CeilingReport,
    GroupScore,
    MetricValue,
    ScoreReport,
    named_sports,
)
from spotball_core.schema.result import Forms
from spotball_core.service.safe_text import csv_cells
from spotball_core.text.tables import (
    Titled,
    print_tables,
    tables_as_html,
    tables_as_latex,
    tables_as_markdown,
    tables_as_text,
)

if TYPE_CHECKING:
    from rich.console import Console

FAMILIES = {
    "task": "Task performance",
    "alignment": "Alignment with the reference",
    "strategy": "Behavioral strategies",
    "scoring rules": "Scoring rules",
}

COLUMNS: Mapping[str, type] = {
    **dict.fromkeys(("sport", "respondent", "kind", "prompt"), str),
    **dict.fromkeys(("n_images", "n_responses", "n_unparsed"), int),
    "metric": str,
    **dict.fromkeys(("value", "sd", "ci95_low", "ci95_high"), float),
    **dict.fromkeys(("unit", "reference", "reason", "signature"), str),
}
"""Name and type of each column of a score report's rows."""

CEILING_COLUMNS: Mapping[str, type] = {
    **dict.fromkeys(("sport", "reference", "group"), str),
    **dict.fromkeys(("n_participants", "n_images"), int),
    "quantity": str,
    **dict.fromkeys(("value", "ci95_low", "ci95_high"), float),
    **dict.fromkeys(("unit", "reason", "signature"), str),
}
"""Name and type of each column of a noise ceiling's rows."""


def print_table(report: ScoreReport, console: Console) -> None:
    """Print a report as one table per family of metrics, then its warnings and its signature."""
    print_tables(_sections(report), _foot(report), console)


def to_text(report: ScoreReport, *, to_terminal: bool = False) -> str:
    """Return the text that `print_table` prints, at full width or at the width of the terminal on standard output."""
    return tables_as_text(_sections(report), _foot(report), to_terminal=to_terminal)


def to_markdown(report: ScoreReport) -> str:
    """Return the report as Markdown tables, one per family of metrics, followed by the signature."""
    return tables_as_markdown(_sections(report), _foot(report))


def to_latex(report: ScoreReport) -> str:
    """Return the report as LaTeX tables, one per family of metrics, with the signature in a comment."""
    return tables_as_latex(_sections(report), _foot(report))


def to_html(report: ScoreReport, headlines: Iterable[str] = ()) -> str:
    """Return the report as HTML tables, one per family of metrics, below the headlines."""
    return tables_as_html(headlines, _sections(report), _foot(report).splitlines())


def to_csv(report: ScoreReport) -> str:
    """Return the report as CSV in full precision, with the signature in each line; see `frame_rows`."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(map(csv_cells, frame_rows(report)))
    return out.getvalue()


def frame_rows(report: ScoreReport) -> Iterator[tuple[object, ...]]:
    """Yield one row per group and metric, then one per number of each noise ceiling (`ceiling.*`), if there are any."""
    for group in report.groups:
        name = (group.sport, group.respondent, group.kind, group.prompt)
        numbers = (group.n_images, group.n_responses, group.n_unparsed)
        for key, value in group.metrics.items():
            low, high = value.ci95 or (None, None)
            unit = METRICS[key].unit_under(report.policy)
            estimate = (value.value, value.sd, low, high, unit, value.reference, value.reason)
            yield (*name, *numbers, key, *estimate, report.signature)
    for ceiling in report.ceilings:
        for key, value, unit in _ceiling_values(ceiling, report.policy):
            low, high = value.ci95 or (None, None)
            people = (ceiling.sport, ceiling.reference, None, None, ceiling.n_images, None, None)
            estimate = (value.value, value.sd, low, high, unit, value.reference, value.reason)
            yield (*people, f"ceiling.{key}", *estimate, ceiling.signature)


def ceiling_to_text(report: CeilingReport) -> str:
    """Return the tables of a noise ceiling as `spotball score --ceiling` prints them."""
    return tables_as_text(_ceilings(report.ceilings, report.policy), "\n".join(_ceiling_foot(report)))


def _ceiling_to_html(report: CeilingReport) -> str:
    return tables_as_html((), _ceilings(report.ceilings, report.policy), _ceiling_foot(report))


def _ceiling_foot(report: CeilingReport) -> list[str]:
    warnings = [f"warning: {warning}" for warning in report.warnings]
    return [*warnings, *([_intervals(report.policy, "images")] if report.ceilings else []), report.signature]


def _ceiling_rows(report: CeilingReport) -> Iterator[tuple[object, ...]]:
    """Yield one row per sport and quantity; the quantities `sampling_floor` and `score` have a row per group."""
    for ceiling in report.ceilings:
        values: list[tuple[str | None, str, MetricValue, str]] = [
            (None, *row) for row in _ceiling_values(ceiling, report.policy)
        ]
        for group, floor in ceiling.sampling_floor.items():
            values.append((group, "sampling_floor", MetricValue(value=floor), report.policy.wasserstein_unit))
        for group, score in ceiling.score.items():
            values.append((group, "score", score, "score"))
        for of_group, key, value, unit in values:
            low, high = value.ci95 or (None, None)
            about = (ceiling.sport, ceiling.reference, of_group, ceiling.n_participants, ceiling.n_images, key)
            yield (*about, value.value, low, high, unit, value.reason, ceiling.signature)


CEILING_FORMS = Forms(text=ceiling_to_text, html=_ceiling_to_html, columns=CEILING_COLUMNS, rows=_ceiling_rows)


def _ceiling_values(ceiling: Ceiling, policy: ScorePolicy) -> list[tuple[str, MetricValue, str]]:
    """Return name, value and unit of each number of a noise ceiling that does not depend on a group."""
    distance = policy.wasserstein_unit
    return [
        ("split_half", ceiling.split_half, distance),
        ("uniform", MetricValue(value=ceiling.uniform), distance),
        ("participant_accuracy", ceiling.participant_accuracy, "share"),
        ("leave_one_out_accuracy", ceiling.leave_one_out_accuracy, "share"),
    ]


def _sections(report: ScoreReport) -> Iterator[Titled]:
    """Yield the title, the number of name columns, the heads and the rows of each table.

    The tables are: the numbers of answers, one table per family of metrics, and the noise ceiling if there is one.
    """
    parts = _shown_parts(report)
    names = [_name(group, parts) for group in report.groups]
    counts = [[f"{n:,}" for n in (group.n_images, group.n_responses, group.n_unparsed)] for group in report.groups]
    rows = [[*name, *numbers] for name, numbers in zip(names, counts, strict=True)]
    yield "Scored", len(parts), [*parts, "images", "responses", "unparsed"], rows
    for family, title in FAMILIES.items():
        shown = [
            metric
            for metric in METRICS.values()
            if metric.family == family and any(_has(group, metric.key) for group in report.groups)
        ]
        if shown:
            heads = [*parts, *(_head(metric, report) for metric in shown)]
            yield (
                title,
                len(parts),
                heads,
                [
                    [*name, *(_cell(metric, group, report) for metric in shown)]
                    for name, group in zip(names, report.groups, strict=True)
                ],
            )

    yield from _ceilings(report.ceilings, report.policy)


def _ceilings(ceilings: Sequence[Ceiling], policy: ScorePolicy) -> Iterator[Titled]:
    """Yield the tables of the noise ceiling: agreement between people, and the groups' closeness to people."""
    if not ceilings:
        return
    unit, digits = policy.wasserstein_unit, 1 if policy.wasserstein_unit == "px" else 3
    sport_head = ["sport"] if named_sports(ceiling.sport for ceiling in ceilings) else []
    heads = [
        *sport_head,
        "participants",
        "images",
        f"Distance between two halves of the participants ({unit})",
        f"Distance of uniform guessing ({unit})",
    ]
    rows = [
        [
            *([ceiling.sport] if sport_head else []),
            str(ceiling.n_participants),
            str(ceiling.n_images),
            _said(ceiling.split_half, 1, digits),
            f"{ceiling.uniform:.{digits}f}",
            _said(ceiling.participant_accuracy, 100, 1),
            _said(ceiling.leave_one_out_accuracy, 100, 1),
        ]
        for ceiling in ceilings
    ]
    yield (
        "Noise ceiling",
        len(sport_head),
        [*heads, "Accuracy of a participant (%)", "Accuracy of the other participants' most frequent cell (%)"],
        rows,
    )
    heads = [*sport_head, "group", f"Sampling floor ({unit})", "Closeness (0: uniform guessing, 1: people)"]
    rows = [
        [
            *([ceiling.sport] if sport_head else []),
            name,
            f"{floor:.{digits}f}",
            _said(ceiling.score[name], 1, 3),
        ]
        for ceiling in ceilings
        for name, floor in ceiling.sampling_floor.items()
    ]
    if rows:
        yield "Closeness to the reference", len(sport_head) + 1, heads, rows


def _has(group: GroupScore, key: str) -> bool:
    """Return whether a metric was computed for a group and has a value."""
    return key in group.metrics and group.metrics[key].value is not None


def _shown_parts(report: ScoreReport) -> list[str]:
    """Return the fields of a group's name that have a column."""
    named = named_sports(group.sport for group in report.groups)
    return [part for part in report.policy.by if part != "sport" or named]


def _name(group: GroupScore, parts: Sequence[str]) -> list[str]:
    return [str(getattr(group, part)) for part in parts]


def _head(metric: Metric, report: ScoreReport) -> str:
    unit, title = metric.unit_under(report.policy), metric.title_under(report.policy)
    return {"share": f"{title} (%)", "none": title, "ratio": title}.get(unit, f"{title} ({unit})")


def _cell(metric: Metric, group: GroupScore, report: ScoreReport) -> str:
    """Format value, standard deviation and interval; the interval has its own line."""
    value = group.metrics[metric.key]
    if value.value is None:
        return "-"
    unit = metric.unit_under(report.policy)
    factor, digits = (100, 1) if unit == "share" else (1, 1 if unit == "px" else 3)

    return _said(value, factor, digits, with_sd=unit != "share")


def _said(value: MetricValue, factor: float, digits: int, *, with_sd: bool = False) -> str:
    """Format value, standard deviation and interval; the interval has its own line."""
    if value.value is None:
        return "-"

    def say(number: float) -> str:
        return f"{number * factor:.{digits}f}"

    spread = value.se if value.se is not None else value.sd if with_sd else None
    text = say(value.value) + (f" ± {say(spread)}" if spread is not None else "")
    return text + (f"\n[{say(value.ci95[0])}, {say(value.ci95[1])}]" if value.ci95 else "")


def _foot(report: ScoreReport) -> str:
    drawn = (
        "participants (over images if there are no participants)"
        if report.policy.cluster == "participant"
        else "images"
    )
    spread = "The number after ± is the standard deviation over images. " if report.groups else ""
    if any(value.se is not None for group in report.groups for value in group.metrics.values()):
        spread = "The number after ± is the standard deviation over images; for matched metrics, the standard error. "
    return "\n".join(
        [
            *(f"warning: {warning}" for warning in report.warnings),
            *(f"- {note}" for note in _notes(report)),
            spread + _intervals(report.policy, drawn),
            report.signature,
        ]
    )


def _intervals(policy: ScorePolicy, drawn: str) -> str:
    return f"Brackets show 95% bootstrap intervals over {drawn}." if policy.bootstrap else "No intervals were computed."


def _notes(report: ScoreReport) -> Iterator[str]:
    """Yield the reasons for missing values or fewer images: each reason once, with its metrics and groups."""
    places: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for group in report.groups:
        for key, value in group.metrics.items():
            if value.reason:
                titles, names = places.setdefault(value.reason, ({}, {}))
                titles[METRICS[key].title] = None
                names[group.name] = None
    for reason, (titles, names) in places.items():
        where = "all groups" if len(names) == len(report.groups) else ", ".join(names)
        yield f"{', '.join(titles)} of {where}: {reason}"

"""Write a score report as text: for a terminal, as CSV, as Markdown, as LaTeX. Every form includes the signature."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from spotball_core.metrics.metric import Metric
from spotball_core.metrics.registry import METRICS
from spotball_core.schema.report import GroupScore, MetricValue, ScoreReport
from spotball_core.service.safe_text import csv_cells
from spotball_core.text.tables import Titled, print_tables, tables_as_latex, tables_as_markdown, tables_as_text

if TYPE_CHECKING:
    from rich.console import Console

FAMILIES = {
    "task": "Task performance",
    "alignment": "Alignment with the reference",
    "strategy": "Behavioral strategies",
    "scoring rules": "Scoring rules",
}

CSV_COLUMNS = (
    *("sport", "respondent", "kind", "prompt", "n_images", "n_responses", "n_unparsed", "metric", "value", "sd"),
    *("ci95_low", "ci95_high", "unit", "reference", "reason", "signature"),
)


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


def to_csv(report: ScoreReport) -> str:
    """Return the report as CSV in full precision, with the signature in each line.

    There is one line per group and metric, then one per number of each noise ceiling (`ceiling.*`), if there are any.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)

    def write(name: tuple[object, ...], key: str, value: MetricValue, unit: str, signature: str) -> None:
        low, high = value.ci95 or (None, None)
        numbers = (value.value, value.sd, low, high)
        writer.writerow(csv_cells((*name, key, *numbers, unit, value.reference, value.reason, signature)))

    for group in report.groups:
        name = (group.sport, group.respondent, group.kind, group.prompt)
        numbers = (group.n_images, group.n_responses, group.n_unparsed)
        for key, value in group.metrics.items():
            write((*name, *numbers), key, value, METRICS[key].unit_under(report.policy), report.signature)
    for ceiling in report.ceilings:
        people = (ceiling.sport, ceiling.reference, None, None, ceiling.n_images, None, None)
        distance = report.policy.wasserstein_unit
        for key, value, unit in (
            ("ceiling.split_half", ceiling.split_half, distance),
            ("ceiling.uniform", MetricValue(value=ceiling.uniform), distance),
            ("ceiling.participant_accuracy", ceiling.participant_accuracy, "share"),
            ("ceiling.leave_one_out_accuracy", ceiling.leave_one_out_accuracy, "share"),
        ):
            write(people, key, value, unit, ceiling.signature)
    return out.getvalue()


def _sections(report: ScoreReport) -> Iterator[Titled]:
    """Yield the title, the number of name columns, the heads and the rows of each table.

    The tables are: the numbers of answers, one table per family of metrics, and the noise ceiling if there is one.
    """
    n_names = len(report.policy.by)
    names = [_name(group, report) for group in report.groups]
    counts = [[f"{n:,}" for n in (group.n_images, group.n_responses, group.n_unparsed)] for group in report.groups]
    rows = [[*name, *numbers] for name, numbers in zip(names, counts, strict=True)]
    yield "Scored", n_names, [*report.policy.by, "images", "responses", "unparsed"], rows
    for family, title in FAMILIES.items():
        shown = [
            metric
            for metric in METRICS.values()
            if metric.family == family and any(_has(group, metric.key) for group in report.groups)
        ]
        if shown:
            heads = [*report.policy.by, *(_head(metric, report) for metric in shown)]
            yield (
                title,
                n_names,
                heads,
                [
                    [*name, *(_cell(metric, group, report) for metric in shown)]
                    for name, group in zip(names, report.groups, strict=True)
                ],
            )

    if report.ceilings:
        yield from _ceilings(report)


def _ceilings(report: ScoreReport) -> Iterator[Titled]:
    """Yield the tables of the noise ceiling: agreement between people, and the groups' closeness to people."""
    unit, digits = report.policy.wasserstein_unit, 1 if report.policy.wasserstein_unit == "px" else 3
    heads = [
        "sport",
        "participants",
        "images",
        f"Distance between two halves of the participants ({unit})",
        f"Distance of uniform guessing ({unit})",
    ]
    rows = [
        [
            ceiling.sport,
            str(ceiling.n_participants),
            str(ceiling.n_images),
            _said(ceiling.split_half, 1, digits),
            f"{ceiling.uniform:.{digits}f}",
            _said(ceiling.participant_accuracy, 100, 1),
            _said(ceiling.leave_one_out_accuracy, 100, 1),
        ]
        for ceiling in report.ceilings
    ]
    yield (
        "Noise ceiling",
        1,
        [*heads, "Accuracy of a participant (%)", "Accuracy of the other participants' most frequent cell (%)"],
        rows,
    )
    heads = ["sport", "group", f"Sampling floor ({unit})", "Closeness (0: uniform guessing, 1: people)"]
    rows = [
        [ceiling.sport, name, f"{floor:.{digits}f}", _said(ceiling.score[name], 1, 3)]
        for ceiling in report.ceilings
        for name, floor in ceiling.sampling_floor.items()
    ]
    if rows:
        yield "Closeness to the reference", 2, heads, rows


def _has(group: GroupScore, key: str) -> bool:
    """Return whether a metric was computed for a group and has a value."""
    return key in group.metrics and group.metrics[key].value is not None


def _name(group: GroupScore, report: ScoreReport) -> list[str]:
    return [str(getattr(group, part)) for part in report.policy.by]


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

    text = say(value.value) + (f" ± {say(value.sd)}" if value.sd is not None and with_sd else "")
    return text + (f"\n[{say(value.ci95[0])}, {say(value.ci95[1])}]" if value.ci95 else "")


def _foot(report: ScoreReport) -> str:
    drawn = (
        "participants (over images if there are no participants)"
        if report.policy.cluster == "participant"
        else "images"
    )
    spread = "The number after ± is the standard deviation over images. " if report.groups else ""
    intervals = (
        f"Brackets show 95% bootstrap intervals over {drawn}."
        if report.policy.bootstrap
        else "No intervals were computed."
    )
    return "\n".join(
        [
            *(f"warning: {warning}" for warning in report.warnings),
            *(f"- {note}" for note in _notes(report)),
            spread + intervals,
            report.signature,
        ]
    )


def _notes(report: ScoreReport) -> Iterator[str]:
    """Yield the reasons for missing values or fewer images: each reason once, with its metrics and groups."""
    places: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for group in report.groups:
        for key, value in group.metrics.items():
            if value.reason:
                titles, names = places.setdefault(value.reason, ({}, {}))
                titles[METRICS[key].title] = None
                names["/".join(_name(group, report)) or "all"] = None
    for reason, (titles, names) in places.items():
        where = "all groups" if len(names) == len(report.groups) else ", ".join(names)
        yield f"{', '.join(titles)} of {where}: {reason}"

"""Write the summary that `spotball score` prints first: one sentence, and a narrow table of means over sports."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from spotball_core.metrics.registry import METRICS
from spotball_core.schema.report import GroupScore, MetricValue, ScoreReport
from spotball_core.schema.result import Forms
from spotball_core.scoring import tables
from spotball_core.text.first_screen import IN_PYTHON, FirstScreen
from spotball_core.text.numbers import interval, number, told, unit_of
from spotball_core.text.words import plural

COLUMNS = {"accuracy": "accuracy", "euclidean_error": "error", "wasserstein_matched": "Wasserstein"}
"""The table's metrics and column heads. Matched Wasserstein distances do not depend on numbers of responses."""

MORE = (
    "Add --full to see every metric of every sport, or --metrics NAME,... or --sport NAME to see some of them. Add "
    "--format json, csv, markdown or latex to choose the format."
)

_NOT_COMPUTED = MetricValue(value=None, reason="not computed")

_LISTED = 6
"""Maximum number of rows whose unparsed responses are listed."""


@dataclass(frozen=True)
class SummaryRow:
    """A respondent with a prompt, over all sports that it answered.

    Attributes:
        names: the respondent and the prompt, if groups are split by them.
        groups: one group per sport.
    """

    names: tuple[str, ...]
    groups: tuple[GroupScore, ...]

    @property
    def n_images(self) -> int:
        """Number of images over all sports."""
        return sum(group.n_images for group in self.groups)

    def value(self, key: str) -> MetricValue:
        """Return a metric's mean over the sports."""
        return mean_over_sports([group.metrics.get(key, _NOT_COMPUTED) for group in self.groups])


def mean_over_sports(values: Sequence[MetricValue]) -> MetricValue:
    r"""Average a metric over sports, with equal weight for each sport.

    With $\bar m$ the mean of the sports' values $m_s$, whose intervals are $[l_s, u_s]$, the mean's interval is

    $$\Big[\bar m - \frac1S \sqrt{\sum_s (m_s - l_s)^2},\; \bar m + \frac1S \sqrt{\sum_s (u_s - m_s)^2}\Big]$$

    since images of different sports are drawn independently of each other (the method of variance estimates recovery;
    Zou and Donner 2008, Statistics in Medicine 27).

    Args:
        values: one value per sport; at least one.

    Returns:
        The mean, without standard deviation. It has no value if a sport lacks a value, and no interval if a sport lacks
        an interval.

    Examples:
        >>> mean = mean_over_sports([MetricValue(value=2, ci95=(1.7, 2.4)), MetricValue(value=4, ci95=(3.6, 4.3))])
        >>> mean.value, mean.ci95
        (3.0, (2.75, 3.25))
    """
    if len(values) == 1:
        return values[0]
    if missing := next((value for value in values if value.value is None), None):
        return missing
    known = [(float(value.value or 0.0), value.ci95) for value in values]
    mean = math.fsum(value for value, _ in known) / len(known)
    errors = [value.se for value in values if value.se is not None]
    se = math.hypot(*errors) / len(known) if len(errors) == len(known) else None
    if any(ends is None for _, ends in known):
        return MetricValue(value=mean, se=se, reference=values[0].reference)
    below, above = (
        math.hypot(*(value - ends[side] for value, ends in known if ends is not None)) / len(known) for side in (0, 1)
    )
    return MetricValue(value=mean, se=se, ci95=(mean - below, mean + above), reference=values[0].reference)


def summary_rows(report: ScoreReport) -> list[SummaryRow]:
    """Collect the groups of each respondent and prompt, in the report's order."""
    parts = [part for part in ("respondent", "prompt") if part in report.policy.by]
    rows: dict[tuple[str, ...], list[GroupScore]] = {}
    for group in report.groups:
        rows.setdefault(tuple(getattr(group, part) or "" for part in parts), []).append(group)
    return [SummaryRow(names, tuple(groups)) for names, groups in rows.items()]


def headline(report: ScoreReport, rows: Sequence[SummaryRow]) -> str:
    """Return one sentence that states how often respondents find the ball."""
    name = partial(_name, rows)
    valued = [row for row in rows if row.value("accuracy").value is not None]
    if not valued:
        return "There is no accuracy, because the ball's cells are unknown for these images."
    of_reference = [row for row in valued if row.groups[0].respondent == report.policy.reference]
    others = [row for row in valued if row not in of_reference]
    models = [row for row in others if row.groups[0].kind == "model"] or others
    best = max(models or of_reference, key=lambda row: row.value("accuracy").value or 0.0)
    rate = told(best.value("accuracy"), "share")
    if of_reference and models:
        people = of_reference[0]
        sentence = f"{name(people)} finds the ball in {told(people.value('accuracy'), 'share')} of guesses; "
        of = f"the best of {len(models)} others, {name(best)}," if len(models) > 1 else name(best)
        sentence += f"{of} finds it in {rate}"
    elif len(models) > 1:
        sentence = f"{name(best)}, the best of {len(models)}, finds the ball in {rate} of guesses"
    else:
        sentence = f"{name(best)} finds the ball in {rate} of guesses"
    sports = {group.sport for row in rows for group in row.groups}
    over = f"mean over {len(sports)} sports, " if len(sports) > 1 else ""
    intervals = "; 95% intervals" if report.policy.bootstrap else ""
    return f"{sentence} ({over}{plural(best.n_images, 'image')}{intervals})."


def default_text(report: ScoreReport, *, to_terminal: bool = False, more: str = MORE) -> str:
    """Return what `spotball score` prints by default: the summary, or all tables if there is a noise ceiling.

    Args:
        report: the report.
        to_terminal: whether the text may use the width of the terminal that standard output is connected to.
        more: how to see more than the summary.
    """
    if _has_summary(report):
        return to_summary(report, to_terminal=to_terminal, more=more)
    return tables.to_text(report, to_terminal=to_terminal)


def to_summary(report: ScoreReport, *, to_terminal: bool = False, more: str = MORE) -> str:
    """Return the headline, the table of means, the warnings, a pointer to the full tables, and the signature.

    Args:
        report: a report with at least one group.
        to_terminal: whether the table may use the width of the terminal that standard output is connected to.
        more: how to see more than the summary.
    """
    return _screen(report, more).text(to_terminal=to_terminal)


def _has_summary(report: ScoreReport) -> bool:
    return bool(report.groups) and not report.ceilings


def _html(report: ScoreReport) -> str:
    if not _has_summary(report):
        return tables.to_html(report, [headline(report, summary_rows(report))] if report.groups else [])
    several = len({group.sport for group in report.groups}) > 1
    return _screen(report, IN_PYTHON).html("Means over sports" if several else "Scores")


def _screen(report: ScoreReport, more: str) -> FirstScreen:
    rows = summary_rows(report)
    parts = [part for part in ("respondent", "prompt") if part in report.policy.by]
    shown = [key for key in COLUMNS if any(row.value(key).value is not None for row in rows)]
    units = {key: unit_of(key, report.policy) for key in shown}
    heads = [f"{COLUMNS[key]}\n({'%' if units[key] == 'share' else units[key]})" for key in shown]
    return FirstScreen(
        headline(report, rows),
        [*parts, "images", *heads],
        [[*row.names, f"{row.n_images:,}", *(_cell(row, key, report) for key in shown)] for row in rows],
        n_names=len(parts),
        warnings=report.warnings,
        notes=[*_notes(report, rows), more],
        signature=report.signature,
    )


def _cell(row: SummaryRow, key: str, report: ScoreReport) -> str:
    """Format a value; accuracy includes its interval, and a matched distance its standard error."""
    value, unit = row.value(key), unit_of(key, report.policy)
    if value.value is None:
        return "-"
    ends = interval(value.ci95, unit) if key == "accuracy" else ""
    error = f"± {number(value.se, unit)}" if value.se is not None else ""
    return f"{number(value.value, unit)} {ends}{error}".rstrip()


def _name(rows: Sequence[SummaryRow], row: SummaryRow) -> str:
    """Return the respondent's name, with the prompt if the respondent has several."""
    respondent, *prompt = row.names or ("all responses",)
    several = [other.names[:1] for other in rows].count(row.names[:1]) > 1
    return f"{respondent} ({prompt[0]})" if prompt and several else respondent


def _notes(report: ScoreReport, rows: Sequence[SummaryRow]) -> Iterator[str]:
    if len({tuple(group.sport for group in row.groups) for row in rows}) > 1:
        yield "warning: the rows cover different sports, so they cannot be compared. Compare rows within one sport"
    if any(row.value("wasserstein_matched").value is not None for row in rows):
        title = METRICS["wasserstein_matched"].title_under(report.policy)
        yield f"The Wasserstein column shows the distance from the guesses of {report.policy.reference} ({title})."
        if report.policy.bootstrap:
            yield "The number after ± is the standard error of the distance."
    unparsed = [
        f"{_name(rows, row)} {n:,} of {sum(group.n_responses for group in row.groups):,}"
        for row in rows
        if (n := sum(group.n_unparsed for group in row.groups))
    ]
    if unparsed:
        more = f", and {plural(len(unparsed) - _LISTED, 'other row')}" if len(unparsed) > _LISTED else ""
        yield f"Unparsed responses, which count as wrong: {', '.join(unparsed[:_LISTED])}{more}."


FORMS = Forms(text=partial(default_text, more=IN_PYTHON), html=_html, columns=tables.COLUMNS, rows=tables.frame_rows)

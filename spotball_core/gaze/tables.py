"""Write the analysis as text, for a terminal or as Markdown, with its signature."""

from __future__ import annotations

from collections.abc import Iterator

from spotball_core.gaze.battery.findings import QUESTIONS, Finding
from spotball_core.gaze.battery.performance import PUBLISHED, PUBLISHED_TRIALS
from spotball_core.gaze.checks import Effect
from spotball_core.gaze.result import GazeReport, RespondentResult
from spotball_core.gaze.weights import mechanism_table
from spotball_core.schema.report import Interval
from spotball_core.text.numbers import interval, number, say_p
from spotball_core.text.tables import Titled, tables_as_markdown, tables_as_text

MARKS = {True: "+", False: "-", None: "?"}
PUBLISHED_NAME = "people (published)"
CHANCE_NAME = "guessing"


def to_text(report: GazeReport, *, to_terminal: bool = False) -> str:
    """Return the report as text tables, at full width or at the width of the terminal on standard output."""
    return tables_as_text(tables(report), "\n".join(foot(report)), to_terminal=to_terminal)


def to_markdown(report: GazeReport) -> str:
    """Return the report as Markdown tables, followed by the signature."""
    return tables_as_markdown(tables(report), "\n".join(foot(report)))


def tables(report: GazeReport) -> Iterator[Titled]:
    """Yield Tables 1 and 2 of the gaze paper, the cue model, the numbers of all tests, comparisons and other checks."""
    yield _accuracy(report)
    yield _types(report)
    yield mechanism_table([(result.respondent, result.mechanism) for result in report.respondents])
    yield _numbers(report)
    yield from _fleet(report)
    yield from _checks(report)


def mark(finding: Finding) -> str:
    """Return the symbol for a verdict in tables (+ yes, - no, ? no answer); for Test 4, the type that it supports."""
    return finding.supports or MARKS[finding.verdict]


def sizes(report: GazeReport) -> list[str]:
    """Return, in ascending order, all numbers of objects per photo for which the report contains accuracies."""
    return sorted({n for result in report.respondents for n in result.accuracy}, key=int)


def scaled(value: float) -> str:
    """Format an estimate for a table, with its sign and three decimals."""
    return f"{value:+.3f}"


def ends(ci95: Interval | None) -> str:
    """Format an interval for a table; return an empty text for None."""
    return f"[{ci95[0]:+.3f}, {ci95[1]:+.3f}]" if ci95 else ""


def foot(report: GazeReport) -> Iterator[str]:
    """Yield the lines of text that follow the tables."""
    yield from (f"{result.respondent}: {result.summary}" for result in report.respondents)
    yield from (f"warning: {warning}" for warning in report.warnings)
    yield from (f"remark: {remark}" for remark in report.remarks)
    yield "The sign + means yes, - means no, and ? means no answer."
    yield "Brackets show 95% intervals: bootstrap over photos for accuracies, Wald or Student for estimates."
    yield report.signature


def _accuracy(report: GazeReport) -> Titled:
    columns = sizes(report)
    heads = ["respondent", "unmatched", *(head for n in columns for head in (f"{n} objects (%)", "of trials"))]
    rows = [
        [
            result.respondent + ("" if result.accuracy_of == "natural" else " (all conditions)"),
            f"{result.n_unmatched:,}",
            *(cell for n in columns for cell in (_share(result, n), f"{result.accuracy_trials.get(n, 0):,}")),
        ]
        for result in report.respondents
    ]
    published = [published_accuracy(n) for n in columns]
    rows += [
        [PUBLISHED_NAME, "", *(cell for pair in published for cell in pair)],
        [CHANCE_NAME, "", *(cell for n in columns for cell in (f"{100 / int(n):.1f}", ""))],
    ]
    return "Table 1: accuracy in the natural condition", 1, heads, rows


def published_accuracy(n: str) -> tuple[str, str]:
    """Return people's published accuracy for n objects in percent, and its number of trials; empty if unknown.

    Args:
        n: number of objects.
    """
    if int(n) not in PUBLISHED:
        return "", ""
    return f"{100 * PUBLISHED[int(n)]:.0f}", f"about {PUBLISHED_TRIALS[int(n)]:,}"


def _share(result: RespondentResult, n: str) -> str:
    if n not in result.accuracy:
        return "-"
    return f"{number(result.accuracy[n], 'share')}\n{interval(result.accuracy_ci95[n], 'share')}".rstrip()


def _types(report: GazeReport) -> Titled:
    heads = ["respondent", "mechanism", "type", *(f"Test {key}" if key[0].isdigit() else key for key in QUESTIONS)]
    rows = [
        [
            result.respondent,
            result.mechanism.kind if result.mechanism else "-",
            result.type,
            *(mark(finding) for finding in result.tests.values()),
        ]
        for result in report.respondents
    ]
    return "Table 2: types and tests", 3, heads, rows


def _numbers(report: GazeReport) -> Titled:
    heads = ["respondent", "test", "quantity", "verdict", "estimate", "p", "method"]
    rows = [
        [
            result.respondent,
            key,
            finding.scale or finding.reason or "-",
            mark(finding),
            "-" if finding.estimate is None else f"{scaled(finding.estimate)}\n{ends(finding.ci95)}".rstrip(),
            _p(finding),
            finding.method or "-",
        ]
        for result in report.respondents
        for key, finding in result.tests.items()
    ]
    return "Every test", 3, heads, rows


def _p(finding: Finding) -> str:
    if finding.p is None:
        return "-"
    raw = say_p(finding.p).removeprefix("= ")
    return raw if finding.p_adjusted is None else f"{raw}\nadjusted {say_p(finding.p_adjusted).removeprefix('= ')}"


def _fleet(report: GazeReport) -> Iterator[Titled]:
    fleet = report.fleet.against_chance
    if len(fleet.respondents) > 1:
        n = len(fleet.respondents)
        by_test = "; ".join(f"{way.replace('_', ', ').title()}: {k}" for way, k in fleet.not_above.items())
        heads = ["respondent", "trials", "accuracy (%)", "chance (%)", "z", "p", "Holm", "exact p", "exact, Holm"]
        rows = [
            [
                result.respondent,
                f"{result.n_trials:,}",
                number(result.accuracy, "share"),
                number(result.chance, "share"),
                "-" if result.z is None else f"{result.z:.2f}",
                *(say_p(p).removeprefix("= ") for p in (result.p, result.p_holm, result.p_exact, result.p_exact_holm)),
            ]
            for result in fleet.respondents
        ]
        yield (
            f"Accuracy compared with guessing in all conditions. Respondents (of {n}) not above guessing: {by_test}",
            1,
            heads,
            rows,
        )
    if report.fleet.trends:
        heads = ["accuracy by", "models", "excluded", "slope", "p", "r", "rho", "p of rho"]
        rows = [
            [
                trend.of,
                str(trend.n),
                str(trend.n_left_out),
                f"{scaled(trend.slope)}\n{ends(trend.ci95)}",
                say_p(trend.p).removeprefix("= "),
                f"{trend.r:.2f}",
                f"{trend.rho:.2f}",
                say_p(trend.p_rho).removeprefix("= "),
            ]
            for trend in report.fleet.trends
        ]
        yield "Accuracy of newer and larger models", 1, heads, rows
    if two := report.fleet.compared:
        row = [two.a, two.b, number(two.accuracy_a, "share"), number(two.accuracy_b, "share")]
        row += ["-" if two.z is None else f"{two.z:.2f}", say_p(two.p).removeprefix("= ")]
        yield "Two respondents", 2, ["a", "b", "accuracy of a (%)", "accuracy of b (%)", "z", "p"], [row]


def _checks(report: GazeReport) -> Iterator[Titled]:
    rows = []
    for result in report.respondents:
        effects: list[Effect | None] = [*result.checks.sites, result.checks.response_time, result.checks.hint]
        rows += [
            [
                result.respondent,
                effect.of,
                f"{scaled(effect.estimate)}\n{ends(effect.ci95)}".rstrip(),
                effect.scale,
                say_p(effect.p).removeprefix("= "),
                effect.method,
            ]
            for effect in effects
            if effect is not None
        ]
    if rows:
        yield "Other checks", 2, ["respondent", "check", "estimate", "quantity", "p", "method"], rows

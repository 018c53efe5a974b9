"""Write the page of a leaderboard: a table per ranking, an explanation of ranks, and the sources of the numbers."""

from __future__ import annotations

from spotball_core.leaderboard.rankings import Leaderboard, RankTable
from spotball_core.leaderboard.reports import SourceReport
from spotball_core.leaderboard.text import Line, Score, columns_of, head, lines, remarks
from spotball_core.pages.page import Page, render_page
from spotball_core.pages.parts import PageTable, Section, TableCell, TableRows
from spotball_core.service.safe_text import printable
from spotball_core.text.words import listed, plural
from spotball_core.version import version

GENERATOR = "spotball leaderboard"
"""Start of the `generator` metadata in the page's HTML, which identifies a folder as a leaderboard."""

CAPTION = (
    "Brackets show the 95% confidence interval. Italics show the rank, and parentheses the ranks that are possible."
)

READING = (
    (
        "The best value has rank 1. Parentheses show the range of ranks that the intervals allow. With 95% "
        "confidence, all true ranks of a column are in these ranges. One entry is ranked above another with "
        "confidence only if their intervals, widened for the number of entries (Bonferroni), do not overlap (Klein, "
        "Wright and Wieczorek, 2020). Reports do not record how the errors of two entries on the same images depend on "
        "each other. The method is therefore conservative: the ranges are valid for any dependence. `spotball report` "
        "and `spotball compare` use the responses themselves, and may find differences that this table does not show."
    ),
    (
        "The confidence applies to one column of one table, and to new images of the same kind. It is as accurate as "
        "the bootstrap intervals, which are slightly too narrow if there are few images. Scores without intervals "
        "(`--bootstrap 0`) have no ranges of ranks."
    ),
    (
        "In a column with ↑, higher values are better; in a column with ↓, lower values are better. The other columns "
        "are ranked by the distance from a target: the value of the reference or, for ratios to the ground truth, 1. "
        "The ranges of ranks also allow for the interval of the reference's value. Metrics that depend on the number "
        "of responses have no ranks. Use their matched versions, which do not depend on it."
    ),
    (
        "Models have ranks. People and baselines are shown without ranks. Baselines have ranks only if no model is "
        "shown. The values of uniform guessing are exact, so they have no intervals."
    ),
    (
        "Entries are ranked together only if they have the same version, policy, parse policy, scored images, ground "
        "truth, and responses of the reference. Different prompts are ranked together. Select prompts with `--prompt`."
    ),
    (
        "The average over sports is an unweighted mean. Only entries with scores in all sports have it. Its interval "
        "treats the images of different sports as independent samples (Zou and Donner, 2008). If participants were "
        "resampled, the average has no interval, because participants answer images of several sports."
    ),
)
"""An explanation of the ranks, in paragraphs."""


def page(board: Leaderboard, keys: tuple[str, ...]) -> str:
    """Return the page as HTML.

    Args:
        board: the leaderboard.
        keys: keys of the metrics to show.
    """
    parts = Page(
        title="Spot the Ball: leaderboard",
        generator=GENERATOR,
        intro=_intro(board),
        signature="",
        warnings=board.notes,
        dropped={},
        respondents=sorted({printable(entry.respondent) for part in board.rankings for entry in part.entries}),
        about=(
            f"Written by `{GENERATOR}`, version {version()}.",
            "All metrics, with their ranks, are in leaderboard.csv and leaderboard.parquet.",
        ),
    )
    sections = [*(_ranking(ranking, keys) for ranking in board.rankings), _reading(), _reports(board.reports)]
    return render_page(parts, sections, {})


def _intro(board: Leaderboard) -> list[str]:
    respondents = {(entry.respondent, entry.is_model) for ranking in board.rankings for entry in ranking.entries}
    n_models = sum(is_model for _, is_model in respondents)
    sports = sorted({sport for ranking in board.rankings for sport in ranking.sports if sport is not None})
    parts = [
        plural(len(board.reports), "report"),
        plural(n_models, "model"),
        plural(len(respondents) - n_models, "other respondent"),
    ]
    places = f" Sports: {', '.join(map(printable, sports))}." if sports else ""
    return [f"{listed(parts)}.{places}"]


def _ranking(ranking: RankTable, keys: tuple[str, ...]) -> Section:
    columns = columns_of(ranking, keys)
    shown_lines = lines(ranking, columns)
    with_source = any(line.source for line in shown_lines)
    names = ("Respondent", "Prompt", *(("Source",) if with_source else ()))
    heads = (*names, *map(head, columns), "Images", "Responses")
    rows = tuple(_row(line, with_source) for line in shown_lines)
    name = f"ranking-{ranking.number}"
    caption = f"Ranking {ranking.number}. {CAPTION}"
    return Section(
        name,
        f"{ranking.number}. {printable(ranking.title)}",
        lead=tuple(remarks(ranking, columns)),
        missing=""
        if columns
        else "None of these entries has a value of the selected metrics. Select others with `--metrics`.",
        tables=(PageTable(f"{name}-table", caption, heads, len(names), (TableRows("", rows),)),) if columns else (),
        signature=printable(ranking.signature),
    )


def _row(line: Line, with_source: bool) -> tuple[TableCell, ...]:
    names = (line.name, line.prompt, *((line.source,) if with_source else ()))
    counts = (line.n_images, line.n_responses)
    return (*map(TableCell, names), *map(_cell, line.scores), *map(TableCell, counts))


def _cell(score: Score) -> TableCell:
    return TableCell(score.value, score.interval, score.rank)


def _reading() -> Section:
    return Section("reading", "How to read the ranks", lead=READING)


def _reports(reports: tuple[SourceReport, ...]) -> Section:
    rows = tuple(
        (
            TableCell(report.source),
            TableCell(f"{len(report.report.groups):,}"),
            TableCell(printable(report.report.signature)),
        )
        for report in reports
    )
    table = PageTable(
        "sources", "Reports and their signatures.", ("Report", "Groups", "Signature"), 1, (TableRows("", rows),)
    )
    warnings = tuple(
        f"{report.source}: {printable(warning)}" for report in reports for warning in report.report.warnings
    )
    return Section("reports", "Reports", points=warnings, tables=(table,))

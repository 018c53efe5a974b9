"""Write a leaderboard as a folder: page and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spotball_core.errors import OptionError
from spotball_core.leaderboard.columns import chosen
from spotball_core.leaderboard.rankings import Leaderboard, RankTable, make_leaderboard
from spotball_core.leaderboard.reports import SourceReport, read_reports
from spotball_core.leaderboard.sparklines import sparklines
from spotball_core.leaderboard.text import Line, best, columns_of, head, lines, remarks
from spotball_core.pages.folder import check_installed, check_replaceable
from spotball_core.pages.parts import Page, PageTable, Section, Sparkline, TableCell, TableRows, render_page
from spotball_core.service.files import replacing_folder
from spotball_core.service.progress import OnProgress, ignore_progress
from spotball_core.service.safe_text import csv_frame, printable
from spotball_core.text.words import listed, plural
from spotball_core.version import version

if TYPE_CHECKING:
    import polars as pl


COLUMNS = (
    *("ranking", "sport", "n_sports", "respondent", "kind", "prompt", "is_reference", "metric"),
    *("value", "ci95_low", "ci95_high", "rank", "rank_low", "rank_high", "n_ranked", "unit", "better"),
    *("n_images", "n_responses", "n_unparsed", "reason", "version", "comparable", "signature", "source"),
)

_COUNTS = (
    *("ranking", "n_sports", "rank", "rank_low", "rank_high", "n_ranked"),
    *("n_images", "n_responses", "n_unparsed"),
)
_VALUES = ("value", "ci95_low", "ci95_high")


def to_frame(board: Leaderboard) -> pl.DataFrame:
    """Return one row for each ranking, entry and metric, with its rank.

    For averages over sports, `sport` is null and `n_sports` is the number of sports. `better` is `higher`, `lower`,
    `reference` (values nearer to the reference's are better) or `one` (values nearer to 1 are better); it is null for
    metrics that are not ranked. Rows may be compared if they have the same value of `comparable`.
    """
    import polars as pl

    schema: dict[str, pl.DataType] = dict.fromkeys(COLUMNS, pl.String())
    schema |= dict.fromkeys(_COUNTS, pl.Int64()) | dict.fromkeys(_VALUES, pl.Float64())
    schema["is_reference"] = pl.Boolean()
    rows = (row for ranking in board.rankings for row in _rows(ranking))
    return pl.DataFrame(list(rows), schema=schema, orient="row")


def write_table(board: Leaderboard, csv: Path, parquet: Path) -> None:
    """Write the table as Parquet, and as CSV in which spreadsheet programs do not run text as formulas."""
    frame = to_frame(board)
    csv_frame(frame).write_csv(csv)
    frame.write_parquet(parquet)


def _rows(ranking: RankTable) -> Iterator[tuple[Any, ...]]:
    sport = None if ranking.is_average else ranking.tasks[0].sport
    n_sports = None if ranking.tasks[0].sport is None else len(ranking.tasks)
    for place, entry in enumerate(ranking.entries):
        name = (entry.respondent, entry.kind, entry.prompt, entry.is_reference)
        counts = (entry.n_images, entry.n_responses, entry.n_unparsed)
        origin = (ranking.tasks[0].version, ranking.signature, "; ".join(entry.signatures), "; ".join(entry.sources))
        for key, column in ranking.columns.items():
            value = entry.metrics.get(key)
            if value is None:
                continue
            rank = ranking.ranks[key].get(place)
            ranks = (rank.rank, *(rank.interval or (None, None)), len(ranking.ranks[key])) if rank else (None,) * 4
            values = (key, value.value, *(value.ci95 or (None, None)))
            yield (
                *(ranking.number, sport, n_sports, *name, *values, *ranks, column.unit, column.better),
                *(*counts, value.reason, *origin),
            )


GENERATOR = "spotball leaderboard"
"""Start of the `generator` metadata in the page's HTML, which identifies a folder as a leaderboard."""

CAPTION = (
    "Brackets and bars: 95% confidence intervals. Italics: the rank, with all possible ranks. Marks further right are "
    "better, or more like people."
)

READING = (
    (
        "The best value has rank 1. Parentheses show the range of ranks that the intervals allow. With 95% "
        "confidence, all true ranks of a column are in these ranges."
    ),
    (
        "One entry is ranked above another with confidence only if their intervals, widened for the number of entries "
        "(Bonferroni), do not overlap (Klein, Wright and Wieczorek, 2020)."
    ),
    (
        "Reports do not record how the errors of two entries on the same images depend on each other. The method is "
        "therefore conservative: the ranges are valid for any dependence. `spotball report` and `spotball compare` use "
        "the responses themselves, and may find differences that this table does not show."
    ),
    (
        "The confidence applies to one column of one table, and to new images of the same kind. It is as accurate as "
        "the bootstrap intervals, which are slightly too narrow if there are few images. Scores without intervals "
        "(`--bootstrap 0`) have no ranges of ranks."
    ),
    (
        "In a column with ↑, higher values are better; in a column with ↓, lower values are better. The other columns "
        "are ranked by the distance from a target: the value of the reference or, for ratios to the ground truth, 1."
    ),
    (
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
        respondents=sorted(
            {row.name for ranking in board.rankings for row in lines(ranking, columns_of(ranking, keys))}
        ),
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
    charts = [sparklines(ranking, column) for column in columns]
    with_source = any(line.source for line in shown_lines)
    names = ("Respondent", "Prompt", *(("Source",) if with_source else ()))
    heads = (*names, *map(head, columns), "Images", "Responses")
    rows = tuple(_row(line, with_source, charts) for line in shown_lines)
    name = f"ranking-{ranking.number}"
    caption = f"Ranking {ranking.number}. {CAPTION}"
    known = (line for column in reversed(charts) for chart in column.values() for line in chart.lines)
    key = tuple({line.name: line for line in known}.values())
    return Section(
        name,
        f"{ranking.number}. {printable(ranking.title)}",
        lead=(*best(ranking, columns), *remarks(ranking, columns)),
        short=printable(ranking.title),
        missing=""
        if columns
        else "None of these entries has a value of the selected metrics. Select others with `--metrics`.",
        tables=(PageTable(f"{name}-table", caption, heads, len(names), (TableRows("", rows),), key=key),)
        if columns
        else (),
        signature=printable(ranking.signature),
    )


def _row(line: Line, with_source: bool, charts: Sequence[dict[int | None, Sparkline]]) -> tuple[TableCell, ...]:
    names = (line.name, line.prompt, *((line.source,) if with_source else ()))
    counts = (line.n_images, line.n_responses)
    scores = (
        TableCell(score.value, score.interval, score.rank, chart.get(line.place))
        for score, chart in zip(line.scores, charts, strict=True)
    )
    return (*map(TableCell, names), *scores, *map(TableCell, counts))


def _reading() -> Section:
    return Section("reading", "How to read the ranks", short="Ranks", details=READING)


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


PAGE, CSV, PARQUET = "leaderboard.html", "leaderboard.csv", "leaderboard.parquet"


def write_leaderboard(
    paths: Sequence[str | Path],
    out: str | Path,
    *,
    metrics: Sequence[str] | None = None,
    sports: Sequence[str] | None = None,
    prompts: Sequence[str] | None = None,
    on_progress: OnProgress = ignore_progress,
) -> Leaderboard:
    """Rank the respondents in score reports, and write the leaderboard into a folder.

    The files are written to a temporary folder, which is renamed when it is complete. An earlier leaderboard at `out`
    is replaced.

    Args:
        paths: score reports, or folders that contain them.
        out: the leaderboard's folder.
        metrics: keys of the metrics on the page (default: `columns.DEFAULT`). The tables are sorted by the first
            metric. The CSV and Parquet files have all metrics.
        sports: the sports to include (default: all).
        prompts: the prompts to include (default: all).
        on_progress: called with the number of files read, and their total.

    Raises:
        InputError: if there is no score report, a given file is not a score report, or a report is damaged or from a
            newer version.
        OptionError: if `out` contains anything other than an earlier leaderboard or cannot be written; if no report has
            a selected metric, sport or prompt; or if there is nothing to rank.
        MissingExtraError: if Jinja2 is not installed.
    """
    target = Path(out).resolve()
    check_installed("The leaderboard", ("jinja2",))
    check_replaceable(
        target, GENERATOR, what="leaderboard", page_name=PAGE, is_ours=lambda name: name in (PAGE, CSV, PARQUET)
    )
    reports = read_reports(paths, exclude=target, on_progress=on_progress)
    board = make_leaderboard(reports, sports=sports, prompts=prompts)
    keys = chosen(metrics, board.metrics)
    try:
        with replacing_folder(target) as beside:
            write_table(board, beside / CSV, beside / PARQUET)
            (beside / PAGE).write_text(page(board, keys), encoding="utf-8", newline="\n")
    except OSError as error:
        raise OptionError(
            f"the leaderboard cannot be written: {error}. Use another folder", code="unwritable-output", file=out
        ) from error
    return board

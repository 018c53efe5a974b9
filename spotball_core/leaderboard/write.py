"""Write a leaderboard as a folder: page and tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spotball_core.errors import OptionError
from spotball_core.leaderboard.columns import chosen
from spotball_core.leaderboard.page import GENERATOR, page
from spotball_core.leaderboard.rankings import Leaderboard, make_leaderboard
from spotball_core.leaderboard.reports import read_reports
from spotball_core.leaderboard.table import write_table
from spotball_core.pages.folder import check_installed, check_replaceable
from spotball_core.service.files import replacing_folder
from spotball_core.service.progress import OnProgress, ignore_progress

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
            f"the leaderboard cannot be written: {error}. Name another folder", code="unwritable-output", file=out
        ) from error
    return board

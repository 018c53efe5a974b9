"""Write a leaderboard as a folder: page, tables, README, badge and model-index blocks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from spotball_core.errors import OptionError
from spotball_core.leaderboard.badge import as_endpoint, as_svg, message
from spotball_core.leaderboard.columns import chosen
from spotball_core.leaderboard.model_index import model_indexes
from spotball_core.leaderboard.page import GENERATOR, READING, page
from spotball_core.leaderboard.rankings import Leaderboard, make_leaderboard
from spotball_core.leaderboard.readme import readme
from spotball_core.leaderboard.reports import read_reports
from spotball_core.leaderboard.table import write_table
from spotball_core.pages.folder import check_installed, check_replaceable
from spotball_core.service.files import replacing_folder
from spotball_core.service.paths import output_name
from spotball_core.service.progress import OnProgress, ignore_progress

PAGE, README, BADGE, ENDPOINT = "leaderboard.html", "README.md", "badge.svg", "badge.json"
CSV, PARQUET, MODEL_INDEX = "leaderboard.csv", "leaderboard.parquet", "model-index"

_OURS = re.compile(
    "|".join(re.escape(name) for name in (PAGE, README, BADGE, ENDPOINT, CSV, PARQUET)) + rf"|{MODEL_INDEX}/[^/]+\.yaml"
)


def write_leaderboard(
    paths: Sequence[str | Path],
    out: str | Path,
    *,
    metrics: Sequence[str] | None = None,
    sports: Sequence[str] | None = None,
    prompts: Sequence[str] | None = None,
    url: str | None = None,
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
        url: address where the leaderboard will be published, which model-index blocks name as their source.
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
        target, GENERATOR, what="leaderboard", page_name=PAGE, is_ours=lambda name: bool(_OURS.fullmatch(name))
    )
    reports = read_reports(paths, exclude=target, on_progress=on_progress)
    board = make_leaderboard(reports, sports=sports, prompts=prompts)
    keys = chosen(metrics, board.metrics)
    try:
        with replacing_folder(target) as beside:
            _fill(beside, board, keys, url)
    except OSError as error:
        raise OptionError(
            f"the leaderboard cannot be written: {error}. Name another folder", code="unwritable-output", file=out
        ) from error
    return board


def _fill(folder: Path, board: Leaderboard, keys: tuple[str, ...], url: str | None) -> None:
    write_table(board, folder / CSV, folder / PARQUET)
    leader = message(board, keys)
    texts = {
        PAGE: page(board, keys),
        README: readme(board, keys, badge=BADGE, page=PAGE, explanation=READING[0]),
        BADGE: as_svg(leader),
        ENDPOINT: as_endpoint(leader),
    }
    for name, block in model_indexes(board, keys, url=url).items():
        texts[f"{MODEL_INDEX}/{output_name(name, ending='.yaml')}"] = block
    (folder / MODEL_INDEX).mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")

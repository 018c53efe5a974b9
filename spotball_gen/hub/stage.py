"""Prepare a folder for the upload: recognize its content, and write Parquet files, the README and its metadata."""

from __future__ import annotations

from pathlib import Path

from spotball_core.errors import InputError, OptionError, Problem
from spotball_core.io.dataset import SCENES
from spotball_core.leaderboard.columns import chosen
from spotball_core.leaderboard.rankings import make_leaderboard
from spotball_core.leaderboard.reports import read_reports, report_files
from spotball_core.leaderboard.table import to_frame
from spotball_core.scoring.score import score
from spotball_gen.dataset.croissant import CROISSANT, WITHOUT_BALL, croissant_text
from spotball_gen.dataset.exports import describe
from spotball_gen.dataset.exports.columns import Column
from spotball_gen.dataset.exports.parquet import DATA, piece_name, write_table
from spotball_gen.dataset.exports.readme import README
from spotball_gen.dataset.licenses import license_urls
from spotball_gen.hub.cards import dataset_card, results_card
from spotball_gen.hub.datasets import stage_dataset
from spotball_gen.hub.manifest import is_visible
from spotball_gen.hub.staged import Staged
from spotball_gen.hub.tables import RESPONSES, RESPONSES_TABLE, SCENES_TABLE
from spotball_gen.quality.splits import TEST


def stage(folder: Path, work: Path, *, repo: str, license: str | None = None, url: str) -> Staged:
    """Prepare a dataset, an export or a folder with score reports for the upload, and return the files to upload.

    Args:
        folder: a folder with scenes.jsonl, an export from `spotball gen export`, or a folder with score reports.
        work: an empty folder for new files.
        repo: the repository, such as me/my-balls.
        license: the Hub's identifier of the license, or None if the licenses of the sources apply.
        url: address of the repository.

    Raises:
        InputError: if the folder contains neither a dataset nor an export nor score reports, or if files cannot be
            read.
        OptionError: if `folder` is not a folder, or if a license is given for an export, which already states one.
    """
    if not folder.is_dir():
        raise OptionError(
            f"{folder} is not a folder. Name a dataset, an export, or a folder of score reports", code="wrong-folder"
        )
    if (folder / SCENES).is_file():
        staged = _dataset(folder, work, repo, license, url)
    elif (folder / README).is_file() and (folder / CROISSANT).is_file():
        staged = _export(folder, work, license)
    else:
        staged = _results(folder, work, repo, license, url)
    staged.finish()
    return staged


def _dataset(folder: Path, work: Path, repo: str, license: str | None, url: str) -> Staged:
    staged, rows = stage_dataset(folder, work)
    responses = [file.path for file in staged.stored if file.path.startswith("responses")]
    signature = score(folder, bootstrap=0).signature if responses else None
    card = dataset_card(rows, repo, license=license, responses=responses, signature=signature)
    staged.add_text(README, card)
    files, records = describe.parquet(work, SCENES_TABLE)
    if (work / RESPONSES).is_dir():
        more_files, more_records = describe.parquet(
            work, RESPONSES_TABLE, data=RESPONSES, records=RESPONSES, description="The responses."
        )
        files, records = [*files, *more_files], [*records, *more_records]
    metadata = croissant_text(
        name="spot-the-ball",
        description=WITHOUT_BALL,
        licenses=[license] if license else license_urls(row.license for row in rows),
        distribution=files,
        record_sets=records,
        url=url,
    )
    staged.add_text(CROISSANT, metadata)
    return staged


def _export(folder: Path, work: Path, license: str | None) -> Staged:
    if license:
        raise OptionError(
            f"{folder / README} already states the license. Change it there, and remove --license",
            code="conflicting-options",
            field="--license",
        )
    staged = Staged("export", folder, work)
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())
    staged.add_unchanged(name for name in names if is_visible(name))
    return staged


def _results(folder: Path, work: Path, repo: str, license: str | None, url: str) -> Staged:
    paths = report_files(folder)
    if not paths:
        expected = f"{SCENES}, {README} with {CROISSANT} from `spotball gen export`, or score reports (JSON)"
        raise InputError(
            [Problem("wrong-folder", str(folder), None, "folder", "no dataset, export or score report", expected)]
        )
    staged = Staged("results", folder, work)
    staged.add_unchanged(path.relative_to(folder).as_posix() for path in paths)
    board = make_leaderboard(read_reports([folder]))
    keys = chosen(None, board.metrics)
    frame = to_frame(board)
    columns = [Column(name, f"{name} of the score.", dtype) for name, dtype in frame.schema.items()]
    write_table(frame.iter_rows(named=True), columns, staged.new_file(f"{DATA}/{piece_name(TEST, 0, 1)}"))
    staged.add_text(README, results_card(board, keys, repo, license=license))
    files, records = describe.parquet(work, columns, records="scores", description="A metric of a respondent.")
    metadata = croissant_text(
        name="spot-the-ball-results",
        description="Scores of models, people and baselines on the benchmark Spot the Ball.",
        licenses=[license or "not known"],
        distribution=files,
        record_sets=records,
        url=url,
    )
    staged.add_text(CROISSANT, metadata)
    return staged

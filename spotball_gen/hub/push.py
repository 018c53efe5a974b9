"""Upload a dataset, an export or score reports to the Hub."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from spotball_core.errors import InputError, OptionError
from spotball_core.io.dataset import SCENES
from spotball_core.leaderboard.columns import chosen
from spotball_core.leaderboard.rankings import make_leaderboard
from spotball_core.leaderboard.reports import read_reports, report_files
from spotball_core.leaderboard.write import to_frame
from spotball_core.scoring.score import score
from spotball_gen.dataset.croissant import CROISSANT, WITHOUT_BALL, croissant_text
from spotball_gen.dataset.exports import describe
from spotball_gen.dataset.exports.columns import Column
from spotball_gen.dataset.exports.parquet import DATA, piece_name, write_table
from spotball_gen.dataset.exports.readme import README
from spotball_gen.dataset.licenses import license_urls
from spotball_gen.hub.cards import dataset_card, results_card
from spotball_gen.hub.client import Hub, repository_url
from spotball_gen.hub.datasets import Staged, stage_dataset
from spotball_gen.hub.manifest import is_visible
from spotball_gen.hub.tables import RESPONSES, RESPONSES_TABLE, SCENES_TABLE, content_of
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
            f"{folder} is not a folder. Use a dataset, an export, or a folder of score reports", code="wrong-folder"
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
        raise InputError.of("wrong-folder", folder, "folder", "no dataset, export or score report", expected)
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


@dataclass(frozen=True)
class Pushed:
    """The result of an upload.

    Attributes:
        url: address of the repository.
        sizes: size in bytes of each file in the repository, by path.
        notes: sentences for the user, for example about files that were not uploaded.
        commit: the ID of the new commit, or None if nothing has changed or for a dry run.
    """

    url: str
    sizes: dict[str, int]
    notes: tuple[str, ...]
    commit: str | None = None


def push(
    folder: Path,
    repo: str,
    *,
    private: bool = False,
    license: str | None = None,
    dry_run: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Pushed:
    """Upload a folder to a repository on the Hub, in one commit.

    Args:
        folder: a dataset, an export, or a folder with score reports.
        repo: the repository, such as me/my-balls. It is created unless it exists.
        private: whether a new repository is private.
        license: the Hub's identifier of the license, or None if the licenses of the sources apply.
        dry_run: prepare the files, but do not use the network.
        tell: called with a progress message at each step.

    Raises:
        InputError: if files cannot be read.
        MissingExtraError: if huggingface-hub is not installed.
        OptionError: if the folder does not exist, if the repository's name is invalid, if the token is missing, or if a
            license is given for an export, which already states one.
        SpotballError: if the Hub rejects the upload or cannot be reached.
    """
    hub = None if dry_run else Hub("push")
    with TemporaryDirectory(prefix="spotball-push-") as work:
        tell("Preparing the files.")
        staged = stage(folder, Path(work), repo=repo, license=license, url=repository_url(repo))
        sizes = {name: place.stat().st_size for name, place in sorted(staged.files.items())}
        pushed = Pushed(repository_url(repo), sizes, tuple(staged.notes))
        if hub is None:
            return pushed
        hub.create(repo, private=private)
        _, remote = hub.files(repo)
        changed = {
            name: place
            for name, place in sorted(staged.files.items())
            if name not in remote or not remote[name].is_same(place)
        }
        # Delete the Parquet files of an earlier push. Otherwise, they would be read together with the new ones.
        stale = sorted(name for name in remote if content_of(name) and name not in staged.files)
        if not changed and not stale:
            return pushed
        tell(f"Uploading {len(changed):,} of {len(sizes):,} files.")
        commit = hub.commit(repo, changed, stale, f"Push a {staged.kind} with spotball")
        return Pushed(pushed.url, sizes, pushed.notes, commit)

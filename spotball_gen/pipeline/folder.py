"""Check the folder of a dataset during generation, and define the names of its files and subfolders."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Annotated

from spotball_core.errors import OptionError
from spotball_core.service.sqlite_file import Schema, Table
from spotball_core.service.sqlite_store import RUN, RunSessions, SqliteStore

INDEXES = (
    "CREATE INDEX IF NOT EXISTS items_of_video ON items (video, ms)",
    "CREATE INDEX IF NOT EXISTS items_of_state ON items (state, stage, item)",
)
"""Indexes to look up the last frame of a video, and the remaining items of a stage."""


class Sessions(RunSessions):
    """One row per start of `spotball gen run`.

    Attributes:
        engine: the engine that ran the stages.
    """

    engine: str


class Videos:
    """Videos, in the order in which their frames are read. Of two near-duplicate frames, the first is kept.

    Attributes:
        video: id of the video: file name and start of the digest.
        position: position of the video in this order, from 0.
        sport: the sport.
        path: last known path of the file; relative if it is inside the work folder.
        license: license according to the configuration or the origin.
        origin: file name from the configuration, or web address.
        sha256: digest of the file.
        size: size of the file in bytes.
        modified: time of the last change, in ns since 1970.
        state: waiting, done, or failed.
        detail: problem with the video.
        frames: number of frames that have become items so far.
    """

    video: str
    position: Annotated[int, "UNIQUE"]
    sport: str
    path: str
    license: str
    origin: str
    sha256: str
    size: int
    modified: int
    state: str
    detail: str | None
    frames: int


class Items:
    """Items, each in its state after the last stage that it passed.

    Attributes:
        item: id: the video's id and the time stamp in ms.
        video: id of the item's video.
        ms: time stamp in milliseconds.
        frame: number of the frame in the video, in decoding order.
        shot: number of the shot in the video, from 0.
        hash: perceptual hash, to detect near duplicates.
        stage: the last stage that the item passed, or the stage that removed the item.
        state: going, held (until a stage decides on all items together), passed (all stages), rejected, or failed.
        record: times, scores, boxes, pictures, seeds, versions, as JSON.
    """

    item: str
    video: str
    ms: int
    frame: int
    shot: int
    hash: bytes | None
    stage: str
    state: str
    record: str


class Results:
    """Results of the stages for each item.

    Attributes:
        item: the item's id, or the video's id if the video cannot be read.
        stage: the stage.
        outcome: kept, rejected, or failed.
        reason: why the item was rejected, in the same words for all similar items, or the error.
        detail: details of the decision on this item.
        scores: measurements that led to a rejection, as JSON.
        session: number of the session.
        at: time of the result, UTC.
    """

    item: str
    stage: str
    outcome: str
    reason: str | None
    detail: str | None
    scores: str
    session: int
    at: str


class Settled:
    """Stages that have decided on all items together.

    Attributes:
        stage: the stage.
        at: time of the decision, UTC.
    """

    stage: str
    at: str


SCHEMA = Schema(
    version=1,
    tables=(
        RUN,
        Table(Sessions, ("session",)),
        Table(Videos, ("video",)),
        Table(Items, ("item",)),
        Table(Results, ("item", "stage")),
        Table(Settled, ("stage",)),
    ),
    start_over="generate a new dataset in another folder with --out",
    indexes=INDEXES,
)


WORK, LEDGER = ".work", "ledger.sqlite"

IMAGES, WITH_BALL = "images", "with_ball"
"""Subfolders with images by sport: without the ball (for the questions), and with the ball."""


def check_folder(dataset: Path) -> None:
    """Check that a folder can become a dataset, or was created by `spotball gen run`.

    Raises:
        OptionError: if the path is a file, or a folder that is not empty and was not created by `spotball gen run`.
    """
    if dataset.exists() and not dataset.is_dir():
        raise OptionError(f"{dataset} is a file. Use a folder", code="output-exists", field="--out")
    if dataset.is_dir() and not (dataset / WORK).is_dir() and any(dataset.iterdir()):
        raise OptionError(
            f"{dataset} is not empty and was not made by `spotball gen run`. Use another folder",
            code="output-exists",
            field="--out",
        )


def read_only(dataset: Path) -> SqliteStore:
    """Open a dataset's ledger for reading, also while another process uses it.

    Raises:
        OptionError: if the ledger does not exist.
        DamagedStoreError: if it is empty or damaged.
    """
    path = dataset / WORK / LEDGER
    if not path.exists():
        raise OptionError(
            f"{dataset} was not made by `spotball gen run`. Give the --out folder of a run", code="wrong-folder"
        )
    return SqliteStore(path, SCHEMA, read=True)


def with_ball(path: str | None) -> str | None:
    """Convert the path of an image without the ball to the path of the same image with the ball.

    Both are paths in a generated dataset. Return None if `path` is not in the subfolder `images`.

    Examples:
        >>> with_ball("images/soccer/1.png"), with_ball("elsewhere/1.png")
        ('with_ball/soccer/1.png', None)
    """
    parts = PurePosixPath(path or "").parts
    return str(PurePosixPath(WITH_BALL, *parts[1:])) if parts[:1] == (IMAGES,) else None

"""Check the folder of a dataset during generation, and define the names of its files and subfolders."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from spotball_core.errors import OptionError
from spotball_core.service.sqlite_file import Column, Schema, Table
from spotball_core.service.sqlite_store import SqliteStore, run_tables

INDEXES = (
    "CREATE INDEX IF NOT EXISTS items_of_video ON items (video, ms)",
    "CREATE INDEX IF NOT EXISTS items_of_state ON items (state, stage, item)",
)
"""Indexes to look up the last frame of a video, and the remaining items of a stage."""

SCHEMA = Schema(
    version=1,
    tables={
        **run_tables(
            "items",
            "`inpaint.kind`, `run.seed`, `sources`",
            "`spotball gen run`",
            Column("engine", "TEXT NOT NULL", "the engine that ran the stages"),
            "results depend on",
        ),
        "videos": Table(
            "Videos, in the order in which their frames are read. Of two near-duplicate frames, the first is kept.",
            ("video",),
            (
                Column("video", "TEXT NOT NULL", "id of the video: file name and start of the digest"),
                Column("position", "INTEGER NOT NULL UNIQUE", "position of the video in this order, from 0"),
                Column("sport", "TEXT NOT NULL", "the sport"),
                Column(
                    "path", "TEXT NOT NULL", "last known path of the file; relative if it is inside the work folder"
                ),
                Column("license", "TEXT NOT NULL", "license according to the configuration or the origin"),
                Column("origin", "TEXT NOT NULL", "file name from the configuration, or web address"),
                Column("sha256", "TEXT NOT NULL", "digest of the file"),
                Column("size", "INTEGER NOT NULL", "size of the file in bytes"),
                Column("modified", "INTEGER NOT NULL", "time of the last change, in ns since 1970"),
                Column("state", "TEXT NOT NULL", "waiting, done, or failed"),
                Column("detail", "TEXT", "problem with the video"),
                Column("frames", "INTEGER NOT NULL", "number of frames that have become items so far"),
            ),
        ),
        "items": Table(
            "Items, each in its state after the last stage that it passed.",
            ("item",),
            (
                Column("item", "TEXT NOT NULL", "id: the video's id and the time stamp in ms"),
                Column("video", "TEXT NOT NULL", "id of the item's video"),
                Column("ms", "INTEGER NOT NULL", "time stamp in milliseconds"),
                Column("frame", "INTEGER NOT NULL", "number of the frame in the video, in decoding order"),
                Column("shot", "INTEGER NOT NULL", "number of the shot in the video, from 0"),
                Column("hash", "BLOB", "perceptual hash, to detect near duplicates"),
                Column(
                    "stage", "TEXT NOT NULL", "the last stage that the item passed, or the stage that removed the item"
                ),
                Column(
                    "state",
                    "TEXT NOT NULL",
                    "going, held (until a stage decides on all items together), passed (all stages), rejected, or "
                    "failed",
                ),
                Column("record", "TEXT NOT NULL", "times, scores, boxes, pictures, seeds, versions, as JSON"),
            ),
        ),
        "results": Table(
            "Results of the stages for each item.",
            ("item", "stage"),
            (
                Column("item", "TEXT NOT NULL", "the item's id, or the video's id if the video cannot be read"),
                Column("stage", "TEXT NOT NULL", "the stage"),
                Column("outcome", "TEXT NOT NULL", "kept, rejected, or failed"),
                Column(
                    "reason", "TEXT", "why the item was rejected, in the same words for all similar items, or the error"
                ),
                Column("detail", "TEXT", "details of the decision on this item"),
                Column("scores", "TEXT NOT NULL", "measurements that led to a rejection, as JSON"),
                Column("session", "INTEGER NOT NULL", "number of the session"),
                Column("at", "TEXT NOT NULL", "time of the result, UTC"),
            ),
        ),
        "settled": Table(
            "Stages that have decided on all items together.",
            ("stage",),
            (
                Column("stage", "TEXT NOT NULL", "the stage"),
                Column("at", "TEXT NOT NULL", "time of the decision, UTC"),
            ),
        ),
    },
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
        raise OptionError(f"{dataset} is a file. Name a folder", code="output-exists", field="--out")
    if dataset.is_dir() and not (dataset / WORK).is_dir() and any(dataset.iterdir()):
        raise OptionError(
            f"{dataset} is not empty and was not made by `spotball gen run`. Name another folder",
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
            f"{dataset} was not made by `spotball gen run`. Name the --out folder of a run", code="wrong-folder"
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

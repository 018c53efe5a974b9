"""Check the folder of a dataset during generation, and define the names of its files and subfolders."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from spotball_core.errors import OptionError
from spotball_core.service.sqlite_store import SqliteStore
from spotball_gen.pipeline.ledger_schema import SCHEMA

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

"""What is reviewed: the scenes as they were made, their images, and which come first."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from spotball_core.errors import InputError, Problem
from spotball_core.io.dataset import SCENES
from spotball_core.io.scenes import read_scenes
from spotball_core.schema.scene import Scene
from spotball_core.service.paths import find_file
from spotball_gen.pipeline.folder import LEDGER, WORK, read_only, with_ball
from spotball_gen.review.store import ReviewStore

ORIGINAL = "scenes.before-review.jsonl"
"""The scenes as they were made, once decisions took effect in the others."""

MEDIA = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}


@dataclass(frozen=True)
class ReviewImage:
    """An image to be reviewed.

    Attributes:
        without: the file without the ball.
        with_ball: the file with it; None where there is none.
        first: over a limit of the stage `check`.
        why: what is over it.
        artifact: how many untouched regions stand out less than the painted one, as a share; None if not measured.
    """

    scene: Scene
    without: Path
    with_ball: Path | None
    first: bool = False
    why: tuple[str, ...] = ()
    artifact: float | None = None


def original_file(dataset: Path, store: ReviewStore) -> Path:
    """The file that has the scenes as they were made.

    It is another one than `scenes.jsonl` if that came of it by applying decisions; a run that made the dataset anew
    makes it what is reviewed.
    """
    scenes, original = dataset / SCENES, dataset / ORIGINAL
    if original.is_file() and scenes.is_file() and store.was_applied(digest(original), digest(scenes)):
        return original
    return scenes


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def pieces(dataset: Path, store: ReviewStore) -> tuple[ReviewImage, ...]:
    """All images of a dataset: those over a limit first, of them the worst first; the others in the order of ids.

    Raises:
        InputError: for scenes that cannot be read, without an image, or whose image is missing or outside the dataset.
    """
    path = original_file(dataset, store)
    checks = _noted(dataset)
    problems: list[Problem] = []
    images = []
    for line, scene in enumerate(read_scenes(path), start=1):
        without = _inside(dataset, scene.path)
        if without is None:
            actual = scene.path if scene.path else "nothing"
            expected = f"an image ({', '.join(MEDIA)}) inside the dataset"
            problems.append(Problem(str(path), line, "path", actual, expected))
            continue
        images.append(
            ReviewImage(
                scene, without, _inside(dataset, with_ball(scene.path)), *checks.get(scene.image, (False, (), None))
            )
        )
    if problems:
        raise InputError(problems)
    return tuple(
        sorted(images, key=lambda image: (not image.first, -(image.artifact or 0) * image.first, image.scene.key))
    )


def _inside(dataset: Path, name: str | None) -> Path | None:
    """An image's file, if it is there, of a kind that browsers show, and in the dataset whatever its name or links."""
    path = find_file([dataset], name)
    return path if path and path.suffix.lower() in MEDIA else None


def _noted(dataset: Path) -> dict[str, tuple[bool, tuple[str, ...], float | None]]:
    """What the ledger's `check` says of each image; nothing where there is no ledger."""
    if not (dataset / WORK / LEDGER).exists():
        return {}
    parts = ("$.notes.check", "$.notes.inpaint.repainted", "$.scores.artifact")
    columns = ", ".join(f"json_extract(record, '{part}')" for part in parts)
    query = f"SELECT item, {columns} FROM items"
    by_item = {}
    with read_only(dataset) as ledger:
        for item, text, again, artifact in ledger.stream(f"{query} WHERE state = 'passed'"):
            check = json.loads(text) if text else {}
            why = (*(("painted again",) if again else ()), *check.get("why", ()))
            by_item[item] = bool(again or check.get("review_first")), why, artifact
    return by_item

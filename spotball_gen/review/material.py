"""The images to review: the original scenes, their image files, and the order of review."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spotball_core.errors import InputError, Problem
from spotball_core.io.dataset import SCENES
from spotball_core.io.scenes import read_scenes
from spotball_core.schema.scene import Scene
from spotball_core.service.digests import file_digest
from spotball_core.service.paths import find_file
from spotball_core.text.numbers import plural
from spotball_gen.pipeline.folder import LEDGER, WORK, read_only, with_ball
from spotball_gen.review.store import ReviewStore

ORIGINAL = "scenes.before-review.jsonl"
"""The original scenes, after decisions were applied to scenes.jsonl."""

MEDIA = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}


@dataclass(frozen=True)
class ReviewImage:
    """An image to review.

    Attributes:
        without: the file without the ball.
        with_ball: the file with the ball, or None.
        first: whether it exceeds a limit of the stage `check`, or was inpainted again.
        why: the reasons why it comes first.
        artifact: share of untouched regions that stand out less than the inpainted region, or None if not measured.
    """

    scene: Scene
    without: Path
    with_ball: Path | None
    first: bool = False
    why: tuple[str, ...] = ()
    artifact: float | None = None


def original_file(dataset: Path, store: ReviewStore) -> Path:
    """Return the file with the original scenes.

    It differs from `scenes.jsonl` if that is the result of applying decisions. If a run created the dataset anew,
    `scenes.jsonl` is the original again.
    """
    scenes, original = dataset / SCENES, dataset / ORIGINAL
    if original.is_file() and scenes.is_file() and store.was_applied(file_digest(original), file_digest(scenes)):
        return original
    return scenes


def pieces(dataset: Path, store: ReviewStore) -> tuple[ReviewImage, ...]:
    """Return all images of a dataset: first those over a limit, the worst first; then the others, sorted by id.

    Raises:
        InputError: if scenes cannot be read, or if an image is missing or outside the dataset.
    """
    path = original_file(dataset, store)
    checks = _noted(dataset)
    problems: list[Problem] = []
    images = []
    for line, scene in enumerate(read_scenes(path), start=1):
        without = _inside(dataset, scene.path)
        if without is None:
            actual = scene.path if scene.path else "nothing"
            expected = f"an existing image ({', '.join(MEDIA)}) inside the dataset"
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


def counted(images: Sequence[ReviewImage]) -> str:
    """State the number of images, and how many of them come first."""
    first = sum(image.first for image in images)
    note = f" ({first:,} shown first: over a limit of the stage `check`, or inpainted again)" if first else ""
    return f"{plural(len(images), 'image')}{note}"


def _inside(dataset: Path, name: str | None) -> Path | None:
    """Return an image file if it exists, has a type that browsers show, and is inside the dataset (after following
    links).
    """
    path = find_file([dataset], name)
    return path if path and path.suffix.lower() in MEDIA else None


def _noted(dataset: Path) -> dict[str, tuple[bool, tuple[str, ...], float | None]]:
    """Return the ledger's results of the stage `check` by image; empty without a ledger."""
    if not (dataset / WORK / LEDGER).exists():
        return {}
    parts = ("$.notes.check", "$.notes.inpaint.repainted", "$.scores.artifact")
    columns = ", ".join(f"json_extract(record, '{part}')" for part in parts)
    query = f"SELECT item, {columns} FROM items"
    by_item = {}
    with read_only(dataset) as ledger:
        for item, text, again, artifact in ledger.stream(f"{query} WHERE state = 'passed'"):
            check = json.loads(text) if text else {}
            why = (*(("inpainted again",) if again else ()), *check.get("why", ()))
            by_item[item] = bool(again or check.get("review_first")), why, artifact
    return by_item

"""Collect the images to review: the original scenes with their image files, in the order of review."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spotball_core.errors import InputError, Problem
from spotball_core.io.dataset import SCENES
from spotball_core.io.scenes import read_scenes
from spotball_core.schema.scene import Scene
from spotball_core.service.files import file_digest
from spotball_core.service.paths import find_file
from spotball_core.text.words import plural
from spotball_gen.pipeline.folder import LEDGER, WORK, read_only, with_ball
from spotball_gen.review.store import ReviewStore

ORIGINAL = "scenes.before-review.jsonl"
"""File that keeps the original scenes after decisions were applied to scenes.jsonl."""

MEDIA = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}


@dataclass(frozen=True)
class ReviewImage:
    """An image to review.

    Attributes:
        without: the image file without the ball.
        with_ball: the image file with the ball, or None if there is no such file.
        first: whether the image is shown before others, because it exceeds a limit of the stage `check` or was
            inpainted again.
        why: the reasons why the image is shown before others.
        artifact: share of untouched regions that stand out less than the inpainted region, or None if not measured.
    """

    scene: Scene
    without: Path
    with_ball: Path | None
    first: bool = False
    why: tuple[str, ...] = ()
    artifact: float | None = None


def original_file(dataset: Path, store: ReviewStore) -> Path:
    """Return the path of the file with the original scenes.

    The file is `scenes.jsonl`, unless its content is the result of applying decisions; in that case it is the copy that
    was kept of the original scenes.
    """
    scenes, original = dataset / SCENES, dataset / ORIGINAL
    if original.is_file() and scenes.is_file() and store.was_applied(file_digest(original), file_digest(scenes)):
        return original
    return scenes


def pieces(dataset: Path, store: ReviewStore) -> tuple[ReviewImage, ...]:
    """Return all images of a dataset in the order of review.

    Images that exceed a limit of the stage `check` or were inpainted again come first, in descending order of
    `artifact`. The others follow, sorted by sport and id.

    Raises:
        InputError: if scenes cannot be read, or if an image file is missing or outside the dataset.
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
            problems.append(Problem("invalid-path", str(path), line, "path", actual, expected))
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
    """Return a phrase with the number of images, and how many of them are shown before others and why."""
    first = sum(image.first for image in images)
    note = f" ({first:,} shown first: over a limit of the stage `check`, or inpainted again)" if first else ""
    return f"{plural(len(images), 'image')}{note}"


def _inside(dataset: Path, name: str | None) -> Path | None:
    """Return the path of an image file. Return None if the file does not exist inside the dataset (after links are
    followed), or if browsers cannot show its type.
    """
    path = find_file([dataset], name)
    return path if path and path.suffix.lower() in MEDIA else None


def _noted(dataset: Path) -> dict[str, tuple[bool, tuple[str, ...], float | None]]:
    """Return results of the stage `check` by image id, from the ledger; an empty dictionary without a ledger.

    A result consists of the values of `first`, `why` and `artifact` in `ReviewImage`.
    """
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

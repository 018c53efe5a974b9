"""Write the dataset of the items in the ledger: first to a temporary folder, which is then moved into place."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spotball_core.errors import SpotballError
from spotball_core.geometry import Polygon, clipped
from spotball_core.io.dataset import SCENES
from spotball_core.io.scenes import write_scenes
from spotball_core.schema.keypoints import Keypoint, near_box
from spotball_core.schema.scene import Scene
from spotball_core.service.files import replacing
from spotball_core.service.json_file import parse_json
from spotball_core.service.paths import data_file, output_name
from spotball_gen.dataset.finish import SPLITS, finish
from spotball_gen.items.item import Box, Item
from spotball_gen.pipeline import funnel
from spotball_gen.pipeline.config import GenerationPlan
from spotball_gen.pipeline.folder import IMAGES, WITH_BALL
from spotball_gen.pipeline.ledger import FRAMES, FunnelStep, Ledger
from spotball_gen.pipeline.quotas import choose
from spotball_gen.quality.splits import WITHOUT_TEST

FUNNEL = "funnel"
"""Name, without extension, of the files with the funnel: how many items were left after each stage."""

FACTS = ("run", "sports", "stages", "sources", "funnel", "targets", "packages")
"""Keys of the card that describe how a dataset was made."""

FORMAT = 4
"""Version of the output. Increase it if the same items would result in different files."""

_MARKER, _NEW, _OLD = "written.json", "new", "old"


@dataclass(frozen=True)
class Written:
    """The result of writing a dataset.

    Attributes:
        chosen: number of items in the dataset.
        steps: numbers of items that passed and failed each step, from the first stage to the selection.
        starving: description of each target with too few items, one line per target.
        without_test: sports without test images, because all their images are from one shot.
        fresh: True if files were written, False if the dataset was already up to date.
    """

    chosen: int
    steps: tuple[FunnelStep, ...]
    starving: tuple[str, ...]
    without_test: tuple[str, ...]
    fresh: bool


def write_dataset(ledger: Ledger, plan: GenerationPlan, packages: Mapping[str, str]) -> Written:
    """Write the dataset unless it is up to date, and return a summary.

    If no item was selected, only the funnel is written.

    Args:
        ledger: the run's ledger, with the items and the dataset's folder.
        plan: the configuration of the run.
        packages: versions of the packages that results depend on.

    Raises:
        OSError: if a file cannot be written.
        SpotballError: if an item passed all stages but has no ball, ball cells or inpainted image.
    """
    # Read one item at a time, because all items may not fit into memory.
    choice = choose(ledger.items("passed"), plan.targets, plan.run.grid, seed=plan.run.seed)
    count = len(choice.chosen)
    stages = [FRAMES, *(stage.stage for stage in plan.stages)]
    steps = (*ledger.funnel(stages), funnel.choice_step(count, choice.left_out))
    facts = _facts(ledger, plan, packages, steps, choice.record())
    state = json.dumps([FORMAT, ledger.digest(), sorted(choice.chosen), facts], sort_keys=True)
    digest = hashlib.sha256(state.encode()).hexdigest()
    starving = tuple(choice.starving)
    if _there(ledger) == digest:
        return Written(count, steps, starving, _without_test(ledger), fresh=False)
    new = ledger.work / _NEW
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir()
    _write_funnel(new, steps)
    if count:
        write_scenes((_scene(ledger.item(name), plan, ledger.work, new) for name in choice.chosen), new / SCENES)
        chosen = (ledger.item(name) for name in choice.chosen)
        finish(new, chosen, facts, seed=plan.run.seed, shots=ledger.shots())
    names = sorted(path.name for path in new.iterdir())
    _move(new, ledger)
    with replacing(ledger.work / _MARKER) as beside:
        beside.write_text(json.dumps({"digest": digest, "names": names}), encoding="utf-8", newline="\n")
    return Written(count, steps, starving, _without_test(ledger), fresh=True)


def _without_test(ledger: Ledger) -> tuple[str, ...]:
    splits = ledger.dataset / SPLITS
    return tuple(parse_json(splits.read_text(encoding="utf-8"))[WITHOUT_TEST]) if splits.is_file() else ()


def _facts(
    ledger: Ledger, plan: GenerationPlan, packages: Mapping[str, str], steps: Sequence[FunnelStep], targets: Any
) -> dict[str, Any]:
    """Return how the dataset was made, without times and paths, because these differ between equal runs."""
    stages = [
        {
            "stage": choice.stage,
            "kind": choice.kind,
            "version": choice.make.version,
            "settings": choice.settings.model_dump(mode="json"),
        }
        for choice in (plan.frames, *plan.stages)
    ]
    sources = [
        {
            "video": video.source.video,
            "sport": video.source.sport,
            "license": video.source.license,
            "origin": video.source.origin,
            "sha256": video.source.sha256,
            "detail": video.detail,
        }
        for video in ledger.videos()
    ]
    return {
        "run": plan.run.model_dump(exclude={"keep_rejected"}),
        "sports": {name: sport.model_dump(mode="json") for name, sport in plan.sports.items()},
        "stages": stages,
        "sources": sources,
        "funnel": funnel.record(steps),
        "targets": targets,
        "packages": dict(packages),
    }


def _scene(item: Item, plan: GenerationPlan, work: Path, folder: Path) -> Scene:
    """Convert an item to a scene, and add its images to the dataset."""
    if item.ball is None or item.painted is None or not item.cells:
        missing = "ball" if item.ball is None else "inpainted image" if item.painted is None else "ball cells"
        raise SpotballError(
            f"{item.id}: the item passed all stages, but has no {missing}. Check the stages of the configuration",
            code="stage-failed",
        )
    names = {part: output_name(part, item.sport, item.id, ending=".png") for part in (IMAGES, WITH_BALL)}
    item.frame.pack()
    for picture, part in ((item.painted, IMAGES), (item.frame, WITH_BALL)):
        put(data_file(work, picture.within(work)), folder / names[part])
    return Scene.model_validate(
        {
            "sport": item.sport,
            "image": item.id,
            "grid": plan.run.grid,
            "ball_cells": item.cells,
            "ball_box": _corners(item.ball, plan),
            "players": [_corners(player, plan) for player in item.players],
            "player_outlines": _outlines(item, plan),
            "player_keypoints": _keypoints(item, plan),
            "path": names[IMAGES],
        }
    )


def _corners(box: Box, plan: GenerationPlan) -> tuple[float, float, float, float]:
    """Return the part of a box inside the image. It is not rounded, because that could change the ball's cells."""
    width, height = plan.run.width, plan.run.height
    x1, x2 = (float(min(max(x, 0), width)) for x in (box.x1, box.x2))
    y1, y2 = (float(min(max(y, 0), height)) for y in (box.y1, box.y2))
    return x1, y1, x2, y2


def _outlines(item: Item, plan: GenerationPlan) -> list[tuple[Polygon, ...] | None] | None:
    """Return the part of each player's outline inside the image, or None if no player has an outline."""
    size = plan.run.width, plan.run.height
    outlines = [(player.outline and clipped(player.outline, *size)) or None for player in item.players]
    return outlines if any(outlines) else None


def _keypoints(item: Item, plan: GenerationPlan) -> list[tuple[Keypoint, ...] | None] | None:
    """Return each player's keypoints, None if they are not near the player's box; None if no keypoints remain."""
    poses = [
        player.keypoints if player.keypoints and near_box(player.keypoints, _corners(player, plan)) else None
        for player in item.players
    ]
    return poses if any(poses) else None


def put(file: Path, place: Path) -> None:
    """Create a hard link to a file at another path, or a copy if the file system does not support links."""
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(file, place)
    except (OSError, NotImplementedError):
        # The file system does not support links, or there are too many.
        shutil.copyfile(file, place)


def _write_funnel(folder: Path, steps: Sequence[FunnelStep]) -> None:
    (folder / f"{FUNNEL}.csv").write_text(funnel.table(steps), encoding="utf-8", newline="\n")
    (folder / f"{FUNNEL}.svg").write_text(funnel.picture(steps), encoding="utf-8", newline="\n")


def _there(ledger: Ledger) -> str | None:
    """Return the digest of the data that the existing dataset was written from, or None if it is incomplete."""
    try:
        marker = parse_json((ledger.work / _MARKER).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    complete = all((ledger.dataset / name).exists() for name in marker["names"])
    return str(marker["digest"]) if complete else None


def _move(new: Path, ledger: Ledger) -> None:
    """Move the new dataset into place. The scenes are moved last, because their file makes the folder a dataset."""
    (ledger.work / _MARKER).unlink(missing_ok=True)
    old = ledger.work / _OLD
    shutil.rmtree(old, ignore_errors=True)
    old.mkdir()
    for path in sorted(new.iterdir(), key=lambda path: (path.name == SCENES, path.name)):
        place = ledger.dataset / path.name
        if place.exists():
            place.rename(old / path.name)
        path.rename(place)
    shutil.rmtree(old)
    new.rmdir()

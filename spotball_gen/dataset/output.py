"""The dataset that a generation ends in: made of the ledger, beside what is there, and then moved to its place."""

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
"""Stem of the files that show the funnel."""

FACTS = ("run", "sports", "stages", "sources", "funnel", "targets", "packages")
"""What the card says of how a dataset came about."""

FORMAT = 4
"""Of what is written; another one where the same items give other files."""

_MARKER, _NEW, _OLD = "written.json", "new", "old"


@dataclass(frozen=True)
class Written:
    """What was written.

    Attributes:
        chosen: how many items the dataset has.
        steps: the funnel, from the first stage to the choice.
        starving: what the targets miss, one line each.
        without_test: sports of a single shot, which have no test images.
        fresh: whether anything was written; not if all was there.
    """

    chosen: int
    steps: tuple[FunnelStep, ...]
    starving: tuple[str, ...]
    without_test: tuple[str, ...]
    fresh: bool


def write_dataset(ledger: Ledger, plan: GenerationPlan, packages: Mapping[str, str]) -> Written:
    """Write the dataset, unless it is there as it would be.

    With no item at all, only the funnel is written.

    Args:
        packages: versions of what the results depend on.

    Raises:
        OSError: if it cannot be written.
        SpotballError: if a stage left out what a scene needs.
    """
    # One item at a time: there may be more than fit into memory.
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
    """What is to be known of how a dataset came about; no times and no places, which differ from run to run."""
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
    """The item as a scene, its images put into the dataset."""
    if item.ball is None or item.painted is None or not item.cells:
        raise SpotballError(f"{item.id} passed all stages without ball, cells or an image without the ball")
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
    """The part of a box that is within the image; not rounded, since cells may hang on little."""
    width, height = plan.run.width, plan.run.height
    x1, x2 = (float(min(max(x, 0), width)) for x in (box.x1, box.x2))
    y1, y2 = (float(min(max(y, 0), height)) for y in (box.y1, box.y2))
    return x1, y1, x2, y2


def _outlines(item: Item, plan: GenerationPlan) -> list[tuple[Polygon, ...] | None] | None:
    """The parts of players' outlines that are within the image; None where no player has one."""
    size = plan.run.width, plan.run.height
    outlines = [(player.outline and clipped(player.outline, *size)) or None for player in item.players]
    return outlines if any(outlines) else None


def _keypoints(item: Item, plan: GenerationPlan) -> list[tuple[Keypoint, ...] | None] | None:
    """The keypoints of players whose pose is near their box; None where no player has such."""
    poses = [
        player.keypoints if player.keypoints and near_box(player.keypoints, _corners(player, plan)) else None
        for player in item.players
    ]
    return poses if any(poses) else None


def put(file: Path, place: Path) -> None:
    """The same file at another place, without its room being taken twice where the system allows it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(file, place)
    except (OSError, NotImplementedError):
        # No links on this file system, or too many.
        shutil.copyfile(file, place)


def _write_funnel(folder: Path, steps: Sequence[FunnelStep]) -> None:
    (folder / f"{FUNNEL}.csv").write_text(funnel.table(steps), encoding="utf-8", newline="\n")
    (folder / f"{FUNNEL}.svg").write_text(funnel.picture(steps), encoding="utf-8", newline="\n")


def _there(ledger: Ledger) -> str | None:
    """The digest of what the dataset was made of; None where it is not whole."""
    try:
        marker = parse_json((ledger.work / _MARKER).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    complete = all((ledger.dataset / name).exists() for name in marker["names"])
    return str(marker["digest"]) if complete else None


def _move(new: Path, ledger: Ledger) -> None:
    """Put what is new to its place; the scenes last, since with them it is a dataset."""
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

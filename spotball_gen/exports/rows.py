"""What all exports are made of: the scenes of a dataset, with split, video and license."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spotball_core.errors import InputError, Problem
from spotball_core.io.dataset import SCENES
from spotball_core.io.scenes import read_scenes
from spotball_core.schema.scene import Scene
from spotball_gen.splits import TEST, TRAIN, split, video_of

PARTS = (TRAIN, TEST)


@dataclass(frozen=True)
class Row:
    """An image of a dataset.

    Attributes:
        part: `train` or `test`.
        video: which one it is from.
        license: of the video; empty where it is not known.
        origin: where the video is from, likewise.
    """

    scene: Scene
    part: str
    video: str
    license: str
    origin: str

    def record(self) -> dict[str, Any]:
        """All but the image's file, as JSON values; boxes are (x1, y1, x2, y2) in pixels."""
        scene = self.scene
        return {
            "id": scene.image,
            "sport": scene.sport,
            "width": scene.width,
            "height": scene.height,
            "rows": scene.grid.rows,
            "cols": scene.grid.cols,
            "ball_cells": list(scene.ball_cells or ()),
            "ball_box": None if scene.ball_box is None else list(scene.ball_box),
            "players": [list(box.corners) for box in scene.players or ()],
            "video": self.video,
            "license": self.license,
            "origin": self.origin,
        }


def read_rows(dataset: Path) -> list[Row]:
    """The images of a dataset, in the order of its scenes; attention checks with a visible ball are left out.

    Split and sources are those of the dataset; one without them is split here, by video where ids tell it.

    Raises:
        InputError: for scenes that cannot be read or whose images are not there.
    """
    scenes = [scene for scene in read_scenes(dataset / SCENES) if not scene.control]
    problems = [
        Problem(str(dataset / SCENES), None, "path", str(scene.path), "an image that is there")
        for scene in scenes
        if scene.path is None or not (dataset / scene.path).is_file()
    ]
    if problems:
        raise InputError(problems)
    parts = _read(dataset / "splits.json") or split(scenes, seed=0)
    part_of = {name: part for part in PARTS for name in parts[part]["images"]}
    sources = {source["video"]: source for source in (_read(dataset / "card.json") or {}).get("sources", ())}
    rows = []
    for scene in scenes:
        video = video_of(scene)
        source: Mapping[str, str] = sources.get(video, {})
        part = part_of[f"{scene.sport}/{scene.image}"]
        rows.append(Row(scene, part, video, source.get("license", ""), source.get("origin", "")))
    return rows


def copied(row: Row, dataset: Path, place: Path) -> None:
    """The image's file at another place."""
    assert row.scene.path
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(dataset / row.scene.path, place)


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise InputError([Problem(str(path), None, "file", str(error), "JSON")]) from error

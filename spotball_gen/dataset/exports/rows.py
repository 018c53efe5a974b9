"""The rows of all exports: the scenes of a dataset with split, video and license."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from spotball_core.errors import InputError, Problem
from spotball_core.io.dataset import SCENES
from spotball_core.io.scenes import read_scenes
from spotball_core.schema.faults import problems_of_record
from spotball_core.schema.scene import Scene
from spotball_core.service.json_file import read_json
from spotball_core.service.paths import data_file, image_ending, output_name
from spotball_gen.pipeline.folder import with_ball as path_with_ball
from spotball_gen.quality.splits import TEST, TRAIN, split, video_of

PARTS = (TRAIN, TEST)

SPLITS = "splits.json"

_Model = TypeVar("_Model", bound=BaseModel)


class _Part(BaseModel):
    images: tuple[str, ...]


class _Splits(BaseModel):
    train: _Part
    test: _Part


class _Source(BaseModel):
    video: str
    license: str = ""
    origin: str = ""


class _Card(BaseModel):
    sources: tuple[_Source, ...] = ()


@dataclass(frozen=True)
class SceneRow:
    """A scene of a dataset with its split and its source.

    Attributes:
        scene: the scene.
        part: the split, `train` or `test`.
        video: the video that the image is from.
        license: license of the video; empty if unknown.
        origin: origin of the video; empty if unknown.
    """

    scene: Scene
    part: str
    video: str
    license: str
    origin: str

    def record(self) -> dict[str, Any]:
        """Return all data except the image as JSON values. Boxes are (x1, y1, x2, y2) in pixels."""
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
            "player_outlines": self._outlines(),
            "video": self.video,
            "license": self.license,
            "origin": self.origin,
        }

    def _outlines(self) -> list[list[list[list[float]]] | None]:
        """Return the outline polygons of each player, or None if unknown."""
        outlines = self.scene.player_outlines or (None,) * len(self.scene.players or ())
        return [
            None if outline is None else [[list(point) for point in polygon] for polygon in outline]
            for outline in outlines
        ]


@dataclass(frozen=True)
class Row(SceneRow):
    """A scene with its image.

    Attributes:
        file: the image's file.
    """

    file: Path

    @property
    def name(self) -> str:
        """Return the name of the image file in an export: SPORT/IMAGE with the extension from the dataset."""
        return output_name(self.scene.sport, self.scene.image, ending=image_ending(str(self.scene.path)))

    def copy(self, folder: Path) -> None:
        """Copy the image file into a folder under its name."""
        place = folder / self.name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.file, place)


def read_rows(dataset: Path, *, with_ball: bool = False) -> list[Row]:
    """Return the images of a dataset in the order of its scenes. Attention checks with a visible ball are excluded.

    Splits and sources are read from the dataset. A dataset without splits is split here, by video if ids name videos.

    Args:
        dataset: the dataset's folder.
        with_ball: use the image files with the ball.

    Raises:
        InputError: if scenes cannot be read or images are missing.
    """
    scenes = [scene for scene in read_scenes(dataset / SCENES) if not scene.control]
    files = _image_files(dataset, scenes, with_ball)
    parts = read_parts(dataset, scenes) or _part_of(_Splits.model_validate(split(scenes, seed=0)))
    return [Row(**vars(row), file=file) for row, file in zip(scene_rows(dataset, scenes, parts), files, strict=True)]


def read_parts(dataset: Path, scenes: Sequence[Scene]) -> dict[str, str] | None:
    """Return the split of each image, SPORT/IMAGE, in the dataset's splits.json, or None.

    Raises:
        InputError: if the file cannot be read or lacks an image.
    """
    splits = _read(dataset / SPLITS, _Splits)
    if splits is None:
        return None
    parts = _part_of(splits)
    if missing := [name for scene in scenes if (name := f"{scene.sport}/{scene.image}") not in parts]:
        expected = f"each image of {SCENES} in `{TRAIN}` or `{TEST}`"
        fix = "Add the image to one of them"
        raise InputError([Problem(str(dataset / SPLITS), None, name, "nothing", expected, fix=fix) for name in missing])
    return parts


def scene_rows(dataset: Path, scenes: Iterable[Scene], parts: Mapping[str, str]) -> Iterator[SceneRow]:
    """Yield the scenes with their splits, and with the sources in the dataset's card.

    Args:
        dataset: the dataset's folder.
        scenes: the scenes.
        parts: the split of each image, SPORT/IMAGE.

    Raises:
        InputError: if the card cannot be read.
    """
    card = _read(dataset / "card.json", _Card) or _Card()
    sources = {source.video: source for source in card.sources}
    for scene in scenes:
        video = video_of(scene)
        source = sources.get(video, _Source(video=video))
        yield SceneRow(scene, parts[f"{scene.sport}/{scene.image}"], video, source.license, source.origin)


def _part_of(splits: _Splits) -> dict[str, str]:
    return {name: part for part in PARTS for name in getattr(splits, part).images}


def _image_files(dataset: Path, scenes: Sequence[Scene], with_ball: bool) -> list[Path]:
    """Return the image file of each scene. Raise InputError that lists all unusable files."""
    files: list[Path] = []
    problems: list[Problem] = []
    for scene in scenes:
        try:
            name = path_with_ball(scene.path) if with_ball else scene.path
            files.append(
                data_file(dataset, name, description="the image with the ball" if with_ball else "an image file")
            )
        except InputError as error:
            problems.extend(error.problems)
    if problems:
        raise InputError(problems)
    return files


def _read(path: Path, model: type[_Model]) -> _Model | None:
    """Read a file next to the scenes, and check only the fields that exports need. Return None if it is missing."""
    if not path.exists():
        return None
    try:
        return model.model_validate(read_json(path, "a file written by `spotball gen run`"))
    except ValidationError as error:
        raise InputError(problems_of_record(error, str(path), model=model, whole="file")) from None

"""Read the rows that all exports contain: the scenes of a dataset with split, video and license."""

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
        """Return the row without the image as JSON values. Boxes are (x1, y1, x2, y2) in pixels."""
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
        """Return the polygons of each player's outline; None for a player whose outline is unknown."""
        outlines = self.scene.player_outlines or (None,) * len(self.scene.players or ())
        return [
            None if outline is None else [[list(point) for point in polygon] for polygon in outline]
            for outline in outlines
        ]


@dataclass(frozen=True)
class Row(SceneRow):
    """A scene with its split, its source and its image file.

    Attributes:
        file: path of the image file.
    """

    file: Path

    @property
    def name(self) -> str:
        """Return the name of the image file in an export: SPORT/IMAGE with the extension from the dataset."""
        return output_name(self.scene.sport, self.scene.image, ending=image_ending(str(self.scene.path)))

    def copy(self, folder: Path) -> None:
        """Copy the image file to the path `name` in a folder."""
        place = folder / self.name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.file, place)


def read_rows(dataset: Path, *, with_ball: bool = False) -> list[Row]:
    """Return the images of a dataset in the order of its scenes. Controls, which show the ball, are excluded.

    Splits and sources are read from the dataset. A dataset without splits.json is split by
    `spotball_gen.quality.splits.split`.

    Args:
        dataset: the dataset's folder.
        with_ball: whether to use the image files with the ball.

    Raises:
        InputError: if the scenes, the splits or the card are invalid, or if images are missing.
    """
    scenes = [scene for scene in read_scenes(dataset / SCENES) if not scene.control]
    files = _image_files(dataset, scenes, with_ball)
    parts = read_parts(dataset, scenes) or _part_of(_Splits.model_validate(split(scenes, seed=0)))
    return [Row(**vars(row), file=file) for row, file in zip(scene_rows(dataset, scenes, parts), files, strict=True)]


def read_parts(dataset: Path, scenes: Sequence[Scene]) -> dict[str, str] | None:
    """Return the split of each image by its name SPORT/IMAGE, or None if the dataset has no splits.json.

    Raises:
        InputError: if splits.json is invalid, or if it does not contain one of the scenes.
    """
    splits = _read(dataset / SPLITS, _Splits)
    if splits is None:
        return None
    parts = _part_of(splits)
    if missing := [name for scene in scenes if (name := f"{scene.sport}/{scene.image}") not in parts]:
        expected = f"each image of {SCENES} in `{TRAIN}` or `{TEST}`"
        fix = "Add the image to one of them"
        raise InputError(
            [
                Problem("missing-value", str(dataset / SPLITS), None, name, "nothing", expected, fix=fix)
                for name in missing
            ]
        )
    return parts


def scene_rows(dataset: Path, scenes: Iterable[Scene], parts: Mapping[str, str]) -> Iterator[SceneRow]:
    """Yield the scenes with their splits, and with the sources from the dataset's card.

    Args:
        dataset: the dataset's folder.
        scenes: the scenes.
        parts: the split of each image, by the name SPORT/IMAGE.

    Raises:
        InputError: if card.json exists and is invalid.
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
    """Return the image file of each scene. If files are missing or unusable, raise InputError with all of them."""
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
    """Read a JSON file of the dataset, and check only the fields in `model`. Return None if the file does not exist."""
    if not path.exists():
        return None
    try:
        return model.model_validate(read_json(path, "a file written by `spotball gen run`"))
    except ValidationError as error:
        raise InputError(problems_of_record(error, str(path), model=model, whole="file")) from None

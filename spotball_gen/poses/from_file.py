"""Estimator `file`: read keypoints that another tool has written as COCO JSON."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, ValidationError

from spotball_core.error_codes import Code
from spotball_core.errors import InputError, OptionError, Problem
from spotball_core.schema.faults import problems_of_record
from spotball_core.schema.scene import Scene
from spotball_core.service.json_file import read_json
from spotball_core.typing import FloatArray
from spotball_gen.box_files.coco import (
    EXPECTED_CONFIDENCE,
    N_KEYPOINTS,
    are_flags,
    confident_keypoints,
)
from spotball_gen.items.item import Image
from spotball_gen.poses.estimator import Estimate, Person, PoseSettings, match

M = TypeVar("M", bound=BaseModel)

_Length = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_Id = int | str


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True)


class _Picture(_Entry):
    id: _Id
    file_name: str


class _Result(_Entry):
    """A detected person. People in a file of annotations may have no keypoints."""

    image_id: _Id | None = None
    file_name: str | None = None
    keypoints: (
        Annotated[tuple[FiniteFloat, ...], Field(min_length=3 * N_KEYPOINTS, max_length=3 * N_KEYPOINTS)] | None
    ) = None
    keypoint_scores: (
        Annotated[tuple[FiniteFloat, ...], Field(min_length=N_KEYPOINTS, max_length=N_KEYPOINTS)] | None
    ) = None
    bbox: tuple[FiniteFloat, FiniteFloat, _Length, _Length] | None = None
    score: float = Field(1.0, allow_inf_nan=False)
    iscrowd: int = 0


def read_people(path: Path, score: float) -> dict[str, list[Person]]:
    """Return the people of each image, by the image's name in the file.

    The third number of a keypoint is its confidence. If these numbers are only 0, 1 and 2 in the whole file, with at
    least one 2, they are COCO's visibility flags, and are converted to the confidences 0, 0.5 (hidden) and 1.
    Confidences in `keypoint_scores`, as in exports of `spotball gen`, replace the third numbers.

    Args:
        path: the file.
        score: people with a lower score are ignored.

    Raises:
        InputError: if the file is invalid. The error lists all problems.
    """
    data = read_json(path, "keypoints")
    reader = _Reader(path)
    pictures: dict[_Id, str] | None = None
    if isinstance(data, dict):
        pictures = {
            picture.id: picture.file_name for _, picture in reader.entries(_Picture, data.get("images"), "images")
        }
        results = reader.entries(_Result, data.get("annotations"), "annotations")
    else:
        results = reader.entries(_Result, data, "")
    people: dict[str, list[Person]] = {name: [] for name in (pictures or {}).values()}
    used = [(where, entry) for where, entry in results if _is_used(entry, score)]
    flags = are_flags(entry.keypoints or () for _, entry in used)
    for where, entry in used:
        name = reader.image_name(where, entry, pictures)
        keypoints = reader.confident(where, entry, flags)
        if name is not None and keypoints is not None:
            people.setdefault(name, []).append(Person(keypoints, _box(entry)))
    reader.finish()
    return people


def image_names(sport: str, image: str, path: str | None) -> tuple[str, ...]:
    """Return the possible names of a scene's image in a file of keypoints, the most specific first.

    Examples:
        >>> image_names("soccer", "163", "images/soccer/163.jpg")
        ('images/soccer/163.jpg', 'images/soccer/163', 'soccer/163.jpg', 'soccer/163', '163.jpg', '163')
    """
    names = []
    if path is not None:
        parts = PurePosixPath(path).parts
        for start in range(len(parts)):
            tail = PurePosixPath(*parts[start:])
            names += [str(tail), str(tail.with_suffix(""))]
    return tuple(dict.fromkeys([*names[:-2], f"{sport}/{image}", *names[-2:], image]))


class _Reader:
    """Read a file of keypoints, and collect all errors in it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._problems: list[Problem] = []

    def entries(self, model: type[M], value: Any, part: str) -> list[tuple[str, M]]:
        """Return the valid entries of a list, with their positions."""
        if not isinstance(value, list):
            actual = "nothing" if value is None else type(value).__name__
            self.wrong(
                part or "file",
                actual,
                "a list" if part else "a list of results, or an object with the keys `images` and `annotations`",
            )
            return []
        read = []
        for number, entry in enumerate(value):
            where = f"{part}.{number}" if part else str(number)
            try:
                read.append((where, model.model_validate(entry)))
            except ValidationError as error:
                self._problems += problems_of_record(error, str(self._path), model=model, where=where)
        return read

    def image_name(self, where: str, entry: _Result, pictures: dict[_Id, str] | None) -> str | None:
        """Return the name of a person's image, or None if it is invalid."""
        if pictures is not None:
            if entry.image_id in pictures:
                return pictures[entry.image_id]
            self.wrong(f"{where}.image_id", repr(entry.image_id), "the id of one of the images")
            return None
        name = entry.file_name if entry.file_name is not None else entry.image_id
        if name is None:
            self.wrong(f"{where}.image_id", "nothing", "`image_id` or `file_name`", "missing-value")
        return None if name is None else str(name)

    def confident(self, where: str, entry: _Result, flags: bool) -> FloatArray | None:
        """Return the keypoints with confidences, or None if these are invalid."""
        assert entry.keypoints is not None
        try:
            return confident_keypoints(entry.keypoints, entry.keypoint_scores, flags=flags)
        except ValueError as error:
            self.wrong(f"{where}.keypoints", str(error), EXPECTED_CONFIDENCE)
            return None

    def wrong(self, field: str, actual: str, expected: str, code: Code = "invalid-value") -> None:
        """Add a problem."""
        self._problems.append(Problem(code, str(self._path), None, field, actual, expected))

    def finish(self) -> None:
        """Raise InputError if there are problems."""
        if self._problems:
            raise InputError(self._problems)


def _is_used(entry: _Result, score: float) -> bool:
    """Return whether an entry is a single person (not a crowd) with a sufficient score and at least one keypoint."""
    return entry.keypoints is not None and any(entry.keypoints[2::3]) and not entry.iscrowd and entry.score >= score


def _box(entry: _Result) -> FloatArray | None:
    if entry.bbox is None or math.prod(entry.bbox[2:]) == 0:
        return None
    x, y, width, height = entry.bbox
    return np.array([x, y, x + width, y + height])


class FileSettings(PoseSettings):
    """Settings of `file`.

    Attributes:
        file: the JSON file.
        score: people with a lower score are ignored.
        overlap: minimum intersection over union of a person's box and a player's box.
        inside: minimum share of a person's keypoints in the player's box, for people without a box.
        other_images: whether keypoints of images that are not in the dataset are an error.
    """

    file: Path
    score: float = 0.0
    overlap: float = Field(0.3, gt=0, le=1)
    inside: float = Field(0.5, gt=0, le=1)
    other_images: Literal["error", "ignore"] = "error"


class FromFile:
    """Match the people in a file of keypoints to the players.

    Raises:
        InputError: if the file cannot be read, or if it has people in an image that is not in the dataset and
            `other_images` is `error`.
        OptionError: if an image in the file could belong to two scenes.
    """

    Settings: ClassVar[type[PoseSettings]] = FileSettings
    needs_images: ClassVar[bool] = False
    version: ClassVar[str] = "1"

    def __init__(self, settings: FileSettings, scenes: Sequence[Scene]) -> None:
        self.settings = settings
        people = read_people(settings.file, settings.score)
        self._people: dict[tuple[str, str], list[Person]] = {}
        owners: dict[str, Scene] = {}
        for scene in scenes:
            names = [name for name in image_names(scene.sport, scene.image, scene.path) if name in people]
            for name in names[:1]:
                if name in owners:
                    first, second = ("/".join(candidate.key) for candidate in (owners[name], scene))
                    problem = f"the image name {name!r} fits {first} and {second}. Add the sport, as in {first}"
                    raise OptionError(f"{problem}", code="invalid-value", file=settings.file)
                owners[name] = scene
                self._people[scene.key] = people[name]
        others = [name for name in people if name not in owners and people[name]]
        if others and settings.other_images == "error":
            expected = "an image in the dataset. To ignore other images, add --option other_images=ignore"
            raise InputError(
                Problem("unknown-image", str(settings.file), None, "image", repr(name), expected) for name in others
            )

    def estimate(self, scene: Scene, image: Image | None) -> Estimate:
        """Match the people in one image to its players."""
        people = self._people.get(scene.key, [])
        return match(people, scene.boxes, overlap=self.settings.overlap, inside=self.settings.inside)

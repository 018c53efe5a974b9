"""Read boxes from COCO JSON: `images`, `categories` and `annotations` with `bbox` (left, top, width, height).

`segmentation` is read as the player's outline. `keypoints` are read as the pose if they are COCO's 17 keypoints.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, TypeVar

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat, PositiveInt, ValidationError

from spotball_core.error_codes import Code
from spotball_core.errors import InputError, Problem
from spotball_core.geometry import Polygon
from spotball_core.schema.faults import problems_of_record
from spotball_core.schema.keypoints import KEYPOINT_NAMES, Keypoint
from spotball_core.schema.outline import polygons_of
from spotball_core.service.json_file import read_json
from spotball_core.typing import FloatArray
from spotball_gen.box_files.boxes import FileBox

N_KEYPOINTS = len(KEYPOINT_NAMES)

EXPECTED_CONFIDENCE = "confidences from 0 to 1, or the flags 0, 1, 2"


def are_flags(people: Iterable[Sequence[float]]) -> bool:
    """Return whether every third number is a COCO flag: only 0, 1 and 2 occur, and 2 occurs.

    Examples:
        >>> are_flags([[10, 20, 2, 11, 21, 1]]), are_flags([[10, 20, 0.9]]), are_flags([[10, 20, 1]])
        (True, False, False)
    """
    values = {number for keypoints in people for number in keypoints[2::3]}
    return values <= {0, 1, 2} and 2 in values


def confident_keypoints(keypoints: Sequence[float], scores: Sequence[float] | None, *, flags: bool) -> FloatArray:
    """Return a person's keypoints with confidences, shape (17, 3).

    Args:
        keypoints: 51 numbers, as in the file.
        scores: 17 confidences that replace every third number, as in exports of `spotball gen`; None if there are none.
        flags: whether every third number is a flag: 0 for an unlabeled keypoint, 1 for a hidden keypoint (confidence
            0.5), 2 for a visible keypoint (confidence 1).

    Raises:
        ValueError: if a confidence is outside [0, 1]. The message contains the first such confidence.

    Examples:
        >>> confident_keypoints([10, 20, 2, 11, 21, 1] + [0] * 45, None, flags=True)[:2].tolist()
        [[10.0, 20.0, 1.0], [11.0, 21.0, 0.5]]
    """
    points = np.array(keypoints, dtype=float).reshape(N_KEYPOINTS, 3)
    if scores is not None:
        points[:, 2] = scores
    elif flags:
        points[:, 2] /= 2
    wrong = points[(points[:, 2] < 0) | (points[:, 2] > 1), 2]
    if len(wrong):
        raise ValueError(f"the confidence {wrong[0]:g}")
    return points


M = TypeVar("M", bound=BaseModel)

_Id = int | str
_Length = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def _outline(value: object) -> tuple[Polygon, ...] | None:
    # Files with boxes only often contain an empty list.
    return polygons_of(value) if value else None


def _keypoints(value: object) -> object:
    # A file may have other points than those of a person, or zeros for a missing pose.
    is_pose = isinstance(value, list) and len(value) == 3 * N_KEYPOINTS and any(value[2::3])
    return value if is_pose else None


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True)


class _Picture(_Entry):
    id: _Id
    file_name: str
    width: PositiveInt
    height: PositiveInt


class _Category(_Entry):
    id: _Id
    name: str


class _Annotation(_Entry):
    image_id: _Id
    category_id: _Id
    bbox: tuple[FiniteFloat, FiniteFloat, _Length, _Length]
    score: float = Field(1.0, ge=0, le=1)
    iscrowd: int = 0
    segmentation: Annotated[tuple[Polygon, ...] | None, BeforeValidator(_outline)] = None
    keypoints: Annotated[tuple[FiniteFloat, ...] | None, BeforeValidator(_keypoints)] = None
    keypoint_scores: (
        Annotated[tuple[FiniteFloat, ...], Field(min_length=N_KEYPOINTS, max_length=N_KEYPOINTS)] | None
    ) = None


def read_coco(path: Path) -> Mapping[str, tuple[FileBox, ...]]:
    """Return the boxes of each image, by its file name without extension. Boxes with `iscrowd` are excluded.

    Raises:
        InputError: if the file cannot be read, or if entries are invalid. The error lists all invalid entries.
    """
    return _CocoReader(path).boxes()


class _CocoReader:
    """Read one COCO file, and collect all its problems before raising an error."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._problems: list[Problem] = []

    def boxes(self) -> Mapping[str, tuple[FileBox, ...]]:
        data = self._data()
        pictures = self._by_id(self._entries(_Picture, data, "images"), "images")
        categories = self._by_id(self._entries(_Category, data, "categories"), "categories")
        names = {ident: str(PurePosixPath(picture.file_name).with_suffix("")) for ident, picture in pictures.items()}
        self._check_once(names)
        by_id: dict[_Id, list[FileBox]] = {ident: [] for ident in pictures}
        annotations = self._entries(_Annotation, data, "annotations")
        flags = are_flags(entry.keypoints or () for _, entry in annotations)
        for number, entry in annotations:
            if entry.image_id not in pictures:
                self._wrong(f"annotations.{number}.image_id", repr(entry.image_id), "the id of one of the images")
            elif entry.category_id not in categories:
                self._wrong(
                    f"annotations.{number}.category_id", repr(entry.category_id), "the id of one of the categories"
                )
            elif not entry.iscrowd:
                x, y, width, height = entry.bbox
                picture, name = pictures[entry.image_id], categories[entry.category_id].name
                size = float(picture.width), float(picture.height)
                corners = x, y, x + width, y + height
                pose = self._pose(number, entry, flags)
                by_id[entry.image_id].append(FileBox(corners, name, entry.score, size, entry.segmentation, pose))
        if self._problems:
            raise InputError(self._problems)
        return {names[ident]: tuple(boxes) for ident, boxes in by_id.items()}

    def _pose(self, number: int, entry: _Annotation, flags: bool) -> tuple[Keypoint, ...] | None:
        if entry.keypoints is None:
            return None
        try:
            points = confident_keypoints(entry.keypoints, entry.keypoint_scores, flags=flags)
        except ValueError as error:
            self._wrong(f"annotations.{number}.keypoints", str(error), EXPECTED_CONFIDENCE)
            return None
        return tuple((x, y, confidence) for x, y, confidence in points.tolist())

    def _data(self) -> dict[str, object]:
        data = read_json(self._path, "boxes")
        if not isinstance(data, dict):
            expected = "an object with the keys `images`, `categories` and `annotations`"
            raise InputError.of("wrong-file", self._path, "file", f"a {type(data).__name__}", expected)
        return data

    def _entries(self, model: type[M], data: dict[str, object], part: str) -> list[tuple[int, M]]:
        entries = data.get(part)
        if not isinstance(entries, list):
            code: Code = "missing-value" if entries is None else "invalid-value"
            self._wrong(part, "nothing" if entries is None else type(entries).__name__, "a list", code)
            return []
        read = []
        for number, entry in enumerate(entries):
            try:
                read.append((number, model.model_validate(entry)))
            except ValidationError as error:
                where = f"{part}.{number}"
                self._problems += problems_of_record(error, str(self._path), model=model, where=where)
        return read

    def _by_id(self, entries: list[tuple[int, M]], part: str) -> dict[_Id, M]:
        by_id: dict[_Id, M] = {}
        for number, entry in entries:
            ident: _Id = entry.id  # type: ignore[attr-defined]
            if ident in by_id:
                self._wrong(f"{part}.{number}.id", repr(ident), "a different id for each entry", "duplicate")
            by_id[ident] = entry
        return by_id

    def _check_once(self, names: Mapping[_Id, str]) -> None:
        first: dict[str, _Id] = {}
        for ident, name in names.items():
            if name in first:
                self._wrong(
                    "images",
                    f"{name!r} in the images with the ids {first[name]} and {ident}",
                    "a different file name for each image, without counting the extension",
                    "duplicate",
                )
            first[name] = ident

    def _wrong(self, field: str, actual: str, expected: str, code: Code = "invalid-value") -> None:
        self._problems.append(Problem(code, str(self._path), None, field, actual, expected))

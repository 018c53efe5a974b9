"""Read annotations of GazeFollow and VideoAttentionTarget, and predictions for them."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, Literal

from spotball_core.errors import InputError, OptionError, Problem
from spotball_core.service.images import open_image
from spotball_core.service.paths import find_file

Point = tuple[float, float]
Box = tuple[float, float, float, float]
Size = tuple[int, int]
Sizes = Callable[[str], Size | None]
"""Function that returns the width and height in pixels of the named image, or None if they are unknown."""

Benchmark = Literal["gazefollow", "videoattentiontarget"]

TEST_COLUMNS: Final = (
    *("path", "idx", "body_x", "body_y", "body_width", "body_height"),
    *("eye_x", "eye_y", "gaze_x", "gaze_y", "x_min", "y_min", "x_max", "y_max"),
)
"""The first columns of GazeFollow's annotation files, in the file's order; more columns may follow."""

_TRAIN_COLUMNS: Final = 17
"""Number of columns of train_annotations_release.txt, in which `TEST_COLUMNS` are followed by 1 if the person looks at
something inside the image, 0 if outside, and -1 if unknown."""


@dataclass(frozen=True)
class FollowTarget:
    """One person in an image, with the gaze points that annotators marked.

    Attributes:
        image: name of the image.
        person: number of the person in the image, from 1 in the order of the file (GazeFollow), or the name of the
            person's file without its extension (VideoAttentionTarget).
        head: box of the head in pixels: left, top, right, bottom.
        eye: position of the eyes, as shares of width and height.
        points: gaze points of the annotators, as shares of the image's width and height; empty if the person looks at
            something outside the image.
        size: width and height of the image in pixels; None if unknown.
    """

    image: str
    person: str
    head: Box
    eye: Point
    points: tuple[Point, ...]
    size: Size | None


def sizes_in(folder: Path | None) -> Sizes:
    """Return a function that reads the size of an image in a folder; it returns None for a missing file.

    The function raises InputError for a damaged image.
    """

    @cache
    def size(name: str) -> Size | None:
        path = find_file([folder] if folder else [], name)
        if path is None:
            return None
        try:
            with open_image(path) as image:
                return image.size
        except Exception as error:  # Pillow raises many types of exceptions for a damaged file.
            actual = f"{type(error).__name__}: {error}"
            problem = Problem("unreadable-file", str(path), None, "file", actual, "an image that can be read")
            raise InputError([problem]) from error

    return size


def read_annotations(path: Path, sizes: Sizes) -> tuple[Benchmark, tuple[FollowTarget, ...]]:
    """Read a file of GazeFollow or a folder of VideoAttentionTarget, and return the benchmark's name and the people."""
    if path.is_dir():
        return "videoattentiontarget", read_video_attention(path, sizes)
    return "gazefollow", read_gazefollow(path, sizes)


def read_gazefollow(path: str | Path, sizes: Sizes = lambda image: None) -> tuple[FollowTarget, ...]:
    """Read GazeFollow's annotations, with about ten annotators per person in `test_annotations_release.txt`.

    Rows with the same image and the same eye position describe one person.

    Args:
        path: the annotation file, in CSV format without a header.
        sizes: function that returns the width and height of an image in pixels, or None if they are unknown.

    Raises:
        InputError: if the file cannot be read, a row has too few columns, or a value is not a number.
    """
    path = Path(path)
    people: dict[tuple[str, float, float], list[tuple[Box, Point]]] = {}
    for line, row in _rows(path):
        if len(row) < len(TEST_COLUMNS):
            raise InputError.of(
                "missing-column", path, "row", f"{len(row)} columns", f"{len(TEST_COLUMNS)} or more", line=line
            )
        values = dict(zip(TEST_COLUMNS, row, strict=False))
        number = {name: _number(path, line, name, values[name]) for name in TEST_COLUMNS[6:]}
        box = (number["x_min"], number["y_min"], number["x_max"], number["y_max"])
        key = (values["path"], number["eye_x"], number["eye_y"])
        inside = len(row) < _TRAIN_COLUMNS or row[len(TEST_COLUMNS)] == "1"
        people.setdefault(key, []).append((box, (number["gaze_x"], number["gaze_y"]) if inside else (-1.0, -1.0)))
    counts: dict[str, int] = {}
    targets = []
    for (image, *eye), rows in people.items():
        counts[image] = counts.get(image, 0) + 1
        points = tuple(point for _, point in rows if point[0] >= 0)
        where = (eye[0], eye[1])
        targets.append(FollowTarget(image, str(counts[image]), rows[0][0], where, points, sizes(image)))
    return tuple(targets)


def read_video_attention(folder: str | Path, sizes: Sizes) -> tuple[FollowTarget, ...]:
    """Read VideoAttentionTarget's annotations from the files `show/clip/person.txt` of a folder.

    Args:
        folder: `annotations/test` or `annotations/train`.
        sizes: function that returns the width and height in pixels of a frame, which is named `show/clip/frame.jpg`.

    Raises:
        InputError: if the folder has no annotations, a row does not have 7 values, or a value is not a number.
        OptionError: if the size of a frame is unknown, because it is needed to convert pixels to shares.
    """
    folder = Path(folder)
    files = sorted(folder.glob("*/*/*.txt"))
    if not files:
        raise InputError.of(
            "wrong-folder", folder, "file", "no annotations", "files with paths such as show/clip/person.txt"
        )
    targets = []
    for path in files:
        for line, row in _rows(path):
            if len(row) != 7:
                raise InputError.of("missing-column", path, "row", f"{len(row)} columns", "7 columns", line=line)
            names = ("x_min", "y_min", "x_max", "y_max", "gaze_x", "gaze_y")
            left, top, right, bottom, x, y = (
                _number(path, line, name, text) for name, text in zip(names, row[1:], strict=True)
            )
            image = f"{path.parent.parent.name}/{path.parent.name}/{row[0]}"
            size = sizes(image)
            if size is None:
                raise OptionError(
                    f"{image}: the size of this frame is unknown, but annotations in pixels need it."
                    " Give the folder of the frames with --images.",
                    code="missing-value",
                )
            width, height = size
            points = ((x / width, y / height),) if x >= 0 and y >= 0 else ()
            eye = ((left + right) / 2 / width, (top + bottom) / 2 / height)
            targets.append(FollowTarget(image, path.stem, (left, top, right, bottom), eye, points, size))
    return tuple(targets)


@dataclass(frozen=True)
class FollowPrediction:
    """One predicted gaze point.

    Attributes:
        respondent: name of the respondent.
        image: name of the image.
        person: the person in the image, as in `FollowTarget.person`.
        point: the point, as shares of width and height.
        heatmap: file of the heat map, a two-dimensional NumPy array; None without a heat map.
    """

    respondent: str
    image: str
    person: str
    point: Point
    heatmap: Path | None


def read_predictions(path: str | Path) -> tuple[FollowPrediction, ...]:
    """Read predictions from a CSV file with the columns image, x, y, and optionally person, respondent and heatmap.

    By default, `person` is 1 and `respondent` is the file's name without its extension. `heatmap` is a path relative to
    the file's folder.

    Args:
        path: the file.

    Raises:
        InputError: if the file cannot be read, a column or the name of an image is missing, a coordinate is not a
            number from 0 to 1, or a respondent has two predictions for the same person.
    """
    path = Path(path)
    rows = list(_rows(path))
    header = rows[0][1] if rows else []
    if missing := [name for name in ("image", "x", "y") if name not in header]:
        actual = f"the columns {', '.join(header)}" if header else "nothing"
        raise InputError.of("missing-column", path, missing[0], actual, f"a column `{missing[0]}`", line=1)
    predictions = []
    seen = set()
    for line, row in rows[1:]:
        values = dict(zip(header, row, strict=False))
        if not values.get("image"):
            raise InputError.of("missing-value", path, "image", "nothing", "the name of an image", line=line)
        x, y = (_number(path, line, name, values.get(name, "")) for name in ("x", "y"))
        if not (0 <= x <= 1 and 0 <= y <= 1):
            raise InputError.of(
                "invalid-value",
                path,
                "x, y",
                f"{x:g}, {y:g}",
                "shares of the image's width and height, from 0 to 1",
                line=line,
            )
        heatmap = values.get("heatmap")
        new = FollowPrediction(
            values.get("respondent") or path.stem,
            values["image"],
            values.get("person") or "1",
            (x, y),
            path.parent / heatmap if heatmap else None,
        )
        if (identity := (new.respondent, new.image, new.person)) in seen:
            actual = f"a second prediction of {new.respondent} for image {new.image}, person {new.person}"
            raise InputError.of("duplicate", path, "row", actual, "one prediction per person", line=line)
        seen.add(identity)
        predictions.append(new)
    return tuple(predictions)


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV file that are not blank, with their line numbers."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            for row in reader:
                if any(text.strip() for text in row):
                    yield reader.line_num, [text.strip() for text in row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError.of("invalid-csv", path, "file", str(error), "a CSV file in UTF-8") from error


def _number(path: Path, line: int, field: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError.of("invalid-value", path, field, repr(text), "a number", line=line)
    return value

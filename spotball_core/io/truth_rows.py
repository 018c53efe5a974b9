"""Convert the rows of a truth table to scenes: one or more rows per image, with the place of the ball in any form."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from pydantic import ValidationError

from spotball_core.error_codes import Code
from spotball_core.errors import GridError, Problem, plain
from spotball_core.grid import Grid, parse_label
from spotball_core.interchange import array_of_tensor
from spotball_core.io.records import CELLS_NOT_INDICES, is_missing, text_of
from spotball_core.schema.faults import problems_of_record
from spotball_core.schema.record import UNNAMED
from spotball_core.schema.scene import GridShape, Scene
from spotball_core.service.json_file import parse_json

MOST_PROBLEMS = 10_000
"""Number of problems after which reading stops: a table with more of them probably does not contain the truth."""

_LEAST_SCALED, _LEAST_PERCENT = 3, 10
"""Minimum numbers of images with a ball for the conclusion that places are fractions or percentages."""

LABELS = ("cell", "cells", "ball_cells")
"""Columns with labels of cells."""

_SIDES = ("x1", "y1", "x2", "y2")
_SEPARATORS = re.compile(r"\s*[;,]\s*")
_TRUE, _FALSE = ("true", "1"), ("false", "0")


@dataclass(eq=False)
class RowFault(Exception):
    """What is wrong with a row, in the words of `Problem`.

    Attributes:
        code: the kind of problem.
        first: an earlier row that the row contradicts; None if there is none.
    """

    field: str
    found: str
    expected: str
    fix: str = ""
    first: int | None = None
    code: Code = "invalid-value"


@dataclass
class _Image:
    """What the rows of an image state.

    Attributes:
        row: the number of the first row, from 0.
        given: the fields of its scene, except for the ball's cells.
        form: the columns that state the ball's cells, such as `cell` or `x`; empty if the cells are not stated.
        ball: the values of these columns: labels of cells, a mask, x and y, or row and column.
        scene: the scene, if the row is one.
    """

    row: int
    given: dict[str, Any]
    form: str = ""
    ball: list[Any] = field(default_factory=list)
    scene: Scene | None = None

    @property
    def key(self) -> tuple[str, str]:
        return (self.given.get("sport", UNNAMED), self.given["image"]) if self.scene is None else self.scene.key


def scenes_of_rows(
    rows: Iterable[tuple[int, Scene | Mapping[str, Any]]], name: str, grid: Grid
) -> tuple[list[Scene], list[tuple[int, RowFault | Problem]]]:
    """Return the scenes that rows describe, and the faults of rows by their number.

    Args:
        rows: the number of each row, and a scene or the row's values by the names of `columns.TRUTH`.
        name: the name of the table, for problems.
        grid: the grid of images whose rows have none.
    """
    images: dict[tuple[str, str], _Image] = {}
    faults: list[tuple[int, RowFault | Problem]] = []
    for number, row in rows:
        if len(faults) > MOST_PROBLEMS:
            break
        try:
            image = _Image(number, {}, scene=row) if isinstance(row, Scene) else _read(number, row)
            first = images.setdefault(image.key, image)
            if first is not image:
                _add(image, first)
        except RowFault as fault:
            faults.append((number, fault))
    faults += _scaled(images.values())
    scenes = []
    for image in images.values():
        if len(faults) > MOST_PROBLEMS:
            break
        try:
            scenes.append(_scene(image, grid))
        except RowFault as fault:
            faults.append((image.row, fault))
        except ValidationError as error:
            faults.extend((image.row, problem) for problem in problems_of_record(error, name, model=Scene))
    return scenes, sorted(faults, key=lambda fault: fault[0])


# Rows of an image -----------------------------------------------------------------------------------------------


def _read(number: int, row: Mapping[str, Any]) -> _Image:
    values = {name: value for name, given in row.items() if (value := _value(given)) is not None}
    if "image" not in values:
        raise RowFault("image", "nothing", "an image's id", code="missing-value")
    given: dict[str, Any] = {name: _id(values[name], name) for name in ("sport", "image") if name in values}
    for side, other in (("width", "height"), ("height", "width")):
        if side in values:
            given[side] = _number(values[side], side, "a number of pixels")
            if other not in values:
                raise RowFault(other, f"nothing, but a value in {side}", "values in both columns", code="missing-value")
    if "grid" in values:
        grid = values["grid"]
        given["grid"] = grid if isinstance(grid, (Grid, GridShape)) else _json(grid, "grid")
    for name in ("players", "player_outlines", "player_keypoints"):
        if name in values:
            given[name] = _json(values[name], name)
    if "control" in values:
        given["control"] = _flag(values["control"])
    if "path" in values:
        given["path"] = values["path"]
    if box := _box(values):
        given["ball_box"] = box
    form, ball = _ball(values)
    return _Image(number, given, form, ball)


def _add(image: _Image, first: _Image) -> None:
    """Add a further row of an image, which must state another cell of the ball and nothing that differs."""
    label = "/".join(image.key)
    if image.form != "cell" or first.form != "cell":
        expected = "each combination of `sport` and `image` once"
        fix = "Write several cells of one ball as C2;C3 in a column `cells`, or one per row in a column `cell`"
        fix = "Pass each scene once" if image.scene else fix
        raise RowFault("image", f"a second row of {label}", expected, fix, first.row, code="duplicate")
    known = {parse_label(cell) for cell in first.ball}
    for cell in image.ball:
        if parse_label(cell) in known:
            fix = "Remove the second row. A table of responses is not a truth table"
            raise RowFault(
                "cell",
                f"a second row with {cell} of {label}",
                "each cell of a ball once",
                fix,
                first.row,
                code="duplicate",
            )
    for name, value in image.given.items():
        if first.given.setdefault(name, value) != value:
            expected = "the same value in all rows of an image"
            raise RowFault(name, f"{_shown(value)} for {label}", expected, first=first.row, code="incompatible-data")
    first.ball.extend(image.ball)


def _scaled(images: Collection[_Image]) -> Iterator[tuple[int, RowFault]]:
    """Yield a fault if all points or boxes of the ball are between 0 and 1, or all points within 0 and 100.

    Points within 100 pixels of the upper left corner on many images are not in pixels.
    """
    for name, stated in (
        ("x", [(image, image.ball) for image in images if image.form == "x"]),
        ("ball_box", [(image, image.given["ball_box"]) for image in images if "ball_box" in image.given]),
    ):
        values = [value for _, numbers in stated for value in numbers]
        if len(stated) < _LEAST_SCALED or min(values) < 0 or len(set(values)) < _LEAST_SCALED:
            continue
        scale = next((size for size in (1, 100) if max(values) <= size), None)
        if scale == 1 or (scale == 100 and len(stated) >= _LEAST_PERCENT):
            yield (
                stated[0][0].row,
                RowFault(
                    name,
                    f"values between 0 and {scale} in all {len(stated)} images",
                    "pixels",
                    f"Multiply x by the width of the image / {scale}, and y by the height / {scale}",
                    code="misread-answers",
                ),
            )


# Scenes -----------------------------------------------------------------------------------------------------------


def _scene(image: _Image, grid: Grid) -> Scene:
    """Return the scene of an image.

    Raises:
        RowFault: if the ball is not in the image.
        ValidationError: if another value is wrong.
    """
    if image.scene is not None:
        return image.scene
    fields = dict(image.given)
    if not isinstance(fields.get("grid"), Grid):
        fields.setdefault("grid", {"rows": grid.rows, "cols": grid.cols})
        if "width" not in fields:
            fields |= {"width": grid.width, "height": grid.height}
    if image.form in LABELS and not isinstance(image.ball[0], bool):
        try:
            return Scene.model_validate({**fields, "ball_cells": image.ball})
        except ValidationError:
            _check_labels(image, Scene.model_validate(fields).layout)
            raise
    scene = Scene.model_validate(fields)
    if image.form:
        return Scene.model_validate({**fields, "ball_cells": _cells(image, scene.layout)})
    if scene.ball_box is not None and not scene.ball_cells:
        box = ", ".join(f"{side:g}" for side in scene.ball_box)
        raise RowFault("ball_box", f"the box {box}, which covers no cell", _inside("a box that overlaps", scene.layout))
    return scene


def _check_labels(image: _Image, grid: Grid) -> None:
    for label in image.ball:
        try:
            grid.position(label)
        except GridError:
            found = repr(plain(label))
            raise RowFault(
                image.form, found, f"cell labels from A1 to {grid.labels[-1]}", code="invalid-cell"
            ) from None


def _cells(image: _Image, grid: Grid) -> list[str]:
    """Return the labels of the ball's cells, which are stated by a mask, a point, or a row and a column."""
    if image.form in LABELS:
        if len(image.ball) != grid.n_cells:
            expected = f"one true or false for each of the {grid.n_cells} cells"
            raise RowFault(image.form, f"{len(image.ball)} values", expected)
        return [label for label, is_ball in zip(grid.labels, image.ball, strict=True) if is_ball]
    first, second = image.ball
    if image.form == "x":
        if (index := int(grid.indices_at(first, second))) < 0:
            found = f"the point x {first:g}, y {second:g}"
            raise RowFault("x", found, _inside("a point in pixels inside", grid))
        return [grid.labels[index]]
    for name, value, most in (("row", first, grid.rows), ("col", second, grid.cols)):
        if not (value == math.floor(value) and 1 <= value <= most):
            raise RowFault(name, f"{value:g}", f"a whole number from 1 to {most}")
    return [grid.label((int(first), int(second)))]


def _inside(what: str, grid: Grid) -> str:
    return f"{what} the image of {grid.width:g} x {grid.height:g} pixels"


# Values -----------------------------------------------------------------------------------------------------------


def _value(value: Any) -> Any:
    """Return a value of a row, without spaces around text; None if it is missing or empty text."""
    if isinstance(value, str):
        return value.strip() or None
    return None if is_missing(value) else value


def _id(value: Any, name: str) -> str:
    if isinstance(value, (str, int)) or (isinstance(value, Real) and math.isfinite(value)):
        return str(text_of(value))
    raise RowFault(name, _shown(value), "a name or a number")


def _number(value: Any, name: str, expected: str) -> float:
    try:
        number = math.nan if isinstance(value, (bool, np.bool_)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise RowFault(name, _shown(value), expected)
    return number


def _flag(value: Any) -> bool:
    text = text_of(value)
    if text is not None and text.lower() in (*_TRUE, *_FALSE):
        return text.lower() in _TRUE
    raise RowFault("control", _shown(value), "true or false")


def _json(value: Any, name: str) -> Any:
    """Return lists or objects, which a table of text has as JSON."""
    if isinstance(value, str):
        try:
            return parse_json(value)
        except ValueError as error:
            raise RowFault(name, _shown(value), f"JSON ({error})") from None
    return _listed(value)


def _listed(value: Any) -> Any:
    """Return nested arrays, tensors and tuples as lists."""
    value = array_of_tensor(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return [_listed(item) for item in value] if isinstance(value, (list, tuple)) else value


def _box(values: Mapping[str, Any]) -> list[float] | None:
    """Return the ball's box; None if it is not stated."""
    sides = [side for side in _SIDES if side in values]
    if sides and "ball_box" in values:
        raise RowFault("ball_box", "values for x1, y1, x2, y2 and ball_box", "only one box. Leave the others empty")
    if sides:
        if missing := [side for side in _SIDES if side not in values]:
            raise RowFault(
                missing[0], f"nothing, but a value in {sides[0]}", "values in x1, y1, x2 and y2", code="missing-value"
            )
        return [_number(values[side], side, "a number of pixels") for side in _SIDES]
    if "ball_box" not in values:
        return None
    box = _listed(values["ball_box"])
    if isinstance(box, str):
        box = re.split(r"[;,\s]+", box.strip("[]() "))
    if not isinstance(box, list) or len(box) != len(_SIDES):
        raise RowFault("ball_box", _shown(values["ball_box"]), "4 numbers x1, y1, x2, y2 in pixels")
    return [_number(side, "ball_box", "4 numbers x1, y1, x2, y2 in pixels") for side in box]


def _ball(values: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """Return the form in which a row states the ball's cells, and the values of this form; empty if it does not."""
    balls: dict[str, list[Any]] = {}
    for name in LABELS:
        if name in values and (labels := _labels(values[name], name)):
            balls[name] = labels
    for pair, kind in ((("x", "y"), "a number of pixels"), (("row", "col"), "a whole number")):
        given = [name for name in pair if name in values]
        if len(given) == 1:
            (missing,) = set(pair) - set(given)
            raise RowFault(
                missing, f"nothing, but a value in {given[0]}", "values in both columns", code="missing-value"
            )
        if given:
            balls[pair[0]] = [_number(values[name], name, kind) for name in pair]
    if len(balls) > 1:
        names = {"x": "x and y", "row": "row and col"}
        found = f"values for {', '.join(names.get(form, form) for form in balls)}"
        raise RowFault("cell", found, "only one form of the truth", "Leave the other columns empty")
    return next(iter(balls.items()), ("", []))


def _labels(value: Any, name: str) -> list[Any]:
    """Return the labels of cells, or one bool per cell; an empty list if there are none."""
    expected, _, fix = CELLS_NOT_INDICES.partition(". ")
    value = _listed(value)
    if isinstance(value, str):
        labels = _split(value)
    elif isinstance(value, (list, set, frozenset)):
        labels = list(value)
    else:
        raise RowFault(name, _shown(value), expected, fix)
    if labels and all(isinstance(label, bool) for label in labels):
        return labels if any(labels) else []
    for label in labels:
        try:
            parse_label(label)
        except (GridError, TypeError):
            is_number = not isinstance(label, str) or label.isdecimal()
            raise RowFault(name, _shown(label), expected, fix if is_number else "") from None
    return [str(label) for label in labels]


def _split(text: str) -> list[str]:
    """Return the labels in a text: separated by semicolons or commas, or else by spaces, or a JSON list."""
    if text.startswith("["):
        try:
            labels = parse_json(text)
        except ValueError:
            return [text]
        return labels if isinstance(labels, list) else [text]
    if "," in text or ";" in text:
        return [label for label in _SEPARATORS.split(text) if label]
    try:
        parse_label(text)
    except GridError:
        return text.split()
    return [text]


def _shown(value: object) -> str:
    return plain(repr(value))

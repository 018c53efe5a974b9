"""Read the positions of the faces in photos."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from spotball_core.errors import InputError, Problem
from spotball_core.gaze.data.rows import Rows

FACES: Final = "faces.csv"
"""Name of the file with the faces, next to the photos' `stimuli.csv`."""

Box = tuple[float, float, float, float]
"""The left, upper, right and lower edge of a face, as fractions of the image's width and height."""


def read_faces(path: Path) -> Mapping[str, Box]:
    """Read boxes of faces from a CSV file, and return them by stimulus ID.

    The columns are `stimulus_id`, and `x1`, `y1`, `x2`, `y2` as fractions of the image's width and height.

    Raises:
        InputError: if a column is missing, a box is invalid, or a stimulus has two boxes. The error lists all problems.
    """
    rows = Rows(path)
    names = ("x1", "y1", "x2", "y2")
    rows.need(("stimulus_id", *names))
    boxes: dict[str, Box] = {}
    wrong: list[tuple[int, str]] = []
    for record, stimulus_id, *sides in rows.frame.select("_record", "stimulus_id", *names).iter_rows():
        x1, y1, x2, y2 = (math.nan if (side := number_in(text)) is None else side for text in sides)
        if stimulus_id and stimulus_id not in boxes and 0 <= x1 < x2 <= 1 and 0 <= y1 < y2 <= 1:
            boxes[stimulus_id] = (x1, y1, x2, y2)
        else:
            wrong.append((record, f"{stimulus_id}: {', '.join(map(str, sides))}"))
    if wrong:
        lines = rows.lines([record for record, _ in wrong])
        expected = "one box per stimulus_id, with 0 <= x1 < x2 <= 1 and 0 <= y1 < y2 <= 1"
        raise InputError(
            Problem("invalid-value", str(path), lines[record], "face", actual, expected) for record, actual in wrong
        )
    return boxes


def number_in(value: object) -> float | None:
    """Return the value as a number, NaN if it is not a number, or None if it is missing."""
    if value is None:
        return None
    try:
        return float(str(value))
    except ValueError:
        return math.nan

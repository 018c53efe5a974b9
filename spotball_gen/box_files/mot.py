"""Read boxes from MOTChallenge CSV: `frame,track,left,top,width,height,confidence[,class[,...]]`, in pixels from 1."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

from spotball_core.errors import InputError, Problem
from spotball_gen.box_files.boxes import EXPECTED_SCORE, MOST_PROBLEMS, FileBox, number, read_lines

_FIELDS = ("frame", "track", "left", "top", "width", "height", "confidence", "class")
_NONE = -1
"""The value for an unknown confidence or class."""


def read_mot(path: Path, first_pixel: float) -> Mapping[int, tuple[FileBox, ...]]:
    """Return the boxes of a video by frame number.

    Rows with confidence 0 are excluded, because MOTChallenge marks boxes to be ignored in this way.

    Args:
        path: the file.
        first_pixel: coordinate that the file uses for the left edge of the first pixel, such as 1.

    Raises:
        InputError: if the file cannot be read, or if lines are invalid. The error lists at most `MOST_PROBLEMS` lines.
    """
    problems: list[Problem] = []
    boxes: dict[int, list[FileBox]] = {}
    rows = csv.reader(read_lines(path))
    for row in _whole(rows, path):
        if not any(field.strip() for field in row):
            continue
        wrong = _wrong(row)
        if wrong:
            if len(problems) == MOST_PROBLEMS:
                break
            problems.append(Problem("invalid-value", str(path), rows.line_num, *wrong))
            continue
        frame, _, left, top, width, height = (float(field) for field in row[:6])
        confidence = float(row[6]) if len(row) > 6 else _NONE
        if confidence:
            x, y = left - first_pixel, top - first_pixel
            category = str(int(float(row[7]))) if len(row) > 7 else str(_NONE)
            score = 1.0 if confidence == _NONE else confidence
            boxes.setdefault(int(frame), []).append(FileBox((x, y, x + width, y + height), category, score))
    if problems:
        raise InputError(problems)
    return {frame: tuple(frame_boxes) for frame, frame_boxes in boxes.items()}


def _whole(rows: Iterator[list[str]], path: Path) -> Iterator[list[str]]:
    try:
        yield from rows
    except csv.Error as error:  # A field of more than 131,072 characters.
        raise InputError.of("unreadable-file", path, "file", str(error), "a file of boxes") from None


def _wrong(row: list[str]) -> tuple[str, str, str] | None:
    """Return the invalid field of a row, its value, and the expected value, or None if the row is valid."""
    if not 6 <= len(row) <= 10:
        return "line", f"{len(row)} fields", f"6 to 10 fields in the order {','.join(_FIELDS)}"
    for name, field in zip(_FIELDS, row, strict=False):
        value = number(field)
        if value is None:
            return name, repr(field), "a number"
        if name in ("frame", "track", "class") and value != int(value):
            return name, repr(field), "a whole number"
        if name == "frame" and value < 0:
            return name, repr(field), "a frame number of at least 0"
        if name in ("width", "height") and value <= 0:
            return name, repr(field), "a number of pixels above 0"
        if name == "confidence" and value != _NONE and not 0 <= value <= 1:
            return name, repr(field), f"{EXPECTED_SCORE}, or -1"
    return None

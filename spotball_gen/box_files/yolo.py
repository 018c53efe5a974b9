"""Read boxes from YOLO text files, one per picture: `class x y width height [score [track]]`, as fractions."""

from __future__ import annotations

from pathlib import Path

from spotball_core.errors import InputError, Problem
from spotball_gen.box_files.boxes import EXPECTED_SCORE, MOST_PROBLEMS, FileBox, number, read_lines

_SLACK = 1e-3
"""Maximum distance of a value from the range [0, 1], because rounded boxes may extend slightly beyond the picture."""


_CLASS_DIGITS = 9
"""Maximum number of digits of a class number."""


def read_yolo(path: Path) -> tuple[FileBox, ...]:
    """Return the boxes in a file, in which x and y are the center of each box.

    Raises:
        InputError: if the file cannot be read, or if lines are invalid. The error lists at most `MOST_PROBLEMS` lines.
    """
    problems: list[Problem] = []
    boxes: list[FileBox] = []
    for line, text in enumerate(read_lines(path), start=1):
        fields = text.split()
        if not fields:
            continue
        wrong = _wrong(fields)
        if wrong:
            if len(problems) == MOST_PROBLEMS:
                break
            problems.append(Problem("invalid-value", str(path), line, *wrong))
            continue
        x, y, width, height = (float(field) for field in fields[1:5])
        corners = x - width / 2, y - height / 2, x + width / 2, y + height / 2
        score = float(fields[5]) if len(fields) > 5 else 1.0
        boxes.append(FileBox(corners, str(int(fields[0])), score, of=(1.0, 1.0)))
    if problems:
        raise InputError(problems)
    return tuple(boxes)


def _wrong(fields: list[str]) -> tuple[str, str, str] | None:
    """Return the invalid field of a line, its value, and the expected value, or None if the line is valid."""
    if not 5 <= len(fields) <= 7:
        return (
            "line",
            f"{len(fields)} fields",
            "5 to 7 fields: class, x, y, width, height, and optionally score and track",
        )
    if not (fields[0].isdecimal() and len(fields[0]) <= _CLASS_DIGITS):
        return "class", repr(fields[0][:40]), "the number of a class, such as 0"
    for name, field in zip(("x", "y", "width", "height"), fields[1:5], strict=True):
        value = number(field)
        if value is None or not -_SLACK <= value <= 1 + _SLACK:
            return name, repr(field), "a fraction of the image size, from 0 to 1"
        if name in ("width", "height") and value <= 0:
            return name, repr(field), "a fraction of the image size, above 0"
    score = number(fields[5]) if len(fields) > 5 else 1.0
    if score is None or not 0 <= score <= 1:
        return "score", repr(fields[5]), EXPECTED_SCORE
    return None

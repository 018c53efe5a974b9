"""Convert predicted gaze points, such as those of GazeLLE or Moondream, to trials, and read and write the points.

The choice in a trial is the object nearest to the predicted point.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spotball_core.errors import InputError, OptionError, Problem, unreadable_text
from spotball_core.gaze.data.faces import Box, number_in
from spotball_core.gaze.data.rows import Rows
from spotball_core.gaze.data.stimuli import Point, Stimulus
from spotball_core.gaze.data.trials import Trial
from spotball_core.service.files import replacing
from spotball_core.service.json_file import parse_json
from spotball_core.service.safe_text import csv_cells

PROMPT = "point"
"""Value of `prompt_id` in trials of methods that predict points, which use no prompt."""

COLUMNS = ("stimulus_id", "x", "y", "sample")

_Row = tuple[int, str, object, object, object]
"""A line's number, and its values in the columns `COLUMNS`."""


@dataclass(frozen=True, slots=True)
class Predicted:
    """A predicted point for a photo.

    Attributes:
        stimulus_id: ID of the photo's stimulus.
        point: the point as fractions of the image's width and height, or None if nothing was predicted.
        sample: the number of the sample, from 1, or None if there is only one.
    """

    stimulus_id: str
    point: Point | None
    sample: int | None = None


def nearest(point: Point, points: Sequence[Point]) -> int | None:
    """Return the index of the point nearest to `point`, or None if several points are equally near.

    Distances are computed from fractions of width and height, as if the image were square. The photos of the gaze paper
    are square.

    Examples:
        >>> nearest((0.3, 0.5), [(0.1, 0.5), (0.4, 0.5), (0.9, 0.5)])
        1
        >>> nearest((0.5, 0.5), [(0.25, 0.5), (0.75, 0.5)]) is None
        True
    """
    distances = [math.dist(point, other) for other in points]
    closest = min(distances)
    return distances.index(closest) if distances.count(closest) == 1 else None


def point_trials(predicted: Iterable[Predicted], stimuli: Sequence[Stimulus], respondent: str) -> list[Trial]:
    """Return the trials of a method that predicts points.

    The choice in a trial is the object nearest to the point, or None if there is no point or no single nearest object.

    Raises:
        OptionError: if a predicted point belongs to a stimulus that is not in `stimuli`, or if the position of an
            object is missing.
    """
    by_id = {stimulus.stimulus_id: stimulus for stimulus in stimuli}
    trials = []
    for prediction in predicted:
        if prediction.stimulus_id not in by_id:
            raise OptionError(
                f"a prediction names the stimulus {prediction.stimulus_id!r}, which the stimuli file does not contain. "
                "Use ids from this file",
                code="unknown-image",
            )
        stimulus = by_id[prediction.stimulus_id]
        place = nearest(prediction.point, points_of(stimulus)) if prediction.point is not None else None
        choice = stimulus.objects[place] if place is not None else None
        trials.append(
            Trial(
                respondent=respondent,
                stimulus_id=prediction.stimulus_id,
                prompt_id=PROMPT,
                choice=choice,
                sample=prediction.sample,
            )
        )
    return trials


def points_of(stimulus: Stimulus) -> list[Point]:
    """Return the position of each object: x and y as fractions of the image's width and height. Raise OptionError if a
    position is missing.
    """
    points = stimulus.points or (None,) * len(stimulus.objects)
    known_points = [point for point in points if point is not None]
    if len(known_points) < len(stimulus.objects):
        lacking = ", ".join(name for name, point in zip(stimulus.objects, points, strict=True) if point is None)
        raise OptionError(
            f"stimulus {stimulus.stimulus_id} has no position for {lacking}. Add the columns `option1_x`, `option1_y`, "
            "..., or the column `points`, to the stimuli",
            code="missing-value",
        )
    return known_points


def read_points(path: Path) -> list[Predicted]:
    """Read predicted points from a CSV file, or from a JSON Lines file with the extension `.jsonl`.

    The columns are `stimulus_id`, `x`, `y` and optionally `sample`. `x` and `y` are fractions of the image from 0 to 1,
    from its upper left corner. Both are empty if nothing was predicted.

    Raises:
        InputError: if the file cannot be read, a value is missing or invalid, or a stimulus has two points for the same
            sample. The error lists all problems with line, field, value found and value expected.
    """
    problems: list[Problem] = []
    predictions: list[Predicted] = []
    seen: set[tuple[str, object]] = set()
    for line, stimulus_id, x, y, sample in _json_rows(path) if path.suffix == ".jsonl" else _csv_rows(path):
        shares = [number_in(value) for value in (x, y)]
        numbered = None if sample is None else number_in(sample)
        if not stimulus_id:
            problems.append(Problem("missing-value", str(path), line, "stimulus_id", "nothing", "a name"))
        elif (x is None) != (y is None) or any(not 0 <= share <= 1 for share in shares if share is not None):
            expected = "two numbers from 0 to 1 (fractions of the image's width and height), or two empty values"
            problems.append(Problem("invalid-value", str(path), line, "x, y", f"{x}, {y}", expected))
        elif numbered is not None and not (numbered >= 1 and numbered.is_integer()):
            problems.append(
                Problem("invalid-value", str(path), line, "sample", repr(sample), "a whole number of at least 1")
            )
        elif (stimulus_id, numbered) in seen:
            problems.append(
                Problem(
                    "duplicate",
                    str(path),
                    line,
                    "stimulus_id",
                    f"a second point for {stimulus_id}",
                    "one point per stimulus and sample",
                )
            )
        else:
            seen.add((stimulus_id, numbered))
            point = (shares[0], shares[1]) if shares[0] is not None and shares[1] is not None else None
            predictions.append(Predicted(stimulus_id, point, None if numbered is None else int(numbered)))
    if problems:
        raise InputError(problems)
    return predictions


def write_points(predicted: Iterable[Predicted], path: Path) -> None:
    """Write predicted points as CSV, without sample numbers. The file is written completely or not at all."""
    with replacing(path) as beside, beside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS[:3])
        for prediction in predicted:
            shares = ("", "") if prediction.point is None else tuple(f"{share:.6g}" for share in prediction.point)
            writer.writerow((*csv_cells([prediction.stimulus_id]), *shares))


def write_faces(faces: Mapping[str, Box], path: Path) -> None:
    """Write boxes of faces in the format of `read_faces`. The file is written completely or not at all."""
    with replacing(path) as beside, beside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("stimulus_id", "x1", "y1", "x2", "y2"))
        for stimulus_id, box in faces.items():
            writer.writerow((*csv_cells([stimulus_id]), *(f"{side:.6g}" for side in box)))


def _csv_rows(path: Path) -> Iterator[_Row]:
    rows = Rows(path)
    rows.need(COLUMNS[:3])
    rows.optional(COLUMNS)
    records = rows.frame["_record"].to_list()
    lines = rows.lines(records)
    for record, *values in rows.frame.select("_record", *COLUMNS).iter_rows():
        yield (lines[record], values[0] or "", *values[1:])


def _json_rows(path: Path) -> Iterator[_Row]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([unreadable_text(str(path), error)]) from error
    for number, line in enumerate(text.split("\n"), start=1):  # A string may hold U+2028.
        if not line.strip():
            continue
        try:
            row = parse_json(line)
            yield (number, str(row.get("stimulus_id") or ""), row.get("x"), row.get("y"), row.get("sample"))
        except (ValueError, AttributeError) as error:
            raise InputError.of("invalid-json", path, "line", str(error), "a JSON object", line=number) from error

"""Read and write `scenes.jsonl`, one scene per line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from spotball_core.errors import InputError, Problem
from spotball_core.schema.scene import Scene
from spotball_core.service.files import replacing
from spotball_core.service.json_file import RepeatedKeyError, parse_json

_MOST_PROBLEMS = 10_000
"""A file with more problems probably does not contain scenes, and finding all of them would take minutes."""

_PARQUET = b"PAR1"


def read_scenes(path: str | Path) -> tuple[Scene, ...]:
    """Return all scenes of a file.

    Raises:
        InputError: for every line that is not a scene, and for an image, (sport, image), that occurs twice. Reading
            stops after 10,000 problems.
    """
    path = Path(path)
    lines = _lines(path)
    if _is_csv(lines):
        raise InputError([_of_another_format(path, "a CSV file")])
    problems: list[Problem] = []
    scenes: dict[tuple[str, str], Scene] = {}
    first_line: dict[tuple[str, str], int] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if len(problems) > _MOST_PROBLEMS:
            break
        try:
            parse_json(line)
        except RepeatedKeyError as error:
            problems.append(Problem(str(path), number, "line", str(error), "each key once"))
            continue
        except ValueError:
            pass  # Validation reports the problem, with its place in the line.
        try:
            scene = Scene.model_validate_json(line)
        except ValidationError as error:
            problems.extend(_problem(path, number, detail) for detail in error.errors(include_url=False))
            continue
        if scene.key in scenes:
            actual = f"{scene.sport}/{scene.image} again, first on line {first_line[scene.key]}"
            problems.append(Problem(str(path), number, "image", actual, "each (sport, image) once"))
            continue
        scenes[scene.key], first_line[scene.key] = scene, number
    if not scenes and not problems:
        problems.append(Problem(str(path), None, "file", "no scenes", "at least one"))
    if problems:
        raise InputError(problems)
    return tuple(scenes.values())


def write_scenes(scenes: Iterable[Scene], path: str | Path) -> None:
    """Write scenes in the format that `read_scenes` reads. If writing fails, no partial file remains."""
    with replacing(path) as beside, beside.open("w", encoding="utf-8", newline="\n") as file:
        for scene in scenes:
            file.write(scene.model_dump_json() + "\n")


def _lines(path: Path) -> list[str]:
    try:
        data = path.read_bytes()
        if data.startswith(_PARQUET):
            raise InputError([_of_another_format(path, "a Parquet file")])
        # Do not use splitlines: a JSON string may contain other line separators, such as U+2028, unescaped.
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    except FileNotFoundError:
        raise InputError([Problem(str(path), None, "file", "nothing there", "a scenes file (JSON Lines)")]) from None
    except (UnicodeDecodeError, OSError) as error:
        raise InputError([Problem(str(path), None, "file", str(error), "a readable text file in UTF-8")]) from error


def _is_csv(lines: list[str]) -> bool:
    """Return whether the first line is a CSV header: names and separators, and not the start of JSON."""
    first = next((line.strip() for line in lines if line.strip()), "")
    return re.fullmatch(r"""["\w][^{}\[\]]*[,;\t][^{}\[\]]*""", first) is not None


def _of_another_format(path: Path, actual: str) -> Problem:
    expected = (
        "scenes as JSON Lines, such as a dataset's scenes.jsonl; files of predictions are given as PATH, "
        "without --scenes"
    )
    return Problem(str(path), None, "file", actual, expected)


def _problem(path: Path, line: int, detail: object) -> Problem:
    assert isinstance(detail, dict)
    field = ".".join(str(part) for part in detail["loc"]) or "line"
    actual = "nothing" if detail["type"] == "missing" else json.dumps(detail["input"], default=str)[:80]
    return Problem(str(path), line, field, actual, detail["msg"].removeprefix("Value error, "))

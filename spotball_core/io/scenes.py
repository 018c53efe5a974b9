"""Read and write `scenes.jsonl`, one scene per line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from spotball_core.error_codes import Code
from spotball_core.errors import InputError, Problem, unreadable_text
from spotball_core.schema.checks import path_of
from spotball_core.schema.faults import problems_of_record
from spotball_core.schema.scene import Scene
from spotball_core.service.files import replacing
from spotball_core.service.json_file import RepeatedKeyError, parse_json
from spotball_core.service.paths import confined, file_fault

SCENES = "scenes.jsonl"
"""The name of a dataset's file of scenes."""

_MOST_PROBLEMS = 10_000
"""Number of problems after which reading stops: a file with more of them probably does not contain scenes."""

_PARQUET, _GZIP = b"PAR1", b"\x1f\x8b"


def read_scenes(path: str | Path) -> tuple[Scene, ...]:
    """Return all scenes of a file.

    Raises:
        InputError: if the file cannot be read, a line is not a scene, or a combination of sport and image occurs twice.
            Reading stops after 10,000 problems.
    """
    path = path_of("scenes", path)
    lines = _lines(path)
    if _is_csv(lines):
        raise InputError([_of_another_format(path, "a CSV file")])
    if lines[0].lstrip().startswith("["):
        fix = "Write one scene per line. Remove the brackets around the list and the commas between scenes"
        raise InputError.of("invalid-json", path, "file", "a JSON list", "JSON Lines", line=1, fix=fix)
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
            problems.append(Problem("duplicate", str(path), number, "line", str(error), "each key once"))
            continue
        except ValueError:
            pass  # Validation reports the problem, with its place in the line.
        try:
            scene = Scene.model_validate_json(line)
        except ValidationError as error:
            problems.extend(problems_of_record(error, str(path), number, model=Scene))
            continue
        if scene.key in scenes:
            actual = f"a second scene {scene.sport}/{scene.image} (the first is on line {first_line[scene.key]})"
            problems.append(
                Problem("duplicate", str(path), number, "image", actual, "each combination of `sport` and `image` once")
            )
            continue
        scenes[scene.key], first_line[scene.key] = scene, number
    if not scenes and not problems:
        problems.append(Problem("no-data", str(path), None, "file", "no scenes", "at least one"))
    if problems:
        raise InputError(problems)
    return tuple(scenes.values())


def write_scenes(scenes: Iterable[Scene], path: str | Path) -> None:
    """Write scenes in the format that `read_scenes` reads. If writing fails, no partial file remains."""
    with replacing(path) as beside, beside.open("w", encoding="utf-8", newline="\n") as file:
        for scene in scenes:
            file.write(scene.model_dump_json() + "\n")


def _lines(path: Path) -> list[str]:
    if path.name == SCENES and path.is_symlink():
        # A dataset of another person must not read other files of this machine.
        confined(path.parent, path.name, field="file")
    fault = file_fault(path)
    if fault is not None and not path.is_dir() and path.exists():
        raise InputError.of("wrong-file", path, "file", fault, "a scenes file (JSON Lines)")
    try:
        data = path.read_bytes()
        if data.startswith(_PARQUET):
            raise InputError([_of_another_format(path, "a Parquet file")])
        if data.startswith(_GZIP):
            fix = "Unpack the file and retry"
            raise InputError.of("unreadable-file", path, "file", "a compressed file", "text in UTF-8", fix=fix)
        # Do not use splitlines: a JSON string may contain other line separators, such as U+2028, unescaped.
        return data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    except FileNotFoundError:
        is_of_dataset = path.name == SCENES
        fix = "Use a dataset folder that contains scenes.jsonl" if is_of_dataset else "Check the path"
        problem = Problem(
            "missing-file", str(path), None, "file", "no such file", "a scenes file (JSON Lines)", fix=fix
        )
        raise InputError([problem]) from None
    except (IsADirectoryError, NotADirectoryError):
        code: Code
        code, actual, fix = (
            ("wrong-file", "a folder", "Give the path of the file scenes.jsonl in this folder")
            if path.is_dir()
            else ("missing-file", "no such file", "Use a dataset folder")
        )
        raise InputError.of(code, path, "file", actual, "a scenes file (JSON Lines)", fix=fix) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([unreadable_text(str(path), error)]) from error


def _is_csv(lines: list[str]) -> bool:
    """Return whether the first line is a CSV header: names and separators, and not the start of JSON."""
    first = next((line.strip() for line in lines if line.strip()), "")
    return re.fullmatch(r"""["\w][^{}\[\]]*[,;\t][^{}\[\]]*""", first) is not None


def _of_another_format(path: Path, actual: str) -> Problem:
    expected = "a scenes file (JSON Lines), such as the scenes.jsonl of a dataset"
    fix = "Give the prediction files before --scenes, and the scenes file after it"
    return Problem("wrong-file", str(path), None, "file", actual, expected, fix=fix)

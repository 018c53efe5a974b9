"""Restore scenes.jsonl, images and responses from the Parquet files of a repository."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from spotball_core.error_codes import Code
from spotball_core.errors import InputError
from spotball_core.io.dataset import SCENES
from spotball_core.schema.faults import record_of_json
from spotball_core.schema.scene import Scene
from spotball_core.service.paths import confined
from spotball_core.service.unpacked_size import check_parquet_size
from spotball_gen.dataset.exports.columns import IMAGE_COLUMN, Column
from spotball_gen.hub.manifest import is_visible
from spotball_gen.hub.tables import LINE, POSITION

MOST_BYTES = 2 * 10**9
"""Maximum size of a Parquet file in bytes. All rows of a file are in memory at once. `push` writes at most 0.3 GB of
images to a file."""


def restore_scenes(files: Sequence[Path], folder: Path) -> None:
    """Write the images of a dataset, then its scenes.jsonl.

    Args:
        files: the files data/*.parquet.
        folder: the new dataset's folder.

    Raises:
        InputError: if a Parquet file is too large or does not have the columns that `push` writes, if lines are
            missing, if a line is not a scene, or if an image's path is unsafe or used for two images.
    """
    lines: dict[int, str] = {}
    written: dict[str, bytes] = {}
    for file in files:
        for row in _rows(file, (IMAGE_COLUMN, POSITION, LINE)):
            line = _line(file, row, lines)
            image = row["image"]
            if image is None or image["bytes"] is None:
                continue
            path = _image_path(file, line, row["position"])
            digest = hashlib.sha256(image["bytes"]).digest()
            if path not in written:
                write_new(folder, path, image["bytes"])
                written[path] = digest
            elif written[path] != digest:
                raise _refused("duplicate", file, "path", f"two images for {path!r}", "one image")
    write_new(folder, SCENES, _in_order(lines, SCENES))


def restore_lines(files: Sequence[Path], folder: Path, name: str) -> None:
    """Write a file of responses.

    Args:
        files: the Parquet files with the lines of the file.
        folder: the new dataset's folder.
        name: name of the file of responses.

    Raises:
        InputError: if a Parquet file is too large or does not have the columns that `push` writes, or if lines are
            missing.
    """
    lines: dict[int, str] = {}
    for file in files:
        for row in _rows(file, (POSITION, LINE)):
            _line(file, row, lines)
    write_new(folder, name, _in_order(lines, name))


def write_new(folder: Path, name: str, content: bytes) -> None:
    """Write a new file. Raise InputError if a file or folder with this name exists or if the path is unsafe."""
    place = confined(folder, name)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("xb") as file:
            file.write(content)
    except (FileExistsError, NotADirectoryError, IsADirectoryError):
        raise InputError.of(
            "duplicate", name, "path", "another file or folder at this path", "a different path for each file"
        ) from None


def _rows(file: Path, columns: Sequence[Column]) -> Iterator[dict[str, Any]]:
    size = file.stat().st_size
    if size > MOST_BYTES:
        raise _refused("too-large", file, "file", f"{size:,} bytes", f"at most {MOST_BYTES:,} bytes")
    try:
        check_parquet_size(file)
    except InputError as error:
        raise InputError(replace(problem, file=file.name) for problem in error.problems) from None
    names = [column.name for column in columns]
    try:
        # Pass an open file, because Polars would interpret brackets and stars in its name as a pattern.
        with file.open("rb") as content:
            frame = pl.read_parquet(content, columns=names, hive_partitioning=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)[:200]
        raise _refused(
            "unreadable-file", file, "file", reason, f"a Parquet file with the columns {', '.join(names)}"
        ) from error
    # A long text that many rows share is stored only once in the file.
    if (unpacked := frame.estimated_size()) > MOST_BYTES:
        raise _refused("too-large", file, "file", f"rows of {unpacked:,} bytes", f"at most {MOST_BYTES:,} bytes")
    for column in columns:
        if frame.schema[column.name] != column.dtype:
            raise _refused("invalid-value", file, column.name, str(frame.schema[column.name]), str(column.dtype))
    return frame.iter_rows(named=True)


def _line(file: Path, row: dict[str, Any], lines: dict[int, str]) -> str:
    """Return the JSON line that a table row contains, and store it in `lines` under its position. Raise InputError if
    the text is not a single line, or if its position is missing or already used."""
    position, line = row["position"], row["line"]
    if position is None or position in lines:
        expected = "each position once"
        if position is None:
            raise _refused("missing-value", file, "position", "null", expected)
        raise _refused("duplicate", file, "position", f"{position} again", expected)
    if line is None or "\n" in line or "\r" in line:
        raise _refused("invalid-value", file, "line", repr(line)[:80], "one line of text")
    lines[position] = line
    return str(line)


def _in_order(lines: dict[int, str], name: str) -> bytes:
    places = sorted(lines)
    if places != list(range(len(places))):
        raise InputError.of(
            "missing-value", name, "position", "missing positions", "the positions 0, 1, 2, ... without gaps"
        )
    return "".join(f"{lines[place]}\n" for place in places).encode()


def _image_path(file: Path, line: str, position: int) -> str:
    path = record_of_json(Scene, line, file.name, where=f"row {position}").path
    if path is None or not is_visible(path):
        expected = "the path of an image, without hidden folders and files"
        raise _refused("invalid-path", file, "path", repr(path)[:80], expected)
    return path


def _refused(code: Code, file: Path, field: str, found: str, expected: str) -> InputError:
    return InputError.of(code, file.name, field, found, expected)

"""Opening response files: by their ending, lazily, every column as text, and where a record stands in its file."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from spotball_core.errors import SHOWN_PROBLEMS, InputError, Problem
from spotball_core.io.frames import COLUMNS

if TYPE_CHECKING:
    import polars as pl

ANSWERS = ("cell", "x", "y", "row", "col", "probabilities")
"""Columns that say an answer: a cell; a point in pixels; a row and a column from 1; a distribution."""

READ = (*COLUMNS[:7], *ANSWERS)
"""Columns that change a number. Others, such as `reasoning`, are passed over."""

JSON_LINES = (".jsonl", ".ndjson")
ENDINGS = (*JSON_LINES, ".csv", ".parquet")

_PEEK = 100


def open_source(path: Path) -> pl.LazyFrame:
    """A file's columns of `READ` as it has them, as text, with the record's number from 0 as `_record`.

    Raises:
        InputError: if there is no such file, its ending is not known, or its columns cannot be responses.
    """
    import polars as pl

    if path.suffix not in ENDINGS:
        raise _broken(path, f"a file ending in {path.suffix or 'nothing'}", f"one ending in {', '.join(ENDINGS)}")
    if not path.is_file():
        raise _broken(path, "nothing there", "a file of responses")
    if path.stat().st_size == 0:
        raise _broken(path, "an empty file", "at least one response")
    try:
        if path.suffix in JSON_LINES:
            _check_columns(str(path), _json_keys(path))
            return pl.scan_ndjson(path, schema=dict.fromkeys(READ, pl.String), row_index_name="_record")
        if path.suffix == ".csv":
            frame = pl.scan_csv(path, infer_schema=False, row_index_name="_record")
        else:
            frame = pl.scan_parquet(path, row_index_name="_record")
        return as_text(frame, str(path))
    except pl.exceptions.PolarsError as error:
        raise unreadable(path, error) from error


def as_text(frame: pl.LazyFrame, name: str) -> pl.LazyFrame:
    """The columns of `READ` that a frame has, as text (distributions as they are), and its `_record` numbers."""
    import polars as pl

    schema = frame.collect_schema()
    if "_record" not in schema:
        frame = frame.with_row_index("_record")
    _check_columns(name, schema.names())

    def text(column: str) -> pl.Expr:
        dtype = schema[column]
        if isinstance(dtype, pl.Struct):
            return pl.col(column).struct.json_encode()
        if column == "probabilities" and dtype.is_nested():
            return pl.col(column).cast(pl.List(pl.Float64))
        return pl.col(column).cast(pl.String)

    return frame.select("_record", *(text(column) for column in READ if column in schema))


def unreadable(path: Path, error: Exception) -> InputError:
    """What to say of a file that Polars could not read: its broken lines, if they can be found."""
    problems: list[Problem] = []
    total = 0
    finder = _broken_json if path.suffix in JSON_LINES else _ragged_csv if path.suffix == ".csv" else None
    if finder is not None:
        for problem in finder(path):
            total += 1
            if len(problems) < SHOWN_PROBLEMS:
                problems.append(problem)
    if problems:
        return InputError(problems, total)
    return _broken(path, str(error).splitlines()[0], f"a readable {path.suffix.lstrip('.')} file")


def line_numbers(path: Path, records: Iterable[int]) -> dict[int, int]:
    """The line, from 1, on which each record (from 0) starts; in Parquet, the row's number from 1."""
    wanted = set(records)
    last = max(wanted, default=-1)
    if path.suffix in JSON_LINES:
        filled = (number for number, line in enumerate(_text_lines(path), start=1) if line.strip())
        return {record: line for record, line in enumerate(islice(filled, last + 1)) if record in wanted}
    if path.suffix == ".csv":
        lines = {}
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            next(reader, None)
            start = reader.line_num + 1
            for record, _ in enumerate(islice((row for row in reader if row), last + 1)):
                if record in wanted:
                    lines[record] = start
                start = reader.line_num + 1
        return lines
    return {record: record + 1 for record in wanted}


def _check_columns(name: str, columns: Iterable[str]) -> None:
    found = [column for column in columns if column != "_record"]
    problems = []

    def wrong(field: str, what: str, expected: str) -> None:
        problems.append(Problem(name, None, field, what, expected))

    # A misspelt column would be passed over and change the numbers in silence.
    for column in found:
        if column not in READ and column not in COLUMNS:
            missing = [known for known in READ if known not in found and len(known) > 2]
            if close := get_close_matches(column, missing, n=1, cutoff=0.8):
                wrong(column, "a column that is not read", f"{close[0]}, if that is meant; else another name")
    listed = ", ".join(found) or "none"
    if "image" not in found:
        wrong("image", f"the columns {listed}", "a column image")
    for one, other in (("x", "y"), ("y", "x"), ("row", "col"), ("col", "row")):
        if one in found and other not in found:
            wrong(other, f"{one} without {other}", "both")
    if not any(answer in found for answer in ANSWERS):
        wrong("cell", f"the columns {listed}", "an answer: cell; or x and y; or row and col; or probabilities")
    if problems:
        raise InputError(problems)


def _json_keys(path: Path) -> list[str]:
    """Names of the first records' fields; a broken line is left for the reader to report."""
    keys: dict[str, None] = {}
    for line in islice(_text_lines(path), _PEEK):
        try:
            record = json.loads(line) if line.strip() else {}
        except ValueError:
            continue
        keys.update(dict.fromkeys(record if isinstance(record, dict) else {}))
    return list(keys) or ["image", "cell"]


def _text_lines(path: Path) -> Iterable[str]:
    with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as file:
        yield from file


def _broken_json(path: Path) -> Iterable[Problem]:
    for number, line in enumerate(_text_lines(path), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            yield Problem(str(path), number, "line", f"{line.strip()[:60]!r} ({error})", "a JSON object")
        else:
            if not isinstance(record, dict):
                yield Problem(str(path), number, "line", f"{line.strip()[:60]!r}", "a JSON object")


def _ragged_csv(path: Path) -> Iterable[Problem]:
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        reader = csv.reader(file)
        width = len(next(reader, []))
        start = reader.line_num + 1
        for row in reader:
            if len(row) > width:
                yield Problem(str(path), start, "line", f"{len(row)} fields", f"{width}, as in the header")
            start = reader.line_num + 1


def _broken(path: Path, found: str, expected: str) -> InputError:
    return InputError([Problem(str(path), None, "file", found, expected)])

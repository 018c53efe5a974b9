"""Read records from JSON Lines, JSON, CSV, TSV, Excel, Parquet and Inspect files. Text files may be gzipped."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spotball_core.error_codes import Code
from spotball_core.errors import InputError, MissingExtraError, Problem, unreadable_text
from spotball_core.service.json_file import parse_json
from spotball_core.service.unpacked_size import MOST_BYTES, check_parquet_size, check_zip_size

ENDINGS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".xlsx", ".parquet", ".eval")
"""Supported file extensions. The names of compressed text files end in `.gz` in addition, such as `.csv.gz`."""

_BINARY = (".xlsx", ".parquet", ".eval")

LISTS = ("samples", "results", "predictions", "responses", "data", "rows")
"""Keys that may contain the list of records, if a JSON file contains an object."""


@dataclass(frozen=True, slots=True)
class FileRecords:
    """The records of a file.

    Attributes:
        path: the file.
        rows: each record with its number: the line of a text file, the row of an Excel sheet, or in JSON, Parquet and
            Inspect files the position in the list of records. All are counted from 1.
        head: the other fields of the object that contains the records, for JSON and Inspect files; otherwise empty.
    """

    path: Path
    rows: list[tuple[int, dict[str, Any]]]
    head: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Return the file's name without `.gz` and without the file extension."""
        stem = self.path.name.removesuffix(".gz")
        return stem[: -len(Path(stem).suffix)] if Path(stem).suffix else stem


def read_records(path: Path) -> FileRecords:
    """Read the records of a file.

    Raises:
        InputError: if the file is missing, has an unsupported extension, cannot be read, or contains no records.
        MissingExtraError: if the extra `excel` (for Excel files) or `inspect` (for .eval files) is not installed.
    """
    ending = Path(path.name.removesuffix(".gz")).suffix.lower()
    if path.suffix == ".gz" and ending in _BINARY:
        raise _broken(
            "unreadable-file", path, f"a compressed {ending} file", f"a {ending} file. Unpack the file and retry"
        )
    if ending not in ENDINGS:
        raise _broken(
            "wrong-file", path, f"the extension {path.suffix!r}", f"one of the extensions {', '.join(ENDINGS)}"
        )
    if not path.is_file():
        raise _broken("missing-file", path, "no such file", "a file of replies")
    head: dict[str, Any] = {}
    try:
        if ending == ".parquet":
            rows = _parquet(path)
        elif ending == ".xlsx":
            rows = _excel(path)
        elif ending == ".eval":
            rows, head = _listed(path, _inspect_log(path))
        elif ending == ".json":
            rows, head = _listed(path, _json(path, _text(path)))
        elif ending in (".csv", ".tsv"):
            rows = list(_table(path, _text(path), "\t" if ending == ".tsv" else ","))
        else:
            rows = list(_json_lines(path, _text(path)))
    except OSError as error:
        raise _broken("unreadable-file", path, str(error), "a readable file") from error
    if not rows:
        raise _broken("no-data", path, "no records", "at least one reply")
    return FileRecords(path, rows, head)


def _text(path: Path) -> str:
    content = path.read_bytes()
    if path.suffix == ".gz":
        try:
            with gzip.open(io.BytesIO(content)) as file:
                content = file.read(MOST_BYTES + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise _broken("unreadable-file", path, str(error), "a file compressed with gzip") from error
        if len(content) > MOST_BYTES:
            raise _broken(
                "too-large",
                path,
                f"more than {MOST_BYTES:,} bytes after unpacking",
                f"at most {MOST_BYTES:,} bytes. Split the file",
            )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError([unreadable_text(str(path), error)]) from error


def _json_lines(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    problems = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = parse_json(line, finite=False)
        except ValueError as error:
            problems.append(
                Problem("invalid-json", str(path), number, "line", f"{line[:60]!r} ({error})", "a JSON object")
            )
            continue
        if isinstance(record, dict):
            yield number, record
        else:
            problems.append(Problem("invalid-json", str(path), number, "line", f"{line[:60]!r}", "a JSON object"))
    if problems:
        raise InputError(problems)


def _json(path: Path, text: str) -> Any:
    try:
        return parse_json(text, finite=False)
    except ValueError as error:
        raise _broken("invalid-json", path, str(error), "JSON") from error


def _inspect_log(path: Path) -> Any:
    try:
        from inspect_ai.log import read_eval_log
    except ImportError as error:
        raise MissingExtraError("Reading .eval logs of Inspect", "inspect") from error
    check_zip_size(path)
    try:
        return read_eval_log(str(path)).model_dump(mode="json")
    except Exception as error:
        # Inspect raises many kinds of errors for bytes that are not a log.
        raise _broken("unreadable-file", path, f"{type(error).__name__}: {error}", "a log of Inspect") from error


def _listed(path: Path, value: Any) -> tuple[list[tuple[int, dict[str, Any]]], dict[str, Any]]:
    """Return the numbered records of a JSON file, and the other fields of its object."""
    head: dict[str, Any] = {}
    if isinstance(value, dict):
        key = next((key for key in LISTS if isinstance(value.get(key), list)), None)
        if key:
            head = {name: part for name, part in value.items() if name != key}
            value = value[key]
        else:
            # An object that maps ids to records or replies.
            value = [_with_id(name, part) for name, part in value.items()]
    if not isinstance(value, list) or not all(isinstance(record, dict) for record in value):
        raise _broken(
            "wrong-file",
            path,
            "JSON without a list of objects",
            f"a list of objects, or such a list in the key {' or '.join(f'`{key}`' for key in LISTS)}",
        )
    return list(enumerate(value, start=1)), head


def _with_id(name: str, part: Any) -> dict[str, Any]:
    return {"id": name, **(part if isinstance(part, dict) else {"reply": part})}


def _table(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, dict[str, Any]]]:
    # A reply may be longer than the default limit of the csv module.
    limit = csv.field_size_limit(2**31 - 1)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 2
    try:
        for record in reader:
            if None in record or None in record.values():
                actual = f"a record with too {'many' if None in record else 'few'} fields"
                raise _broken(
                    "invalid-csv", path, actual, f"{len(reader.fieldnames or ())} fields, as in the header", line
                )
            yield line, record
            line = reader.line_num + 1
    except csv.Error as error:
        raise _broken("unreadable-file", path, str(error), "a table in CSV or TSV", line) from error
    finally:
        csv.field_size_limit(limit)


def _excel(path: Path) -> list[tuple[int, dict[str, Any]]]:
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtraError("Reading Excel files", "excel") from error
    check_zip_size(path)
    try:
        with closing(openpyxl.load_workbook(path, read_only=True, data_only=True)) as book:
            rows = [tuple(row) for row in book.worksheets[0].iter_rows(values_only=True)]
    except Exception as error:
        # The library raises many kinds of errors for bytes that are not a workbook.
        raise _broken("unreadable-file", path, f"{type(error).__name__}: {error}", "an Excel workbook") from error
    names = rows[0] if rows else ()
    return [
        (number, {str(name): value for name, value in zip(names, row, strict=False) if name is not None})
        for number, row in enumerate(rows[1:], start=2)
        if any(value is not None for value in row)
    ]


def _parquet(path: Path) -> list[tuple[int, dict[str, Any]]]:
    import polars as pl

    check_parquet_size(path)
    try:
        frame = pl.read_parquet(path, hive_partitioning=False, glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise _broken("unreadable-file", path, str(error).partition("\n")[0], "a Parquet file") from error
    return list(enumerate(frame.iter_rows(named=True), start=1))


def _broken(code: Code, path: Path, actual: str, expected: str, line: int | None = None) -> InputError:
    return InputError.of(code, path, "file", actual, expected, line=line)

"""Read records from JSON files, Python dictionaries, and mappings from image id to answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from spotball_core.errors import InputError, Problem, unreadable_text
from spotball_core.interchange import array_of_tensor
from spotball_core.service.json_file import parse_json

if TYPE_CHECKING:
    import polars as pl

CELLS_NOT_INDICES = "labels such as D5. Convert each index to its label with `Grid.labels`"
"""What is expected instead of numbers in the column `cell`, and what to do."""

LIST_OF_RECORDS = 'Write a list of records, such as [{"image": "1", "cell": "D5"}], or an object, such as {"1": "D5"}'

_LIST_LIKE = (list, tuple, np.ndarray)


@dataclass(frozen=True)
class Records:
    """Records of one source.

    Attributes:
        name: the source's name in error messages.
        rows: the number of each record, from 0, and its values by key. Records that come from one entry of a mapping
            have the same number.
    """

    name: str
    rows: Sequence[tuple[int, Mapping[str, Any]]]

    @cached_property
    def shapes(self) -> dict[tuple[str, ...], int]:
        """Each distinct sequence of a record's keys, with the first record (from 1) that has it."""
        shapes: dict[tuple[Any, ...], int] = {}
        for number, row in self.rows:
            shapes.setdefault(tuple(row), number + 1)
        return {tuple(map(str, keys)): number for keys, number in shapes.items()}

    @property
    def keys(self) -> list[str]:
        """All keys, in the order in which they first occur."""
        return list(dict.fromkeys(chain.from_iterable(self.shapes)))


def json_records(path: Path) -> Records:
    """Return the records of a JSON file: a list of records, or one object from image id to answer.

    Raises:
        InputError: if the file cannot be read or has other content, with the number of the record as the line.
    """
    content = json_table(path, "responses")
    if isinstance(content, dict):
        return records_of_answers(content, str(path))
    return Records(str(path), list(enumerate(content)))


def json_table(path: Path, what: str) -> list[dict[str, Any]] | dict[str, Any]:
    """Return the content of a JSON file: a list of records, or an object with a value for each image.

    Args:
        path: the file.
        what: the expected content, for error messages.

    Raises:
        InputError: if the file cannot be read, has a repeated key or has other content.
    """
    expected = f"{what}: a list of records, or an object with an entry for each image"
    try:
        content = parse_json(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError([unreadable_text(str(path), error)]) from error
    except json.JSONDecodeError as error:
        fix = "If the file has one object per line, rename it so that its name ends in .jsonl"
        raise InputError.of("invalid-json", path, "file", error.msg, "valid JSON", line=error.lineno, fix=fix) from None
    except ValueError as error:
        raise InputError.of("invalid-json", path, "file", str(error), "valid JSON") from None
    if isinstance(content, list) and content:
        others = [number for number, record in enumerate(content, start=1) if not isinstance(record, dict)]
        if others:
            raise InputError(
                Problem(
                    "invalid-value",
                    str(path),
                    number,
                    "record",
                    _shown(content[number - 1]),
                    "an object",
                    fix=LIST_OF_RECORDS,
                )
                for number in others
            )
        return content
    if isinstance(content, dict) and content:
        check_entries(content, str(path), expected)
        return content
    raise InputError.of("wrong-file", path, "file", _shown(content), expected, fix=LIST_OF_RECORDS)


def check_entries(entries: Mapping[Any, Any], name: str, expected: str = "an entry for each image") -> None:
    """Raise InputError for a mapping that is a score report, a single record or a mapping of columns."""
    if "schema_version" in entries and "groups" in entries:
        fix = "A report of `spotball score` does not contain responses. Give the file of responses"
        raise InputError.of("wrong-file", name, "file", "a report of `spotball score`", expected, fix=fix)
    if "image" in entries and len(entries) > 1:
        listed = ", ".join(str(key) for key in list(entries)[:10])
        problem = Problem(
            "wrong-file", name, None, "file", f"an object with the keys {listed}", expected, fix=LIST_OF_RECORDS
        )
        raise InputError([problem])


def records_of_answers(answers: Mapping[Any, Any], name: str) -> Records:
    """Return the records of a mapping from image id to answer.

    An answer is a label, None for an unparsed response, a list of labels for several samples, or a distribution: a
    mapping from label to probability, or an array with one number per cell or of rows x columns.

    Raises:
        InputError: if the mapping or an answer is empty, or the mapping has other content.
    """
    check_entries(answers, name)
    rows: list[tuple[int, Mapping[str, Any]]] = []
    empty = []
    for number, (image, answer) in enumerate(answers.items()):
        answer = array_of_tensor(answer)
        if isinstance(answer, np.ndarray) and answer.ndim == 0:
            answer = answer.item()
        if isinstance(answer, _LIST_LIKE) and not len(answer):
            empty.append(number)
        elif isinstance(answer, _LIST_LIKE) and all(value is None or isinstance(value, str) for value in answer):
            samples = ({"image": image, "cell": cell, "sample": place} for place, cell in enumerate(answer, start=1))
            rows.extend((number, sample) for sample in samples)
        elif isinstance(answer, (*_LIST_LIKE, Mapping)):
            rows.append((number, {"image": image, "probabilities": answer}))
        else:
            rows.append((number, {"image": image, "cell": answer}))
    if empty:
        expected, fix = "at least one label", "Write null for an answer without a cell, or remove the image"
        raise InputError(
            Problem("invalid-value", name, number + 1, "cell", "an empty list", expected, fix=fix) for number in empty
        )
    if not rows:
        raise InputError.of("no-data", name, "file", "no responses", "an answer for each image")
    return Records(name, rows)


def table_of_records(records: Records, columns: Mapping[str, str]) -> pl.DataFrame:
    """Return columns of records as text, and the number of each record in `_record`.

    Distributions that are all lists of numbers become lists; other distributions become JSON text.

    Args:
        records: the records.
        columns: the keys to read, with the names under which readers use them.

    Raises:
        InputError: for values that cannot be converted to text.
    """
    import polars as pl

    table = {"_record": pl.Series([number for number, _ in records.rows], dtype=pl.UInt32)}
    for column, name in columns.items():
        values = [row.get(column) for _, row in records.rows]
        series = _lists(values) if name == "probabilities" else _plain_column(values)
        table[column] = _texts(records, name, values) if series is None else series
    return pl.DataFrame(table)


def is_missing(value: object) -> bool:
    """Return whether a value stands for a missing one: None, NaN, or the missing value of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, (float, np.floating)) and bool(np.isnan(value))


def text_of(value: Any) -> str | None:
    """Return a value as text, None for a missing value. Lists, mappings and arrays become JSON.

    Raises:
        TypeError: for values that have no form in JSON.
        ValueError: for values that contain themselves.

    Examples:
        >>> text_of(7), text_of(7.0), text_of(np.float32(0.5)), text_of(float("nan")), text_of({"D5": 1})
        ('7', '7', '0.5', None, '{"D5": 1}')
    """
    if isinstance(value, str):
        return str(value)
    if is_missing(value):
        return None
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    if isinstance(value, Integral):
        return str(int(value))
    if isinstance(value, Real):
        number = float(value)
        # pandas stores whole numbers as floats if a value of the column is missing.
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
    value = array_of_tensor(value)
    return json.dumps(value, default=_plain) if isinstance(value, (*_LIST_LIKE, Mapping)) else str(value)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _lists(values: Sequence[Any]) -> pl.Series | None:
    """Return distributions as a column of lists; None if they are not all lists of numbers of the same depth."""
    import polars as pl

    lists = [array_of_tensor(value) for value in values]
    lists = [value.tolist() if isinstance(value, np.ndarray) else value for value in lists]
    given = [value for value in lists if value is not None]
    if not all(isinstance(value, (list, tuple)) for value in given):
        return None
    nested = any(isinstance(row, _LIST_LIKE) for value in given[:1] for row in value)
    try:
        return pl.Series(lists, dtype=pl.List(pl.List(pl.Float64) if nested else pl.Float64), strict=True)
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        return None


def _plain_column(values: Sequence[Any]) -> pl.Series | None:
    """Return values that are all text or all integers as a column, because this is fast; None for other values."""
    import polars as pl

    types = set(map(type, values)) - {type(None)}
    if types not in ({str}, {int}):
        return None
    try:
        return pl.Series(values, dtype=pl.String if types == {str} else pl.Int64)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return None  # Very large integers, or text with parts of surrogate pairs.


def _texts(records: Records, name: str, values: Sequence[Any]) -> pl.Series:
    import polars as pl

    texts: list[str | None] = []
    problems = []
    for (number, _), value in zip(records.rows, values, strict=True):
        try:
            text = text_of(value)
            if text is not None and not text.isascii():
                text.encode()  # Polars cannot store parts of surrogate pairs.
            texts.append(text)
        except (TypeError, ValueError, RecursionError) as error:
            problems.append(
                Problem("invalid-value", records.name, number + 1, name, _shown(value), f"text or numbers ({error})")
            )
    if problems:
        raise InputError(problems)
    return pl.Series(texts, dtype=pl.String)


def _shown(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 80 else f"{text[:77]}..."

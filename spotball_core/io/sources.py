"""Open response files lazily, with every column as text, and find the line of each record."""

from __future__ import annotations

import codecs
import glob
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from spotball_core.error_codes import Code
from spotball_core.errors import (
    SHOWN_LINES,
    SHOWN_VALUES,
    InputError,
    OptionError,
    Problem,
    did_you_mean,
    listed_values,
    merged,
    plain,
    unreadable_text,
)
from spotball_core.interchange import ArrowFrame, PolarsDataset, frame_of, is_foreign
from spotball_core.io.column_checks import check_header, check_shapes, doubtful, meant_by, option_for
from spotball_core.io.columns import ANSWERS, PREDICTIONS, REPLIES, ColumnNames
from spotball_core.io.csv_records import read_layout, record_lines
from spotball_core.io.frames import COLUMNS, KEYS
from spotball_core.io.records import Records, json_records, records_of_answers, table_of_records
from spotball_core.schema.record import MOST_SIGNS
from spotball_core.schema.response import PredictionDistribution, Response
from spotball_core.service.json_file import parse_json
from spotball_core.service.json_keys import read_keys
from spotball_core.service.paths import CONTROLS, file_fault
from spotball_core.service.safe_text import csv_restored
from spotball_core.service.unpacked_size import bounded_lines, check_parquet_size

if TYPE_CHECKING:
    import polars as pl

Responses: TypeAlias = (
    str
    | Path
    | ArrowFrame
    | PolarsDataset
    | Sequence[str | Path]
    | Sequence[Response | PredictionDistribution]
    | Sequence[Mapping[str, Any]]
    | Mapping[str, Any]
    | Mapping[int, Any]
)
"""Responses that can be read: paths, a frame, records, dictionaries, or a mapping from image id to answer."""

READ = (*COLUMNS[:7], *ANSWERS)
"""Columns that are read, because they affect scores. Other columns, such as `reasoning`, are ignored."""

NUMBERS = ("sample", "x", "y", "row", "col")
"""Columns of numbers, which are read unchanged if the file stores them as numbers."""

_NAMES = ("sport", "image", "respondent", "prompt", "participant")
"""Columns of text in which `safe_text.csv_cells` may have added apostrophes."""

JSON_LINES = (".jsonl", ".ndjson")
JSON = ".json"
COUNTS_ENDING = ".counts"
"""The ending of counts files."""

ENDINGS = (*JSON_LINES, JSON, ".csv", ".parquet")

_ONE_A_LINE = "Write one object per line. Remove brackets around the list and commas at the ends of lines"

_HEAD, _BLOCK = 4096, 1 << 20
_COMPRESSED = (b"\x1f\x8b", b"x\x01", b"x\x9c", b"x\xda", b"\x28\xb5\x2f\xfd")
"""The first bytes of gzip, zlib and zstd files. A zlib file may otherwise look like text."""

_MISSING = ("na", "n/a", "#n/a", "nan", "none", "null", "")
"""Spellings of a missing number, in lower case."""

_JSON_BLANKS = b" \t\r\n"


@dataclass(frozen=True)
class Source:
    """One source of responses: a file, a frame, or a list of records.

    Attributes:
        name: the source's name in error messages.
        path: the file; None for a frame or records.
        frame: the source's columns that are in `READ`, as `as_text` returns them, and `_record`, the record's number.
    """

    name: str
    path: Path | None
    frame: pl.LazyFrame


def sources_of(responses: object, also: Sequence[str] = (), columns: Mapping[str, str] | None = None) -> list[Source]:
    """Open the responses that a user passes to `read_counts`, with the columns `also` in addition to those of `READ`.

    Args:
        responses: paths, a frame, records, or a mapping from image id to answer.
        also: other columns to read.
        columns: the table's names of columns, by the names that this function uses. A name that is in no table is an
            error, unless `columns` is a `ColumnNames`, whose user checks this after all tables were read.

    Raises:
        InputError: if a file cannot be opened or is given twice, or if columns that responses need are missing.
        OptionError: if `responses` is empty, or is neither paths, nor a frame, nor records; or if `columns` names a
            column that is in no table.
    """
    names = ColumnNames.of(columns)
    sources = _sources(responses, also, names)
    if names is not columns:
        names.check()
    return sources


def _sources(responses: object, also: Sequence[str], columns: ColumnNames) -> list[Source]:
    import polars as pl

    if isinstance(responses, (str, Path)):
        responses = [responses]
    if is_foreign(responses) and not isinstance(responses, pl.DataFrame):
        responses = frame_of(responses)
    if isinstance(responses, pl.DataFrame):
        frame = responses.lazy().drop("_record", strict=False)
        return [Source("frame", None, as_text(frame, "frame", also, columns))]
    if isinstance(responses, Mapping):
        return [_source_of_records(records_of_answers(responses, "records"), also, columns)]
    if not isinstance(responses, Iterable):
        raise OptionError(
            f"found {type(responses).__name__}, expected paths, a data frame, a list of records, or a "
            "mapping from image id to answer",
            code="wrong-type",
            field="responses",
        )
    items = list(responses)
    if not items:
        raise OptionError("found none. Pass at least one path, record or row", code="no-data", field="responses")
    if all(isinstance(item, (str, Path)) for item in items):
        paths = [Path(item) for item in items]
        check_each_once(paths)
        return [Source(str(path), path, open_source(path, also, columns)) for path in paths]
    if all(isinstance(item, Source) for item in items):
        return items
    if all(isinstance(item, (Response, PredictionDistribution)) for item in items):
        return [Source("records", None, as_text(_frame_of(items, also).lazy(), "records", also))]
    if all(isinstance(item, Mapping) for item in items):
        return [_source_of_records(Records("records", list(enumerate(items))), also, columns)]
    raise OptionError(
        "found items of different types. Pass only paths, only records or only dictionaries",
        code="wrong-type",
        field="responses",
    )


def _source_of_records(records: Records, also: Sequence[str], columns: ColumnNames) -> Source:
    return Source(records.name, None, _scan_records(records, also, columns))


def _scan_records(records: Records, also: Sequence[str], columns: ColumnNames) -> pl.LazyFrame:
    _check_columns(records.name, records.keys, columns)
    check_shapes(records.name, records.shapes, columns, READ, COLUMNS)
    wanted = {theirs: ours for theirs, ours in columns.readable(records.keys).items() if ours in (*READ, *also)}
    return as_text(table_of_records(records, wanted).lazy(), records.name, also, columns)


def check_each_once(paths: Sequence[Path]) -> None:
    """Raise InputError if a file is given twice, even under different paths."""
    seen: set[Path] = set()
    twice = []
    for path in paths:
        file = path.resolve()
        if file in seen:
            twice.append(path)
        seen.add(file)
    if twice:
        raise InputError(
            [
                Problem(
                    "duplicate",
                    str(path),
                    None,
                    "file",
                    "a file that was given twice",
                    "each file once",
                    fix="Give it once",
                )
                for path in twice
            ]
        )


def _frame_of(records: list[Response | PredictionDistribution], also: Sequence[str]) -> pl.DataFrame:
    import json

    import polars as pl

    rows = [record.model_dump() for record in records]
    for row, record in zip(rows, records, strict=True):
        if "sport" not in record.model_fields_set:
            row["sport"] = None  # It is found from the image id.
        if "probabilities" in row:
            row["probabilities"] = json.dumps(row["probabilities"])
    fields = (*KEYS, "sample", "participant", "cell", "probabilities", *also)
    columns = {field: [row.get(field) for row in rows] for field in fields}
    return pl.DataFrame(columns, schema_overrides={field: pl.String for field in fields if field != "sample"})


def open_source(path: Path, also: Sequence[str] = (), columns: Mapping[str, str] | None = None) -> pl.LazyFrame:
    """Open a file and return its columns that are in `READ` or `also`, converted by `as_text`.

    The column `_record` is the record's number, from 0.

    Raises:
        InputError: if the file does not exist, its ending is unknown, its records are incomplete, or it lacks columns
            that responses need.
    """
    with reading(path):
        check_file(path, "a file of responses", "at least one response")
        return _scan(path, also, ColumnNames.of(columns))


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Convert the errors of the system and of Polars about a file to InputError, for a `with` statement."""
    import polars as pl

    try:
        yield
    except OSError as error:
        raise _broken("unreadable-file", path, str(error), "a file that can be read") from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise unreadable(path, error) from error


def check_file(path: Path, what: str, content: str) -> None:
    """Raise an error if a file is not a table that can be read.

    Args:
        path: the file.
        what: the kind of file that was expected, for the error message.
        content: what a file with content has.

    Raises:
        InputError: if the file's ending is unknown, or the file is missing, empty, compressed, or not text in UTF-8.
    """
    if not path.exists():
        raise InputError([missing_file(path, what)])
    if path.suffix not in ENDINGS:
        expected = f"a file ending in {', '.join(ENDINGS)}"
        raise _broken(
            "wrong-file", path, f"a file ending in {path.suffix or 'nothing'}", expected, _fix_of_ending(path)
        )
    if fault := file_fault(path):
        fix = "Use a file in this folder" if path.is_dir() else "Save the data in a file"
        raise _broken("wrong-file", path, fault, what, fix)
    if path.stat().st_size == 0:
        raise _broken("no-data", path, "an empty file", content, "Check the program that wrote the file")
    if path.suffix == ".parquet":
        check_parquet_size(path)
    else:
        check_is_text(path)


def _scan(path: Path, also: Sequence[str], columns: ColumnNames) -> pl.LazyFrame:
    import polars as pl

    # Polars would treat brackets and stars in a file's name as a pattern, and read all matching files.
    name = glob.escape(str(path.absolute()))
    if path.suffix in JSON_LINES:
        place = _check_json_keys(path, also, columns)
        content = path.read_bytes()[len(codecs.BOM_UTF8) :] if _has_bom(path) else name
        rows = pl.scan_ndjson(content, schema=dict.fromkeys(place.values(), pl.String), row_index_name="_record")
        if all(ours == theirs for ours, theirs in place.items()):
            return rows
        return rows.select("_record", *(pl.col(theirs).alias(ours) for ours, theirs in place.items()))
    if path.suffix == JSON:
        return _scan_records(json_records(path), also, columns)
    if path.suffix == ".csv":
        frame, apostrophes = scan_csv(path)
        rows = as_text(frame, str(path), also, columns)
        texts = [text for text in (*_NAMES, *also) if text in rows.collect_schema()]
        return rows.with_columns(csv_restored(pl.col(texts))) if apostrophes and texts else rows
    frame = pl.scan_parquet(name, row_index_name="_record", hive_partitioning=False)
    return as_text(frame, str(path), also, columns)


def scan_csv(path: Path) -> tuple[pl.LazyFrame, bool]:
    """Return the records of a CSV file as text, with their number in `_record`, and whether it may have apostrophes.

    Raises:
        InputError: if a record has more or fewer fields than the header, or misplaced quotes.
    """
    import polars as pl

    layout = read_layout(path)
    if layout.problems:
        raise InputError(layout.problems)
    frame = pl.scan_csv(glob.escape(str(path.absolute())), infer_schema=False, row_index_name="_record")
    if layout.blank:
        frame = frame.filter(~pl.col("_record").is_in(layout.blank))
    return frame, layout.apostrophes


def as_text(
    frame: pl.LazyFrame, name: str, also: Sequence[str] = (), columns: Mapping[str, str] | None = None
) -> pl.LazyFrame:
    """Return the columns of a frame that are in `READ` or `also`, and `_record`.

    In the columns `NUMBERS`, integers and 64-bit floats are unchanged. Lists of probabilities become lists of floats,
    or lists of such lists. All other values become text.
    """
    import polars as pl

    schema = frame.collect_schema()
    if "_record" not in schema:
        frame = frame.with_row_index("_record")
    names = ColumnNames.of(columns)
    _check_columns(name, schema.names(), names)
    given = (column for column in schema.names() if column != "_record")
    place = {ours: theirs for theirs, ours in names.readable(given).items()}

    def text(ours: str) -> pl.Expr:
        column, dtype = pl.col(place[ours]), schema[place[ours]]
        if isinstance(dtype, pl.Struct) and ours == "image" and "path" in (part.name for part in dtype.fields):
            # The images of the library datasets: bytes and a path.
            return column.struct.field("path").cast(pl.String)
        if isinstance(dtype, pl.Struct):
            # If encoded, a missing object would become an object of nulls.
            return pl.when(column.is_not_null()).then(column.struct.json_encode())
        if ours == "probabilities" and isinstance(dtype, (pl.List, pl.Array)):
            inner = dtype.inner
            nested = isinstance(inner, (pl.List, pl.Array))
            return column.cast(pl.List(pl.List(pl.Float64) if nested else pl.Float64))
        if ours in NUMBERS and (dtype.is_integer() or dtype == pl.Float64):
            return column
        if ours in (*_NAMES, "cell") and dtype.is_float():
            # A column of whole numbers with missing values, as pandas stores it.
            whole = column.cast(pl.Int64, strict=False).cast(pl.String)
            return pl.when(column == column.floor()).then(whole).otherwise(column.cast(pl.String))
        if ours in NUMBERS and dtype == pl.String:
            # Spellings of missing values.
            return pl.when(~column.str.strip_chars().str.to_lowercase().is_in(_MISSING)).then(column)
        if dtype == pl.List or dtype == pl.Array:
            raise InputError.of("wrong-type", name, ours, "lists", "text or numbers")
        return column.cast(pl.String)

    return frame.select("_record", *(text(ours).alias(ours) for ours in (*READ, *also) if ours in place))


def unreadable(path: Path, error: BaseException) -> InputError:
    """Return the error for a file that Polars could not read, with its broken lines if they can be found."""
    if path.suffix in JSON_LINES and (problems := merged(_broken_json(path))):
        return InputError(problems)
    if path.suffix == ".csv":
        if problems := merged(_not_utf8(path)):
            return InputError(problems)
        if (layout := read_layout(path)).problems:
            return InputError(layout.problems)
    if isinstance(error, UnicodeDecodeError):
        return InputError([unreadable_text(str(path), error)])
    reason = next(iter(str(error).splitlines()), type(error).__name__)
    return _broken("unreadable-file", path, plain(reason, limit=200), f"a readable {path.suffix.lstrip('.')} file")


def line_numbers(path: Path, records: Iterable[int]) -> dict[int, int]:
    """Return the line, from 1, on which each record (from 0) starts.

    In Parquet and JSON files, this is the number of the record, from 1.
    """
    selected = set(records)
    if path.suffix in JSON_LINES:
        last = max(selected, default=-1)
        filled = (number for number, line in enumerate(_lines(path), start=1) if line.strip(_JSON_BLANKS))
        return {record: line for record, line in enumerate(islice(filled, last + 1)) if record in selected}
    if path.suffix == ".csv":
        return record_lines(path, selected)
    return {record: record + 1 for record in selected}


def problems_of(name: str, path: Path | None, faults: pl.DataFrame) -> list[Problem]:
    """Return the problems of the faulty records of a source: one problem per field and expected value.

    Args:
        name: the source's name in messages.
        path: the source's file; None for a frame or records.
        faults: `_record`, `code`, `field`, `found` and `expected` of each record.
    """
    import polars as pl

    causes = (
        faults.sort("_record")
        .group_by("code", "field", "expected", maintain_order=True)
        .agg(
            n=pl.len(),
            records=pl.col("_record").head(SHOWN_LINES),
            # Keep one value more than is shown, to know that there are more.
            values=pl.col("found").unique(maintain_order=True).head(SHOWN_VALUES + 1),
        )
    )
    lines = line_numbers(path, causes["records"].explode()) if path else {}
    problems = []
    for code, field, text, n, records, values in causes.iter_rows():
        expected, _, fix = text.partition(". ")
        first = tuple(lines.get(record, record + 1) for record in records)
        actual = listed_values([plain(value, 200) for value in values])
        problems.append(Problem(code, name, first[0], field, actual, plain(expected, 400), n, first, plain(fix, 400)))
    return problems


def not_a_name(text: pl.Expr) -> pl.Expr:
    """Return an expression: whether a text has control characters or is too long for a `Name`; null for null."""
    return text.str.contains(f"[{CONTROLS}]") | (text.str.len_chars() > MOST_SIGNS)


def _check_columns(name: str, columns: Iterable[str], names: ColumnNames) -> None:
    """Raise InputError if a table lacks columns that responses need, or has doubtful ones.

    Args:
        name: the name of the table.
        columns: its columns, as the file names them.
        names: the names of columns that the user has given.
    """
    given = [column for column in columns if column != "_record"]
    check_header(name, given)
    present = list(names.readable(given).values())
    problems = []

    def wrong(field: str, actual: str, expected: str, fix: str = "") -> None:
        problems.append(Problem("missing-column", name, None, field, actual, expected, fix=fix))

    listed = plain(", ".join(given), limit=200) or "none"
    meant = meant_by(present, READ, COLUMNS)
    no_image = "image" not in present and "image" not in meant
    no_answer = not any(answer in present or answer in meant for answer in ANSWERS)
    missing = [*["image"] * no_image, *["cell"] * no_answer]
    option = option_for(present, names, dict(zip(missing, missing, strict=True)), READ, COLUMNS)
    lower = {column.strip().lower(): column for column in given}
    for ours, spellings in PREDICTIONS.items():
        other = next((lower[spelling] for spelling in spellings if spelling in lower), None)
        if ours in present and ours not in names and other is not None and other not in names.values():
            fix = f"{names.option({ours: other})} to read that column, or {ours}={ours}"
            problems.append(
                Problem("ambiguous-name", name, None, ours, f"the columns {ours} and {other}", "one answer", fix=fix)
            )
    if {"x", "y", "width", "height"} <= {*present} and "x" not in names:
        found, expected = "the columns x, y, width and height, which may be a box", "points: x and y in pixels"
        fix = "If x and y are points, add --columns x=x. Otherwise, write the center of the box as x and y"
        problems.append(Problem("ambiguous-name", name, None, "x, y", found, expected, fix=fix))
    problems += doubtful(name, present, READ, COLUMNS, fix=option.replace("Add", "Or add", 1))
    if no_image:
        fix = option or "Rename the column that contains the image ids to `image`"
        wrong("image", f"the columns {listed}", "a column `image`", fix)
    for first, second in (("x", "y"), ("y", "x"), ("row", "col"), ("col", "row")):
        if first in present and second not in present:
            wrong(second, f"a column {first} without a column {second}", f"both columns. Add the column {second}")
    if no_answer:
        expected = "one of the columns `cell`, `probabilities`, `x` and `y`, or `row` and `col`"
        fix = option or "Rename the column that contains the answers"
        if reply := next((column for column in given if column.strip().lower() in REPLIES), None):
            cells = f" If it contains cells, add --columns cell={reply}" if option else ""
            fix = f"Extract the cells from the replies: spotball parse {name} --reply {reply}.{cells}"
        wrong("cell", f"the columns {listed}", expected, fix)
    if problems:
        raise InputError(problems)


def _check_json_keys(path: Path, also: Sequence[str], names: ColumnNames) -> dict[str, str]:
    """Check the keys of a JSON Lines file, and return the key of each column that is read.

    Raises:
        InputError: if a record has a repeated or misspelled key, or if the file lacks keys that responses need.
    """
    keys = read_keys(path)
    if keys.repeated:
        raise InputError(keys.repeated)
    columns = list(dict.fromkeys(chain.from_iterable(keys.shapes))) or ["image", "cell"]
    _check_columns(str(path), columns, names)
    check_shapes(str(path), keys.shapes, names, READ, COLUMNS)
    place = {ours: theirs for theirs, ours in names.readable(columns).items()}
    used = set(place.values())
    # A key that no record has becomes a column without values.
    return {ours: place.get(ours, ours) for ours in (*READ, *also) if ours in place or ours not in used}


def check_not_compressed(path: Path) -> None:
    """Raise InputError for a compressed file, because Polars would unpack it without limiting the unpacked size."""
    with path.open("rb") as file:
        head = file.read(4)
    if head.startswith(_COMPRESSED):
        raise _broken("unreadable-file", path, "a compressed file", "text in UTF-8", "Unpack the file and retry")


def check_is_text(path: Path) -> None:
    """Raise InputError for a file that is compressed, not text in UTF-8, or has a line that is too long."""
    check_not_compressed(path)
    with path.open("rb") as file:
        head = file.read(_HEAD)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError as error:
        raise unreadable(path, error) from None
    if path.suffix != JSON:
        with path.open("rb") as file:
            for _ in bounded_lines(iter(lambda: file.read(_BLOCK), b""), path):
                pass


def _has_bom(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield next(file, b"").removeprefix(codecs.BOM_UTF8)
        yield from file


def _not_utf8(path: Path) -> Iterator[Problem]:
    for number, line in enumerate(_lines(path), start=1):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            yield _not_text(path, number, error)


def read_json_lines(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """Return the number, from 0, and the content of each record of a JSON Lines file.

    Raises:
        InputError: if a line is not a JSON object, or has a repeated key.
    """
    try:
        records = [parse_json(line.decode()) for line in _lines(path) if line.strip(_JSON_BLANKS)]
    except ValueError:
        records = [None]  # At least one line is broken.
    if not all(isinstance(record, dict) for record in records):
        raise InputError(merged(_broken_json(path)))
    return list(enumerate(records))


def _broken_json(path: Path) -> Iterator[Problem]:
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip(_JSON_BLANKS):
            continue
        try:
            text = line.strip(_JSON_BLANKS).decode()
            record = parse_json(text)
        except UnicodeDecodeError as error:
            yield _not_text(path, number, error)
        except ValueError as error:
            yield Problem(
                "invalid-json", str(path), number, "line", f"{text[:60]!r} ({error})", "a JSON object", fix=_ONE_A_LINE
            )
        else:
            if not isinstance(record, dict):
                yield Problem(
                    "invalid-json", str(path), number, "line", f"{text[:60]!r}", "a JSON object", fix=_ONE_A_LINE
                )


def _not_text(path: Path, line: int, error: UnicodeDecodeError) -> Problem:
    return replace(unreadable_text(str(path), error), line=line, field="line")


def _broken(code: Code, path: Path, actual: str, expected: str, fix: str = "") -> InputError:
    return InputError.of(code, path, "file", actual, expected, fix=fix)


def _fix_of_ending(path: Path) -> str:
    if path.suffix.lower() in (".xlsx", ".xls", ".ods"):
        return "Save the spreadsheet as CSV and retry"
    if path.suffix in (".zip", ".gz", ".zst", ".bz2"):
        return "Unpack the file and retry"
    return "Save the responses as CSV or JSON Lines. If the file already has one of these formats, rename it"


def missing_file(path: Path, expected: str) -> Problem:
    """Return the problem that a file does not exist, with the most similar name in its folder as advice."""
    folder = path.parent
    others = [other.name for other in folder.iterdir()] if folder.is_dir() else []
    fix = f"Check the path.{did_you_mean(path.name, others)}".removesuffix(".")
    return Problem("missing-file", str(path), None, "file", "no such file", expected, fix=fix)

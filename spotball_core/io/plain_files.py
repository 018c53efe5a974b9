"""Copy files of other formats to temporary files that the readers understand.

These are files compressed with gzip, standard input, text in UTF-16, and tables with fields that are separated by
semicolons or tabs. Lines keep their numbers.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO, NamedTuple

from spotball_core.errors import InputError, Problem, unreadable_text
from spotball_core.service.unpacked_size import MOST_BYTES, bounded_lines

GZIP = ".gz"

STANDARD_INPUT = Path("-")
"""The path that stands for standard input, which is read as JSON Lines if it starts with a brace, else as CSV."""

PACKED_ENDINGS = (".jsonl", ".ndjson", ".csv")
"""Endings of text files that may be compressed."""

TSV = ".tsv"

_BLOCK = 1 << 20
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SEPARATORS = {";": "semicolons", "\t": "tabs"}
_SEPARATOR_LINE = re.compile(r"\"?sep=(.)\"?\s*", re.I)
"""The line before the header with which Excel names the separator."""

_DECIMAL_COMMA = re.compile(r"\s*-?\d+,\d+\s*")
_TEXTS = ("image", "cell", "cells", "ball_cells")
"""Columns whose values may contain a comma between two numbers."""


class PlainFiles(NamedTuple):
    """Files that the readers understand.

    Attributes:
        paths: the files; temporary copies of those in other formats.
        given: the original files.
        assumed: one warning for each file whose format was assumed from its content.
    """

    paths: tuple[Path, ...]
    given: tuple[Path, ...]
    assumed: tuple[Problem, ...]

    def warnings(self, others: Iterable[Problem]) -> tuple[Problem, ...]:
        """Return the warnings about the formats and other warnings, which name the original files."""
        return (*self.assumed, *_as_given(others, self.given, self.paths))


def paths_of(data: object) -> list[Path]:
    """Return the paths in an argument that may be a path or a list of paths; empty if it is anything else."""
    items = [data] if isinstance(data, (str, Path)) else data
    if isinstance(items, list | tuple) and all(isinstance(item, (str, Path)) for item in items):
        return [Path(item) for item in items]
    return []


def plain_ending(path: Path) -> str:
    """Return the ending of the plain copy of a file.

    Examples:
        >>> [plain_ending(Path(name)) for name in ("responses.jsonl.gz", "responses.csv", "responses.tsv")]
        ['.jsonl', '.csv', '.csv']
    """
    if path.suffix == TSV:
        return ".csv"
    if path.suffix != GZIP:
        return path.suffix
    ending = path.with_suffix("").suffix
    return ending if ending in PACKED_ENDINGS else path.suffix


@contextmanager
def plain_files(paths: Sequence[Path]) -> Iterator[PlainFiles]:
    """Yield files that the readers understand, with the content of the given files.

    Temporary files exist until the context ends. Errors raised within the context name the original files.

    Raises:
        InputError: if a file with the ending `.gz` is missing, is not compressed with gzip, or unpacks to more than 2
            GB and more than 100 times its size; or if a file has the byte order mark of UTF-16 but other content.
    """
    with TemporaryDirectory(prefix="spotball-") as temporary:
        folders = {parent: Path(temporary, str(n)) for n, parent in enumerate(dict.fromkeys(p.parent for p in paths))}
        plain: list[Path] = []
        assumed = []
        try:
            for path in paths:
                folder = folders[path.parent]
                folder.mkdir(exist_ok=True)
                file, found = _plain(path, folder)
                plain.append(file)
                assumed += [Problem("assumed-format", str(file), 1, *each) for each in found]
            yield PlainFiles(tuple(plain), tuple(paths), _as_given(assumed, paths, plain))
        except InputError as error:
            raise InputError(_as_given(error.problems, paths, plain)) from error


def _as_given(problems: Iterable[Problem], given: Sequence[Path], plain: Sequence[Path]) -> tuple[Problem, ...]:
    """Return the problems, with the names of temporary files replaced by the names of the original files."""
    names = {
        str(file): "standard input" if path == STANDARD_INPUT else str(path)
        for path, file in zip(given, plain, strict=False)
    }
    return tuple(replace(problem, file=names.get(problem.file, problem.file)) for problem in problems)


def _plain(path: Path, folder: Path) -> tuple[Path, list[tuple[str, str, str]]]:
    """Return the plain file, and what was assumed about the given one: field, what was found, and what was expected."""
    ending = plain_ending(path)
    if path == STANDARD_INPUT:
        file = _standard_input(folder)
        ending = file.suffix
    elif path.suffix == GZIP and ending != GZIP:
        file = _unpacked(path, folder / path.with_suffix("").name)
    else:
        file = path
    if ending not in (*PACKED_ENDINGS, ".json") or not file.is_file():
        return file, []
    assumed = []
    with file.open("rb") as content:
        head = content.readline(_BLOCK)
    name = "stdin" if path == STANDARD_INPUT else (path.with_suffix("") if path.suffix == GZIP else path).stem
    copy = folder / f"{name}{ending}"
    if head.startswith(_UTF16):
        _decode(_moved(file, copy), copy, path)
        file = copy
        assumed.append(("file", "text in UTF-16", "text in UTF-8. It is read as UTF-16"))
        with file.open("rb") as content:
            head = content.readline(_BLOCK)
    if ending == ".csv" and (separator := _separator(head, path)) is not None:
        with_commas = _separate(_moved(file, copy), copy, separator)
        file = copy
        if path.suffix != TSV:
            decimals = " and decimal commas" if with_commas else ""
            name = _SEPARATORS.get(separator, repr(separator))
            found = f"fields separated by {name}{decimals}"
            assumed.append(("header", found, f"commas. The file is read with {name}"))
    return file, assumed


def _moved(file: Path, copy: Path) -> Path:
    """Return the path of a file, which is renamed if a copy is to have its name."""
    return file.rename(f"{file}.given") if file == copy else file


def _separator(head: bytes, path: Path) -> str | None:
    """Return the separator that the first line shows; None for a comma."""
    line = head.decode("utf-8-sig", errors="replace")
    if path.suffix == TSV:
        return "\t"
    if match := _SEPARATOR_LINE.fullmatch(line):
        return match[1]
    if "," in line:
        return None
    return next((separator for separator in _SEPARATORS if separator in line), None)


def _separate(given: Path, file: Path, separator: str) -> bool:
    """Copy a table with commas between the fields, and return whether it had decimal commas, which become points."""
    commas = False
    with (
        given.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as source,
        file.open("w", encoding="utf-8", errors="surrogateescape", newline="") as out,
    ):
        if _SEPARATOR_LINE.fullmatch(source.readline()):
            out.write("\n")
        else:
            source.seek(0)
        rows, writer = csv.reader(source, delimiter=separator), csv.writer(out, lineterminator="\n")
        try:
            header = next(rows, [])
            writer.writerow(header)
            numbers = [name.strip() not in _TEXTS for name in header]
            for row in rows:
                for place, value in enumerate(row):
                    if "," in value and place < len(numbers) and numbers[place] and _DECIMAL_COMMA.fullmatch(value):
                        row[place], commas = value.replace(",", "."), True
                writer.writerow(row)
        except csv.Error as error:
            problem = Problem("invalid-csv", str(file), rows.line_num, "line", str(error), "fields of a CSV file")
            raise InputError([problem]) from error
    return commas


def _decode(given: Path, file: Path, path: Path) -> None:
    try:
        with given.open("rb") as source, file.open("wb") as out:
            decoded = TextIOWrapper(source, encoding="utf-16", newline="")
            while block := decoded.read(_BLOCK):
                out.write(block.encode())
    except UnicodeError as error:
        if isinstance(error, UnicodeDecodeError):
            raise InputError([unreadable_text(str(path), error)]) from error
        raise InputError.of("unreadable-file", path, "file", str(error), "text in UTF-16") from error


def _standard_input(folder: Path) -> Path:
    content = sys.stdin.buffer.read()
    ending = ".jsonl" if content.lstrip()[:1] == b"{" else ".csv"
    file = folder / f"stdin{ending}"
    file.write_bytes(content)
    return file


def _unpacked(path: Path, file: Path) -> Path:
    try:
        with gzip.open(path) as packed, file.open("wb") as out:
            _copy(packed, out, path)  # type: ignore[arg-type]
    except FileNotFoundError:
        raise InputError.of("missing-file", path, "file", "no such file", "a file of responses") from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError.of("unreadable-file", path, "file", str(error), "a file compressed with gzip") from error
    return file


def _copy(packed: BinaryIO, out: BinaryIO, path: Path) -> None:
    most = max(MOST_BYTES, 100 * path.stat().st_size)
    n = 0
    for block in bounded_lines(iter(lambda: packed.read(_BLOCK), b""), path):
        n += len(block)
        if n > most:
            actual = f"a file that unpacks to more than {most:,} bytes"
            expected = "at most 2 GB, or 100 times the size of the compressed file"
            raise InputError.of("too-large", path, "file", actual, expected, fix="Split the file")
        out.write(block)

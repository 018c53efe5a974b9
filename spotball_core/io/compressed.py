"""Copy responses that are compressed with gzip or come from standard input to uncompressed temporary files."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from spotball_core.errors import InputError, Problem
from spotball_core.service.unpacked_size import MOST_BYTES

GZIP = ".gz"

STANDARD_INPUT = Path("-")
"""The path that stands for standard input, which is read as JSON Lines if it starts with a brace, else as CSV."""

PACKED_ENDINGS = (".jsonl", ".ndjson", ".csv")
"""Endings of text files that may be compressed."""

_BLOCK = 1 << 20


def plain_ending(path: Path) -> str:
    """Return a file's ending; for a text file compressed with gzip, the ending before `.gz`.

    Examples:
        >>> plain_ending(Path("responses.jsonl.gz")), plain_ending(Path("responses.csv"))
        ('.jsonl', '.csv')
    """
    if path.suffix != GZIP:
        return path.suffix
    ending = path.with_suffix("").suffix
    return ending if ending in PACKED_ENDINGS else path.suffix


@contextmanager
def plain_files(paths: Sequence[Path]) -> Iterator[tuple[Path, ...]]:
    """Yield the paths of uncompressed files with the content of the given files.

    For compressed files and standard input, these are temporary files that exist until the context ends.
    Errors raised within the context name the original files.

    Raises:
        InputError: if a file with the ending `.gz` is missing, is not compressed with gzip, or unpacks to more than 2
            GB and more than 100 times its size.
    """
    if not any(path == STANDARD_INPUT or plain_ending(path) != path.suffix for path in paths):
        yield tuple(paths)
        return
    with TemporaryDirectory(prefix="spotball-") as temporary:
        folders = {parent: Path(temporary, str(n)) for n, parent in enumerate(dict.fromkeys(p.parent for p in paths))}
        plain = []
        for path in paths:
            folders[path.parent].mkdir(exist_ok=True)
            if path == STANDARD_INPUT:
                file = _standard_input(folders[path.parent])
            elif plain_ending(path) != path.suffix:
                file = _unpacked(path, folders[path.parent] / path.with_suffix("").name)
            else:
                file = path
            plain.append(file)
        try:
            yield tuple(plain)
        except InputError as error:
            raise InputError(as_given(error.problems, paths, plain)) from error


def as_given(problems: Iterable[Problem], given: Sequence[Path], plain: Sequence[Path]) -> tuple[Problem, ...]:
    """Return the problems, with the names of temporary files replaced by the names of the original files."""
    names = {
        str(file): "standard input" if path == STANDARD_INPUT else str(path)
        for path, file in zip(given, plain, strict=True)
    }
    return tuple(replace(problem, file=names.get(problem.file, problem.file)) for problem in problems)


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
        raise InputError(
            [Problem("missing-file", str(path), None, "file", "no such file", "a file of responses")]
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            [Problem("unreadable-file", str(path), None, "file", str(error), "a file compressed with gzip")]
        ) from error
    return file


def _copy(packed: BinaryIO, out: BinaryIO, path: Path) -> None:
    most = max(MOST_BYTES, 100 * path.stat().st_size)
    n = 0
    while block := packed.read(_BLOCK):
        n += len(block)
        if n > most:
            actual = f"a file that unpacks to more than {most:,} bytes"
            expected = "at most 2 GB, or 100 times the size of the compressed file"
            raise InputError([Problem("too-large", str(path), None, "file", actual, expected, fix="Split the file")])
        out.write(block)

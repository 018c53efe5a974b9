"""Check the unpacked sizes that compressed files state before anything is unpacked, and the lengths of lines."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from spotball_core.errors import InputError

MOST_RATIO: Final = 100
"""Maximum ratio of unpacked to compressed size, for data that unpacks to more than `MOST_BYTES`."""

MOST_BYTES: Final = 2 * 10**9
"""Maximum unpacked size in bytes, for data whose ratio of unpacked to compressed size is above `MOST_RATIO`."""

MOST_LINE: Final = 10**7
"""Maximum length of a line of text, and of a record of a CSV file, in bytes."""

_LONGEST_FOOTER = 32 * 10**6
_MAGIC = b"PAR1"
_SKIPPED, _STRUCT, _LIST = {1: 0, 2: 0, 3: 1, 7: 8}, 12, (9, 10)


def check_parquet_size(path: Path) -> None:
    """Raise InputError for a Parquet file with a row group that unpacks to far more than its size.

    A footer that is too long to be checked also raises an error, because it could hide such a group. Other damage is
    left for the reader to report. Row groups are checked separately, because they are read one at a time.
    """
    try:
        groups = _row_groups(path)
    except (OSError, IndexError, ValueError, RecursionError):
        return
    for unpacked, packed in groups:
        _check(path, "a group of rows", unpacked, packed)


def bounded_lines(blocks: Iterable[bytes], path: Path) -> Iterator[bytes]:
    """Yield the blocks of a text unchanged.

    Raises:
        InputError: at the first block with a part of a line that is longer than `MOST_LINE`.
    """
    length, number = 0, 1
    for block in blocks:
        first = block.find(b"\n")
        if length + (len(block) if first < 0 else first) > MOST_LINE:
            raise too_long(path, number, "line")
        length = length + len(block) if first < 0 else len(block) - block.rfind(b"\n") - 1
        number += block.count(b"\n")
        yield block


def too_long(path: Path, line: int, what: str) -> InputError:
    """Return the error for a line or a record that is longer than `MOST_LINE`."""
    found, expected = f"a {what} of more than {MOST_LINE:,} bytes", f"at most {MOST_LINE:,} bytes"
    return InputError.of("too-large", path, "line", found, expected, line=line, fix="Shorten its fields")


def check_zip_size(path: Path) -> None:
    """Raise InputError for a ZIP file that unpacks to far more than its size.

    Files that are not ZIP files are not checked.
    """
    try:
        with zipfile.ZipFile(path) as file:
            entries = file.infolist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return
    _check(path, "a file", sum(entry.file_size for entry in entries), sum(entry.compress_size for entry in entries))


def _check(path: Path, content: str, unpacked: int, packed: int) -> None:
    if unpacked > MOST_BYTES and unpacked > MOST_RATIO * packed:
        actual = f"{content} of {packed:,} bytes that unpacks to {unpacked:,} bytes"
        expected = f"at most {MOST_BYTES:,} bytes, or {MOST_RATIO} times the size of the compressed data"
        raise InputError.of("wrong-file", path, "file", actual, expected)


def _row_groups(path: Path) -> list[tuple[int, int]]:
    """Return the numbers of unpacked and packed bytes of each row group, as stated in the footer."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        end = file.read(8)
        length = int.from_bytes(end[:4], "little")
        if end[4:] != _MAGIC or not 0 < length <= size - 8:
            return []
        if length > _LONGEST_FOOTER:
            expected = f"at most {_LONGEST_FOOTER:,} bytes"
            raise InputError.of("too-large", path, "file", f"a footer of {length:,} bytes", expected)
        file.seek(size - 8 - length)
        footer = _Compact(file.read(length))
    return list(footer.row_groups())


class _Compact:
    """A footer in Thrift's compact protocol: each field has a type and a number, then its value.

    Only the fields that lead to the sizes are read: row groups (field 4 of the file), their columns (1), each column's
    metadata (3), and there the unpacked (6) and packed (7) bytes.
    """

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def row_groups(self) -> Iterator[tuple[int, int]]:
        groups: list[tuple[int, int]] = []
        self._struct({4: lambda: groups.extend(self._each(self._row_group))})
        yield from groups

    def _row_group(self) -> tuple[int, int]:
        columns: list[tuple[int, int]] = []
        self._struct({1: lambda: columns.extend(self._each(self._column))})
        return sum(unpacked for unpacked, _ in columns), sum(packed for _, packed in columns)

    def _column(self) -> tuple[int, int]:
        sizes: dict[int, int] = {}

        def note(number: int) -> None:
            sizes[number] = self._integer()

        self._struct({3: lambda: self._struct({number: partial(note, number) for number in (6, 7)})})
        return sizes.get(6, 0), sizes.get(7, 0)

    def _struct(self, readers: dict[int, Callable[[], object]]) -> None:
        """Read the fields that have a reader, and skip the others."""
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            if number in readers:
                readers[number]()
            else:
                self._skip(head & 15)

    def _each(self, read: Callable[[], tuple[int, int]]) -> list[tuple[int, int]]:
        return [read() for _ in range(self._list()[0])]

    def _list(self) -> tuple[int, int]:
        """Return the number of elements of a list, and the code of their type."""
        head = self._byte()
        return (head >> 4 if head >> 4 < 15 else self._varint()), head & 15

    def _skip(self, kind: int) -> None:
        if kind == _STRUCT:
            self._struct({})
        elif kind in _LIST:
            size, inner = self._list()
            for _ in range(size):
                # In a list, true and false take one byte each.
                self._skip(3 if inner in (1, 2) else inner)
        elif kind == 8:
            length = self._varint()
            self._at += length
        elif kind in _SKIPPED:
            self._at += _SKIPPED[kind]
        elif kind in (4, 5, 6):
            self._varint()
        else:
            raise ValueError(f"an unknown type {kind}")
        if self._at > len(self._data):
            raise ValueError("the footer ends within a field")

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _varint(self) -> int:
        value = shift = 0
        while (byte := self._byte()) & 128:
            value, shift = value | (byte & 127) << shift, shift + 7
            if shift > 63:
                raise ValueError("a number that is too long")
        return value | byte << shift

    def _byte(self) -> int:
        byte = self._data[self._at]
        self._at += 1
        return byte

"""Check the keys of every record of a JSON Lines file before Polars reads it.

Polars ignores unknown keys, and keeps only one value of a repeated key. Both would silently change scores. The file is
read in blocks of lines. Most programs write every line with the same keys in the same order, so NumPy compares the keys
of all lines in a block with those of its first line. A block is parsed line by line only if its keys differ or cannot
be compared in this way.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from spotball_core.errors import Problem, merged
from spotball_core.service.json_file import RepeatedKeyError, parse_json
from spotball_core.typing import IntArray

_BLOCK = 1 << 18
_WORD = 8
_MOST_BROKEN = 1000
_QUOTE, _COLON, _BACKSLASH, _NEWLINE, _BLANK = (ord(sign) for sign in '":\\\n ')
_STRING = re.compile(rb'("(?:[^"\\]|\\.)*")([ \t\r]*:)?')


@dataclass
class Keys:
    """The keys of a file's records.

    Attributes:
        shapes: each distinct sequence of a record's keys, mapped to the first line (from 1) with this sequence.
        repeated: problems that list the records with a repeated key.
        n_broken: number of lines that are not JSON.
    """

    shapes: dict[tuple[str, ...], int] = field(default_factory=dict)
    repeated: list[Problem] = field(default_factory=list)
    n_broken: int = 0


def read_keys(path: Path) -> Keys:
    """Return the keys of all records of a JSON Lines file. Lines that are not JSON objects have no keys.

    After more than 1,000 lines that are not JSON, the rest of the file is not read.
    """
    keys = Keys()
    keys.repeated = merged(_read_blocks(path, keys))
    return keys


def _read_blocks(path: Path, keys: Keys) -> Iterator[Problem]:
    """Add the keys of the file's records to `keys`, and yield a problem for each record with a repeated key."""
    line = 1
    for block in _blocks(path):
        newlines = np.flatnonzero(np.frombuffer(block, np.uint8) == _NEWLINE)
        shape = _shared_keys(block, newlines)
        if shape is None:
            yield from _read_lines(block, path, line, keys)
        else:
            keys.shapes.setdefault(shape, line)
        line += len(newlines)
        if keys.n_broken > _MOST_BROKEN:
            break  # The reader will reject the file and name its broken lines.


def _read_lines(block: bytes, path: Path, first: int, keys: Keys) -> Iterator[Problem]:
    for number, text in enumerate(block.split(b"\n"), start=first):
        try:
            record = parse_json(text.decode()) if text else None
        except RepeatedKeyError as error:
            yield Problem("duplicate", str(path), number, "line", str(error), "each key once")
        except ValueError:
            keys.n_broken += 1  # The reader will report the problem of this line.
        else:
            if isinstance(record, dict):
                keys.shapes.setdefault(tuple(record), number)


def _shared_keys(block: bytes, newlines: IntArray) -> tuple[str, ...] | None:
    """Return the keys of a block's lines if all lines certainly have the same keys in the same order, else None."""
    first = block[: newlines[0]]
    names = [name for name, colon in _STRING.findall(first) if colon]
    try:
        record = parse_json(first.decode())
    except ValueError:
        return None
    if not isinstance(record, dict) or not names or any(b"\\" in name for name in names):
        return None
    if len(first) < max(map(len, names)) + _WORD:
        return None
    chars = np.frombuffer(block, np.uint8)
    colons = np.flatnonzero(chars == _COLON)
    before = chars[colons - 1]
    spaced = colons[before <= _BLANK]
    if len(spaced) and ((chars[spaced - 2] <= _BLANK) | (chars[spaced - 2] == _QUOTE)).any():
        return None  # There may be a key with a space before its colon.
    ends = colons[before == _QUOTE]
    escapes = b"\\" in block
    if escapes:
        ends = ends[chars[ends - 2] != _BACKSLASH]  # A quote within a string is escaped.
    if len(ends) != len(newlines) * len(names):
        return None
    # The first line is already parsed. Starting after it ensures that text before a key's end lies within the block.
    table = ends.reshape(len(newlines), len(names))[1:]
    if (table[:, 0] < newlines[:-1]).any() or (table[:, -1] > newlines[1:]).any():
        return None
    lengths = np.array([len(name) for name in names])
    if escapes and (chars[table - lengths - 1] == _BACKSLASH).any():
        return None
    words = np.ndarray((max(len(chars) - _WORD + 1, 0),), "<u8", buffer=chars.data, strides=(1,))
    for skipped in range(0, max(map(len, names)), _WORD):
        columns = np.flatnonzero(lengths > skipped)
        parts = [names[column][: len(names[column]) - skipped][-_WORD:] for column in columns]
        expected = np.array([int.from_bytes(part, "little") for part in parts], np.uint64)
        unused = np.array([8 * (_WORD - len(part)) for part in parts], np.uint64)
        places = table if len(columns) == len(names) else table[:, columns]
        if ((words[places - (skipped + _WORD)] >> unused) != expected).any():
            return None
    return tuple(record)


def _blocks(path: Path) -> Iterator[bytes]:
    """Yield a file's complete lines in blocks that end in a line break."""
    rest, size = b"", _BLOCK
    with path.open("rb") as file:
        if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
            file.seek(0)
        while more := file.read(size):
            data = rest + more
            cut = data.rfind(b"\n") + 1
            # The line is longer than a block. Double the block size, so that each byte is copied only a few times.
            size = _BLOCK if cut else size * 2
            rest = data[cut:]
            if cut:
                yield data[:cut]
    if rest:
        yield rest + b"\n"

"""Find where the records of a CSV file start, and whether each is complete.

Polars reads missing fields at the end of a record as empty, and a blank line as an empty record. Scoring would count
both as answers, although no respondent gave them, and a misplaced quote may swallow the following lines. So every file
is checked before it is read, as bytes and one block at a time.
"""

from __future__ import annotations

import codecs
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from spotball_core.errors import SHOWN_LINES, SHOWN_VALUES, Problem, merged
from spotball_core.service.unpacked_size import MOST_LINE, too_long
from spotball_core.typing import IntArray

_BLOCK = 1 << 22
_CHUNK = 1 << 18
_TEXT = bytes(set(range(256)) - set(b'\n",'))
_NEWLINE, _RETURN, _QUOTE, _COMMA = (ord(sign) for sign in '\n\r",')


@dataclass(frozen=True)
class RecordLayout:
    """The layout of a CSV file, determined before it is read.

    Attributes:
        blank: numbers of the records that are blank lines. The first record after the header has number 0.
        problems: problems of single records. Records with the same fault share one problem.
        apostrophes: whether the file may contain apostrophes, which `safe_text.csv_cells` adds to some texts.
    """

    blank: tuple[int, ...]
    problems: tuple[Problem, ...]
    apostrophes: bool


def read_layout(path: Path) -> RecordLayout:
    """Check a CSV file, and return its layout.

    Each record needs as many fields as the header, and quotes only around fields.

    After the first misplaced quote, it is unclear which text is quoted, so this quote is the last problem reported.
    """
    regular, apostrophes = _is_regular(path)
    if regular:
        return RecordLayout((), (), apostrophes)
    blank: list[int] = []
    counts: Counter[str] = Counter()
    values: defaultdict[str, set[str]] = defaultdict(set)
    problems: list[Problem] = []
    for block in _blocks(path):
        blank += block.blank.tolist()
        for record, actual, expected in block.faults():
            counts[expected] += 1
            # The first records are enough to describe a cause; there may be millions.
            is_new = actual not in values[expected] and len(values[expected]) <= SHOWN_VALUES
            if is_new or counts[expected] <= SHOWN_LINES:
                values[expected].add(actual)
                problems.append(Problem("invalid-csv", str(path), block.line(record), "line", actual, expected))
        if block.stray is not None:
            break
    reported = (replace(problem, count=counts[problem.expected]) for problem in merged(problems))
    return RecordLayout(tuple(blank), tuple(reported), True)


def _is_regular(path: Path) -> tuple[bool, bool]:
    """Return whether a file has no quotes and equal numbers of commas per line, and whether it may have apostrophes.

    Most files are regular, and this check is faster than finding the start of each record.
    """
    with path.open("rb") as file:
        width = file.readline(_CHUNK).count(b",") + 1
        file.seek(0)
        pattern = (b"," * (width - 1) + b"\n") * (_CHUNK // width + 2)
        place, last, apostrophes = 0, b"", False
        while chunk := file.read(_CHUNK):
            signs = chunk.translate(None, _TEXT)
            if signs != pattern[place : place + len(signs)]:
                return False, True
            apostrophes = apostrophes or b"'" in chunk
            place, last = (place + len(signs)) % width, chunk[-1:]
    return place == (0 if last in (b"", b"\n") else width - 1), apostrophes


def record_lines(path: Path, records: Iterable[int]) -> dict[int, int]:
    """Return the line, from 1, on which each record (from 0 after the header, including blank lines) starts."""
    selected = sorted(set(records))
    lines: dict[int, int] = {}
    for block in _blocks(path):
        if len(lines) == len(selected):
            break
        in_block = selected[bisect_left(selected, block.first) : bisect_left(selected, block.first + len(block.starts))]
        lines |= {record: block.line(record - block.first) for record in in_block}
    return lines


class _Block:
    """Complete consecutive records, as bytes that end in a line break.

    Attributes:
        first: number of the first record in the file; -1 for the header.
        starts: start of each record in the bytes.
        ends: the line break at the end of each record.
        fields: number of fields of each record.
        blank: numbers, in the file, of the records that are blank lines.
        stray: number, in the block, of the first record with a misplaced quote; None if there is none.
    """

    def __init__(self, data: bytes, line: int, first: int, width: int | None, *, last: bool) -> None:
        chars = np.frombuffer(data, np.uint8)
        self.newlines: IntArray = np.flatnonzero(chars == _NEWLINE)
        commas = np.flatnonzero(chars == _COMMA)
        quotes = np.flatnonzero(chars == _QUOTE) if b'"' in data else np.empty(0, np.int64)
        self.ends = _outside(self.newlines, quotes)
        if last and len(quotes) % 2 == 1:
            # The last quote is never closed: the file ends within a record.
            self.ends = np.append(self.ends, len(data) - 1)
        self.size = int(self.ends[-1]) + 1 if len(self.ends) else 0
        self.data, self.chars, self.quotes = data, chars, quotes[quotes < self.size]
        self.starts: IntArray = np.concatenate([[0], self.ends[:-1] + 1])[: len(self.ends)]
        upto = np.searchsorted(_outside(commas, quotes), self.ends)
        self.fields: IntArray = np.diff(upto, prepend=0) + 1
        self.first_line, self.first = line, first
        if first < 0:
            self._drop_before_header()
        self.width = width or (int(self.fields[0]) if len(self.fields) else None)
        alone = np.flatnonzero(self.fields != self.width)
        # Most blank lines are empty, and a file may have millions of them.
        empty = self.ends[alone] == self.starts[alone]
        filled = [i for i in alone[~empty].tolist() if self._is_blank(i)]
        self.blank: IntArray = np.sort(np.concatenate([alone[empty], np.array(filled, np.int64)])) + first
        self.stray = self._stray_quote()

    def line(self, record: int) -> int:
        """Return the line on which a record of the block starts."""
        return self.first_line + int(np.searchsorted(self.newlines, self.starts[record]))

    def faults(self) -> Iterator[tuple[int, str, str]]:
        """Yield, for each faulty record, its number within the block, what was found and what was expected."""
        wrong = np.flatnonzero(self.fields != self.width)
        for record in wrong[~np.isin(wrong, self.blank - self.first)]:
            if self.stray is not None and record >= self.stray:
                break
            yield int(record), _fields(int(self.fields[record])), f"{_fields(self.width or 0)}, as in the header"
        if self.stray is not None:
            yield (
                self.stray,
                "a quotation mark in the middle of a field",
                "quotation marks only around whole fields. Inside a field, write each quotation mark twice",
            )

    def _drop_before_header(self) -> None:
        """Drop blank lines before the header, which are not records."""
        dropped = 0
        while dropped < len(self.starts) and self._is_blank(dropped):
            dropped += 1
        self.starts, self.ends, self.fields = self.starts[dropped:], self.ends[dropped:], self.fields[dropped:]

    def _is_blank(self, record: int) -> bool:
        return not self.data[self.starts[record] : self.ends[record]].strip()

    def _stray_quote(self) -> int | None:
        """Return the number, in the block, of the first record with a misplaced quote; None if there is none.

        A quote is misplaced if it opens within a field, closes before the field's end, or is never closed.
        """
        opening, closing = self.quotes[::2], self.quotes[1::2]
        # A doubled quote closes and opens again.
        before = self.chars[opening[opening > 0] - 1]
        after = self.chars[closing + 1]
        stray = [
            *opening[opening > 0][~np.isin(before, (_COMMA, _NEWLINE, _QUOTE))][:1],
            *closing[~np.isin(after, (_COMMA, _NEWLINE, _RETURN, _QUOTE))][:1],
            *(opening[-1:] if len(opening) > len(closing) else ()),
        ]
        return int(np.searchsorted(self.ends, min(stray))) if stray else None


def _fields(number: int) -> str:
    return f"{number} field" if number == 1 else f"{number} fields"


def _outside(positions: IntArray, quotes: IntArray) -> IntArray:
    """Return the positions that are not between an opening and a closing quote."""
    return positions[np.searchsorted(quotes, positions) % 2 == 0] if len(quotes) else positions


def _blocks(path: Path) -> Iterator[_Block]:
    """Yield a file's records in blocks; the first block starts with the header."""
    line, first, width, size = 1, -1, None, _BLOCK
    with path.open("rb") as file:
        if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
            file.seek(0)
        rest = b""
        while True:
            more = file.read(size)
            if not more:
                break
            block = _Block(rest + more, line, first, width, last=False)
            rest = block.data[block.size :]
            # The record is longer than a block. Double the block size, so that each byte is read only a few times.
            size = _BLOCK if block.size else size * 2
            long = np.flatnonzero(block.ends - block.starts > MOST_LINE)
            if len(long) or len(rest) > MOST_LINE:
                start = block.starts[long[0]] if len(long) else block.size
                raise too_long(path, line + int(np.searchsorted(block.newlines, start)), "record")
            yield block
            line += int(np.searchsorted(block.newlines, block.size))
            first, width = first + len(block.starts), block.width
    if rest:
        yield _Block(rest + b"\n", line, first, width, last=True)

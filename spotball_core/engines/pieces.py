"""Files in pieces that can be counted apart, and what comes back of each."""

from __future__ import annotations

import io
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from spotball_core.counts import Counts
from spotball_core.errors import InputError
from spotball_core.schema.scene import Scene

PIECE_ROWS = 2_000_000
"""Row groups of Parquet files go together up to about so many rows."""

MERGED_TOGETHER = 100
"""So many counts are added at a time: few enough to hold, many enough to be worth sorting."""


@dataclass(frozen=True)
class Piece:
    """A file, or a part of one.

    Attributes:
        path: the file, absolute: workers have folders of their own.
        start: its first row, from 0; None for the whole file.
        length: how many rows.
    """

    path: str
    start: int | None = None
    length: int | None = None


def pieces_of(files: Iterable[Path]) -> Iterator[Piece]:
    """Parquet files by their row groups, other files whole; a file that cannot be read is a piece that says so."""
    from pyarrow import ArrowException
    from pyarrow.parquet import read_metadata

    for file in files:
        name, groups = str(file.absolute()), list[int]()
        if file.suffix == ".parquet":
            try:
                metadata = read_metadata(file)
            except (ArrowException, OSError):
                pass  # Counting it will say what is wrong, in the words that all readers use.
            else:
                groups = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        if sum(groups) <= PIECE_ROWS:
            yield Piece(name)
            continue
        start = length = 0
        for rows in groups:
            if length and length + rows > PIECE_ROWS:
                yield Piece(name, start, length)
                start, length = start + length, 0
            length += rows
        yield Piece(name, start, length)


@dataclass(frozen=True)
class Counted:
    """What comes back of a piece: its counts, or what is wrong with it.

    Attributes:
        path: the piece's file.
        table: the table of its counts, as Arrow IPC; None where it could not be counted.
        error: why not.
    """

    path: str
    table: bytes | None
    error: str | None = None

    def counts(self, *, rows: int, cols: int) -> Counts:
        """The counts of a piece that could be counted, on a grid of so many rows and columns."""
        import polars as pl

        return Counts(rows, cols, pl.read_ipc(io.BytesIO(self.table or b"")))


def count_piece(piece: Piece, scenes: Sequence[Scene], *, participants: bool) -> Counted:
    """Count a piece, on whatever machine this is."""
    # There are as many of us on a machine as it has cores.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    from spotball_core.io.responses import read_counts
    from spotball_core.io.sources import Source, open_source

    path = Path(piece.path)
    try:
        rows = open_source(path)
        if piece.start is not None:
            rows = rows.slice(piece.start, piece.length)
        source = Source(piece.path, path, rows)
        counts = read_counts([source], scenes, participants=participants)  # type: ignore[arg-type]
    except InputError as error:
        return Counted(piece.path, None, str(error))
    table = io.BytesIO()
    counts.table.write_ipc(table, compression="zstd")
    return Counted(piece.path, table.getvalue())


class Gathered:
    """What came back of the pieces so far, in any order."""

    def __init__(self, rows: int, cols: int) -> None:
        self.rows, self.cols = rows, cols
        self.errors: dict[str, str] = {}
        self._parts: list[Counts] = []
        self._files_of: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))

    def add(self, one: Counted) -> None:
        """Add a piece's counts to the others, or note that it has none."""
        if one.error is not None:
            self.errors[one.path] = one.error
            return
        counts = one.counts(rows=self.rows, cols=self.cols)
        for respondent, kind in counts.table.select("respondent", "kind").unique().iter_rows():
            self._files_of[respondent][kind].add(one.path)
        self._parts.append(counts)
        if len(self._parts) >= MERGED_TOGETHER:
            self._parts = [self.counts()]

    def counts(self) -> Counts:
        """The sum of the pieces' counts."""
        return Counts.merge(self._parts)

    def suspects(self) -> set[str]:
        """Files with something wrong: that could not be counted, or call one respondent two kinds among them."""
        kinds = (files for files in self._files_of.values() if len(files) > 1)
        return set(self.errors).union(*(paths for files in kinds for paths in files.values()))

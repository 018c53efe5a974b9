"""Split files into pieces that can be counted separately, and combine the results."""

from __future__ import annotations

import io
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from spotball_core.counting import signs
from spotball_core.counting.counts import Counts
from spotball_core.counting.pooling import doubtful, given_by
from spotball_core.counting.samples import GIVEN, out_of_order, summed
from spotball_core.errors import InputError, Problem, SpotballError
from spotball_core.schema.scene import Scene

if TYPE_CHECKING:
    import polars as pl

    from spotball_core.io.answer_options import AnswerOptions

PIECE_ROWS = 2_000_000
"""Approximate maximum number of rows of a piece, which consists of whole row groups of a Parquet file."""

MERGED_TOGETHER = 100
"""Number of `Counts` that are added at a time. A larger number needs more memory; a smaller one needs more sorting."""


@dataclass(frozen=True)
class FilePiece:
    """A file, or a range of its rows.

    Attributes:
        path: the file's absolute path, because workers have their own working folders.
        start: the first row of the range, from 0; None for the whole file.
        length: number of rows in the range; None for the whole file.
    """

    path: str
    start: int | None = None
    length: int | None = None


def pieces_of(files: Iterable[Path]) -> Iterator[FilePiece]:
    """Yield the pieces of files. Large Parquet files are split between row groups; any other file is one piece."""
    from pyarrow import ArrowException
    from pyarrow.parquet import read_metadata

    for file in files:
        name, groups = str(file.absolute()), list[int]()
        if file.suffix == ".parquet":
            try:
                metadata = read_metadata(file)
            except (ArrowException, OSError):
                pass  # Counting the file will raise the usual error message.
            else:
                groups = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        if sum(groups) <= PIECE_ROWS:
            yield FilePiece(name)
            continue
        start = length = 0
        for rows in groups:
            if length and length + rows > PIECE_ROWS:
                yield FilePiece(name, start, length)
                start, length = start + length, 0
            length += rows
        yield FilePiece(name, start, length)


@dataclass(frozen=True)
class Counted:
    """The result of a piece: its counts, or its error.

    Attributes:
        path: the piece's file.
        table: the table of its counts, as Arrow IPC; None if the piece could not be counted.
        across: the second result of `read_part` (how many answers and samples each image has), as Arrow IPC; None if
            the piece could not be counted.
        error: why the piece could not be counted; None if it was counted.
        sums: the third result of `read_part` (sums that show misread files), as Arrow IPC; None if the piece could not
            be counted.
        columns: the columns of the piece's file, as a JSON list, if the user has named columns.
    """

    path: str
    table: bytes | None
    across: bytes | None
    error: str | None = None
    sums: bytes | None = None
    columns: str = "[]"


def count_piece(
    piece: FilePiece,
    scenes: Sequence[Scene],
    *,
    participants: bool,
    columns: Mapping[str, str] | None = None,
    **options: Unpack[AnswerOptions],
) -> Counted:
    """Return the counts of a piece, or its error. This can run on any machine that has the file."""
    # Each machine runs as many of these workers as it has cores.
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    from spotball_core.counting.responses import read_part
    from spotball_core.io.columns import ColumnNames
    from spotball_core.io.sources import Source, open_source

    path = Path(piece.path)
    try:
        names = ColumnNames(columns)
        rows = open_source(path, columns=names)
        if piece.start is not None:
            rows = rows.slice(piece.start, piece.length)
        counts, across, sums = read_part([Source(piece.path, path, rows)], scenes, participants=participants, **options)
    except InputError as error:
        return Counted(piece.path, None, None, str(error))
    met = json.dumps(names.met if names else [])
    return Counted(piece.path, _packed(counts.table), _packed(across), sums=_packed(sums), columns=met)


def _packed(frame: pl.DataFrame) -> bytes:
    packed = io.BytesIO()
    frame.write_ipc(packed, compression="zstd")
    return packed.getvalue()


def _unpacked(packed: bytes | None) -> pl.DataFrame:
    import polars as pl

    return pl.read_ipc(io.BytesIO(packed or b""))


class Gathered:
    """Collect the results of pieces, which may arrive in any order, and add them up."""

    def __init__(self, rows: int, cols: int) -> None:
        self.rows, self.cols = rows, cols
        self.errors: dict[str, str] = {}
        self._parts: list[Counts] = []
        self._across: list[pl.DataFrame] = []
        self._sums: list[pl.DataFrame] = []
        self._paths: dict[str, int] = {}
        self._columns: dict[str, None] = {}
        self._files_of: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))

    def add(self, piece: Counted) -> None:
        """Add a piece's counts to the others, or record its error."""
        import polars as pl

        if piece.error is not None:
            self.errors[piece.path] = piece.error
            return
        counts = Counts(self.rows, self.cols, _unpacked(piece.table))
        for respondent, kind in counts.table.select("respondent", "kind").unique().iter_rows():
            self._files_of[respondent][kind].add(piece.path)
        self._parts.append(counts)
        self._columns |= dict.fromkeys(json.loads(piece.columns))
        file = pl.lit(self._paths.setdefault(piece.path, len(self._paths)), pl.UInt32)
        self._sums.append(_unpacked(piece.sums).with_columns(_source=file))
        across = _unpacked(piece.across)
        self._across.append(across.with_columns(pieces=pl.lit(1, pl.UInt32), files=pl.concat_list(file)))
        if len(self._parts) >= MERGED_TOGETHER:
            self._parts = [self.counts()]
            self._across = [self._given()]
            self._sums = [signs.added(self._sums)]

    def counts(self) -> Counts:
        """Return the sum of the pieces' counts."""
        return Counts.merge(self._parts)

    def settled(
        self,
        files: Sequence[Path],
        scenes: Sequence[Scene],
        *,
        participants: bool,
        pool: bool = False,
        columns: Mapping[str, str] | None = None,
        **options: Unpack[AnswerOptions],
    ) -> Counts:
        """Return the sum of the counts of all pieces, with warnings about misread files.

        First, files that may have problems are read again in this process, which raises their errors.

        Raises:
            InputError: if a file has a problem for which `read_counts` raises an error.
            OptionError: if `columns` names a column that is in no file, unless its user checks this.
            SpotballError: if a worker could not read a file that this process can read.
        """
        from spotball_core.counting.misread import check_signs
        from spotball_core.counting.read import read_counts
        from spotball_core.io.columns import ColumnNames

        names = ColumnNames.of(columns)
        if suspects := self.suspects(pool=pool):
            some = [file for file in files if str(file.absolute()) in suspects]
            read_counts(some, scenes, participants=participants, pool=pool, columns=names, **options)
        for error in self.errors.values():
            raise SpotballError(
                f"a worker of the cluster could not read a file that this machine can read: {error}. "
                "Make sure that all machines have the files at the same paths",
                code="worker-failed",
            )
        names.readable(self._columns)
        if names is not columns:
            names.check()
        warnings = self._warnings(files, scenes, participants, names, **options)
        warnings = check_signs(warnings, accept_signs=options.get("accept_signs", False))
        return replace(self.counts(), warnings=warnings)

    def _warnings(
        self,
        files: Sequence[Path],
        scenes: Sequence[Scene],
        participants: bool,
        columns: Mapping[str, str],
        **options: Unpack[AnswerOptions],
    ) -> tuple[Problem, ...]:
        """Return warnings about files that may have been misread; these files are read again in this process."""
        from spotball_core.counting.misread import warnings_of
        from spotball_core.counting.responses import Reader, common_grid
        from spotball_core.io.sources import sources_of

        place = {str(file.absolute()): number for number, file in enumerate(files)}
        order = {index: place[path] for path, index in self._paths.items()}
        sums = signs.added(self._sums)
        sums = sums.with_columns(sums["_source"].replace_strict(order))
        shown = signs.signs(sums, scenes, common_grid(scenes))
        some = sorted({sign.source for sign in shown})
        if not some:
            return ()
        sources = sources_of([files[number] for number in some], columns=columns)
        reader = Reader(sources, scenes, participants, **options)
        reader.counts()
        return warnings_of(reader, (sign.at(some.index(sign.source)) for sign in shown))

    def suspects(self, *, pool: bool = False) -> set[str]:
        """Return the paths of files that have or may have a problem and must be read again.

        A file is returned if it could not be counted, if it gives one respondent two kinds, or if a respondent's
        samples for an image, over all files, are not numbered low, low + 1, ..., high. Without `pool`, a file is also
        returned if a respondent's answers may come from independent sources.
        """
        import polars as pl

        kinds = (files for files in self._files_of.values() if len(files) > 1)
        files_to_check = set(self.errors).union(*(paths for files in kinds for paths in files.values()))
        if not self._across:
            return files_to_check
        given = self._given()
        # Problems within one piece were already checked when it was counted.
        several = given.filter(pl.col("pieces") > 1)
        keys = _keys(given)
        unsure = several.join(out_of_order(several, keys), on=keys, how="semi", nulls_equal=True)
        names = list(self._paths)
        together = unsure["files"].explode()
        if not pool:
            files = given.group_by(GIVEN).agg(pl.col("files").explode().unique())
            all_given = given_by(given, *GIVEN).join(files, on=GIVEN)
            together = together.append(doubtful(all_given, [Path(name) for name in names])["files"].explode())
        together = together.unique().drop_nulls()
        return files_to_check.union(names[file] for file in together)

    def _given(self) -> pl.DataFrame:
        """Return the combined tables `across` of the pieces: one row per combination of `_keys`, with its files."""
        import polars as pl

        every = pl.concat(self._across, how="diagonal_relaxed")
        if "hashes" not in every.columns:
            every = every.with_columns(low=0.0, hashes=pl.lit(0, pl.UInt64))
        return every.group_by(_keys(every)).agg(
            **summed(),
            n=pl.col("n").sum(),
            nameless=pl.col("nameless").any(),
            people=pl.col("people").any(),
            pieces=pl.col("pieces").sum(),
            files=pl.col("files").explode().unique(),
        )


def _keys(given: pl.DataFrame) -> list[str]:
    return [*GIVEN, *(["participant"] if "participant" in given.columns else [])]

"""Counts: how often each respondent named each cell of each image.

They are the sufficient statistic of every Spot the Ball metric. Reading a file reduces it to counts; counts of two
files add; metrics, intervals and tests never look at rows again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, get_args

import numpy as np

from spotball_core.errors import OptionError, Problem
from spotball_core.io.frames import KEYS
from spotball_core.schema.response import Kind
from spotball_core.typing import FloatArray, IntArray

if TYPE_CHECKING:
    import polars as pl

PARTS = 2**53
"""Into how many parts an answer given as probabilities divides. Sums of floats would depend on how they are grouped;
of whole parts they do not, and floats from 0 to 1 hold each number of parts exactly."""

LIMIT = 2**53
"""Fewer answers than this can be counted: floats hold each such number exactly."""

_ADDED_AT_ONCE = 100
"""Few enough counts to hold, many enough to be worth sorting."""


@dataclass(frozen=True)
class Counts:
    """A table of counts over the cells of a grid of `rows` x `cols`.

    Attributes:
        rows: rows of the grid.
        cols: columns of the grid.
        table: one row for each (sport, image, respondent, kind, prompt, [participant,] cell) that was answered:
            the keys as text, `cell` the cell's index or null for unparsed answers, `n` the number of whole answers,
            `parts` how many `PARTS` there are beside them, of answers given as probabilities. Sorted by its keys, each
            key once.
        parse_policies: the policies that the replies behind the counts were parsed under, where they are known. They
            are provenance, so they do not take part in comparisons.
        warnings: signs that a file was misread, where files were read; not part of comparisons, either.

    Examples:
        >>> import polars as pl
        >>> rows = pl.DataFrame({"sport": "soccer", "image": "163", "respondent": "me", "kind": "human",
        ...                      "prompt": "base", "cell": [34, None, 34], "n": [1.0, 1.0, 2.5]})
        >>> counts = Counts.of(rows, rows=6, cols=10)
        >>> counts.table["n"].to_list(), (counts + counts).table["n"].to_list()
        ([1, 3], [2, 7])
    """

    rows: int
    cols: int
    table: pl.DataFrame
    parse_policies: frozenset[str] = frozenset()
    warnings: tuple[Problem, ...] = ()

    @classmethod
    def of(cls, table: pl.DataFrame, *, rows: int, cols: int) -> Counts:
        """Counts from rows that may repeat a key, in any order.

        Args:
            table: with the columns of `Counts.table`. `n` may have a fraction, which is rounded to parts; `parts` may
                be left out.
            rows: rows of the grid.
            cols: columns of the grid.

        Raises:
            OptionError: for missing columns or keys, a kind that there is not, cells outside the grid, or counts that
                are missing, negative, not finite, or of 2**53 answers and more.
        """
        import polars as pl

        if missing := [column for column in (*KEYS, "cell", "n") if column not in table.columns]:
            raise OptionError(
                f"counts need the columns {', '.join((*KEYS, 'cell', 'n'))}; missing {', '.join(missing)}"
            )
        keys = [*KEYS, *(["participant"] if "participant" in table.columns else [])]
        try:
            table = table.select(
                *(pl.col(key).cast(pl.String) for key in keys),
                pl.col("cell").cast(pl.Int64),
                pl.col("n").cast(pl.Float64),
                (pl.col("parts") if "parts" in table.columns else pl.lit(0)).cast(pl.Int64).alias("parts"),
            )
        except pl.exceptions.PolarsError as error:
            raise OptionError(f"counts have cells or numbers that are none: {str(error).splitlines()[0]}") from error
        if nameless := [key for key in KEYS if table[key].null_count()]:
            raise OptionError(f"counts need a {nameless[0]} in each row")
        if strange := sorted(set(table["kind"].unique()) - set(get_args(Kind))):
            raise OptionError(f"counts are of the kind {strange[0]!r}, expected {', '.join(get_args(Kind))}")
        cells, n, parts = table["cell"].drop_nulls(), table["n"], table["parts"]
        if len(cells) and not 0 <= int(cells.min()) <= int(cells.max()) < rows * cols:  # type: ignore[arg-type]
            raise OptionError(f"counts name cells outside the grid of {rows} x {cols}")
        if any(one.null_count() or not one.is_finite().all() or (one < 0).any() for one in (n, parts)):
            raise OptionError("counts are missing, negative or not finite")
        if answers(table).sum() >= LIMIT:
            raise OptionError("counts of 2**53 answers and more cannot be added exactly")
        whole = pl.col("n").floor()
        table = (
            table.with_columns(
                n=whole.cast(pl.Int64),
                parts=pl.col("parts").cast(pl.Int128) + ((pl.col("n") - whole) * PARTS).floor().cast(pl.Int64),
            )
            # Counts that are added come sorted; as long as they stay so, sorting them is no work.
            .group_by(*keys, "cell", maintain_order=True)
            .agg(pl.col("n", "parts").sum())
            .with_columns(
                n=pl.col("n") + (pl.col("parts") // PARTS).cast(pl.Int64),
                parts=(pl.col("parts") % PARTS).cast(pl.Int64),
            )
            .filter((pl.col("n") > 0) | (pl.col("parts") > 0))
            .sort(*keys, "cell")
        )
        return cls(rows, cols, table)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return (self.rows, self.cols) == (other.rows, other.cols) and self.table.equals(other.table)

    def __add__(self, other: Counts) -> Counts:
        """The counts of both; equal to counting the rows of both together."""
        return Counts.merge([self, other])

    @classmethod
    def merge(cls, parts: Iterable[Counts]) -> Counts:
        """The sum of several counts, of which few are held at a time.

        Raises:
            OptionError: if there are none, if their grids differ, or if only some tell participants apart.
        """
        held: list[Counts] = []
        for part in parts:
            held.append(part)
            if len(held) == _ADDED_AT_ONCE:
                held = [cls._sum(held)]
        return cls._sum(held)

    @classmethod
    def _sum(cls, parts: Sequence[Counts]) -> Counts:
        import polars as pl

        shapes = {(part.rows, part.cols) for part in parts}
        if not shapes:
            raise OptionError("there are no counts to add")
        if len(shapes) != 1:
            raise OptionError(f"counts of different grids do not add: {sorted(shapes)}")
        if len({tuple(part.table.columns) for part in parts}) != 1:
            raise OptionError("counts with and without participants do not add")
        ((rows, cols),) = shapes
        total = cls.of(pl.concat(part.table for part in parts), rows=rows, cols=cols)
        return replace(
            total,
            parse_policies=frozenset().union(*(part.parse_policies for part in parts)),
            warnings=tuple(warning for part in parts for warning in part.warnings),
        )

    @property
    def n_answers(self) -> float:
        """How many answers were counted."""
        return float(answers(self.table).sum())

    @property
    def n_cells(self) -> int:
        """How many cells the grid has."""
        return self.rows * self.cols

    @property
    def has_participants(self) -> bool:
        """Whether people are told apart."""
        return "participant" in self.table.columns

    def pooled(self) -> Counts:
        """The same counts without telling participants apart."""
        if not self.has_participants:
            return self
        counts = Counts.of(self.table.drop("participant"), rows=self.rows, cols=self.cols)
        return replace(self, table=counts.table)

    def digest(self) -> str:
        """SHA-256 over the counts; the same for the same counts, however they were read."""
        state = hashlib.sha256(f"{self.rows}x{self.cols}".encode())
        table = self.pooled().table
        for column in KEYS:
            state.update("".join(f"{text}\x1f" for text in table[column]).encode() + b"\x1e")
        state.update(table["cell"].fill_null(-1).to_numpy().astype("<i8").tobytes())
        for column in ("n", "parts"):
            state.update(table[column].to_numpy().astype("<i8").tobytes())
        return state.hexdigest()


def answers(rows: pl.DataFrame) -> FloatArray:
    """Number of answers in each row of a counts table, parts included; shape (n_rows,)."""
    return rows["n"].to_numpy() + rows["parts"].to_numpy() / PARTS


def dense(rows: pl.DataFrame, places: IntArray, n_places: int, n_cells: int) -> tuple[FloatArray, FloatArray]:
    """Rows of a counts table as arrays.

    Args:
        rows: with `cell`, `n` and `parts`.
        places: the place of each row on the arrays' first axis, shape (n_rows,); rows below 0 are excluded.
        n_places: length of that axis.
        n_cells: cells of the grid.

    Returns:
        Mass over the cells, shape (n_places, n_cells), and unparsed answers, shape (n_places,).
    """
    cell = rows["cell"].fill_null(n_cells).to_numpy()
    kept = places >= 0
    flat = places[kept] * (n_cells + 1) + cell[kept]
    sums = np.bincount(flat, weights=answers(rows)[kept], minlength=n_places * (n_cells + 1))
    table = sums.astype(float).reshape(n_places, n_cells + 1)
    return table[:, :-1], table[:, -1]

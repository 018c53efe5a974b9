"""Define counts: how often each respondent named each cell of each image.

Counts are the sufficient statistic of every Spot the Ball metric. Reading a file reduces it to counts, and counts of
several files can be added. Metrics, intervals and tests use only counts, not single responses.
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
"""Number of parts that an answer given as probabilities is divided into.

Sums of floats depend on the order of addition; sums of integer parts do not. A float represents each fraction of
`PARTS` from 0 to 1 exactly.
"""

LIMIT = 2**53
"""The number of counted answers must be below this limit, so that floats represent it exactly."""

_ADDED_AT_ONCE = 100
"""Number of `Counts` that are added at a time. A larger number needs more memory; a smaller one needs more sorting."""


@dataclass(frozen=True)
class Counts:
    """A table of counts over the cells of a grid of `rows` x `cols`.

    Attributes:
        rows: number of rows of the grid.
        cols: number of columns of the grid.
        table: one row for each (sport, image, respondent, kind, prompt, [participant,] cell) that was answered. Its
            columns are the keys, as text; `cell`, the cell's index, null for unparsed answers; `n`, the number of whole
            answers; and `parts`, the additional number of parts (`PARTS` make one answer) from answers given as
            probabilities. The rows are sorted by the keys, and each combination of keys occurs once.
        parse_policies: the names of the policies under which the counted replies were parsed, if known. `==` ignores
            them.
        warnings: signs that a file was misread, if files were read. `==` ignores them, too.

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
        """Return counts from rows, which may be in any order; rows with equal keys are added.

        Args:
            table: a table with the columns of `Counts.table`. A fraction in `n` is converted to parts, rounded down;
                `parts` is optional.
            rows: number of rows of the grid.
            cols: number of columns of the grid.

        Raises:
            OptionError: for missing columns or keys, values of a wrong type, an unknown kind, cells outside the grid,
                counts that are missing, negative or not finite, or a sum of at least 2**53 answers.
        """
        import polars as pl

        if not isinstance(table, pl.DataFrame):
            raise OptionError(
                f"found {type(table).__name__}, expected a Polars data frame", code="wrong-type", field="counts"
            )
        if missing := [column for column in (*KEYS, "cell", "n") if column not in table.columns]:
            raise OptionError(
                f"counts need the columns {', '.join((*KEYS, 'cell', 'n'))}. Add {', '.join(missing)}",
                code="missing-column",
            )
        keys = [*KEYS, *(["participant"] if "participant" in table.columns else [])]
        try:
            table = table.select(
                *(pl.col(key) if table.schema[key] == pl.Categorical else pl.col(key).cast(pl.String) for key in keys),
                pl.col("cell").cast(pl.Int64),
                pl.col("n").cast(pl.Float64),
                (pl.col("parts") if "parts" in table.columns else pl.lit(0)).cast(pl.Int64).alias("parts"),
            )
        except pl.exceptions.PolarsError as error:
            raise OptionError(
                f"a column contains values of the wrong type: {str(error).splitlines()[0]}. Use integers in "
                "`cell` and `parts`, numbers in `n`, and text in the other columns",
                code="invalid-value",
                field="counts",
            ) from error
        if nameless := [key for key in KEYS if table[key].null_count()]:
            raise OptionError(
                f"the column `{nameless[0]}` is empty in some rows. Fill it in every row",
                code="missing-value",
                field="counts",
            )
        if strange := sorted(set(table["kind"].unique()) - set(get_args(Kind))):
            raise OptionError(
                f"kind: found {strange[0]!r}, expected one of {', '.join(get_args(Kind))}",
                code="invalid-value",
                field="counts",
            )
        cells, n, parts = table["cell"].drop_nulls(), table["n"], table["parts"]
        if len(cells) and not 0 <= int(cells.min()) <= int(cells.max()) < rows * cols:  # type: ignore[arg-type]
            raise OptionError(
                f"the column `cell` contains cells outside the grid of {rows} x {cols}. Number the cells row "
                f"by row, from 0 to {rows * cols - 1}",
                code="invalid-value",
                field="counts",
            )
        if wrong := [
            one.name for one in (n, parts) if one.null_count() or not one.is_finite().all() or (one < 0).any()
        ]:
            raise OptionError(
                f"the column `{wrong[0]}` contains values that are missing, negative or not finite. Correct these rows",
                code="invalid-value",
                field="counts",
            )
        if answers(table).sum() >= LIMIT:
            raise OptionError(
                "found 2**53 or more answers, which cannot be added exactly. Use fewer answers",
                code="invalid-value",
                field="counts",
            )
        whole = pl.col("n").floor()
        # Numbers in the order of the texts are faster to group and sort, and need less memory.
        texts = {key: table[key].unique().drop_nulls().cast(pl.String).sort() for key in keys}
        numbered = [pl.col(key).cast(pl.Enum(text)) for key, text in texts.items()]
        table = (
            table.with_columns(
                *numbered,
                n=whole.cast(pl.Int64),
                parts=pl.col("parts").cast(pl.Int128) + ((pl.col("n") - whole) * PARTS).floor().cast(pl.Int64),
            )
            .group_by(*keys, "cell")
            .agg(pl.col("n", "parts").sum())
            .with_columns(
                n=pl.col("n") + (pl.col("parts") // PARTS).cast(pl.Int64),
                parts=(pl.col("parts") % PARTS).cast(pl.Int64),
            )
            .filter((pl.col("n") > 0) | (pl.col("parts") > 0))
            .sort(*keys, "cell")
            .with_columns(pl.col(keys).cast(pl.String))
        )
        return cls(rows, cols, table)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return (self.rows, self.cols) == (other.rows, other.cols) and self.table.equals(other.table)

    def __add__(self, other: Counts) -> Counts:
        """Return the sum of both counts. It equals the counts of the combined responses."""
        return Counts.merge([self, other])

    @classmethod
    def merge(cls, parts: Iterable[Counts]) -> Counts:
        """Return the sum of several counts. At most 100 of them are in memory at a time.

        Raises:
            OptionError: if `parts` is empty, the grids differ, or only some of the counts have participants.
        """
        held: list[Counts] = []
        for part in parts:
            if not isinstance(part, Counts):
                raise OptionError(f"found {type(part).__name__}, expected Counts", code="wrong-type", field="counts")
            held.append(part)
            if len(held) == _ADDED_AT_ONCE:
                held = [cls._sum(held)]
        return cls._sum(held)

    @classmethod
    def _sum(cls, parts: Sequence[Counts]) -> Counts:
        import polars as pl

        shapes = {(part.rows, part.cols) for part in parts}
        if not shapes:
            raise OptionError("found none. Pass at least one", code="no-data", field="counts")
        if len(shapes) != 1:
            listed = ", ".join(f"{rows} x {cols}" for rows, cols in sorted(shapes))
            raise OptionError(
                f"counts of different grids cannot be added: {listed}. Score the images of each grid size separately",
                code="different-grids",
            )
        if len({tuple(part.table.columns) for part in parts}) != 1:
            raise OptionError(
                "counts with and without participants cannot be added. Count all files with --participants, or all "
                "without",
                code="incompatible-data",
            )
        if len(parts) == 1:
            return parts[0]
        ((rows, cols),) = shapes
        total = cls.of(pl.concat(part.table for part in parts), rows=rows, cols=cols)
        return replace(
            total,
            parse_policies=frozenset().union(*(part.parse_policies for part in parts)),
            warnings=tuple(warning for part in parts for warning in part.warnings),
        )

    @property
    def n_answers(self) -> float:
        """The number of counted answers."""
        return float(answers(self.table).sum())

    @property
    def n_cells(self) -> int:
        """The number of cells of the grid."""
        return self.rows * self.cols

    @property
    def has_participants(self) -> bool:
        """Whether participants are counted separately."""
        return "participant" in self.table.columns

    def pooled(self) -> Counts:
        """Return the counts summed over participants."""
        if not self.has_participants:
            return self
        counts = Counts.of(self.table.drop("participant"), rows=self.rows, cols=self.cols)
        return replace(self, table=counts.table)

    def digest(self) -> str:
        """Return the SHA-256 of the counts, summed over participants. Equal counts have the same digest."""
        state = hashlib.sha256(f"{self.rows}x{self.cols}".encode())
        table = self.pooled().table
        for column in KEYS:
            state.update(((table[column] + "\x1f").str.join("").item() or "").encode() + b"\x1e")
        state.update(table["cell"].fill_null(-1).to_numpy().astype("<i8").tobytes())
        for column in ("n", "parts"):
            state.update(table[column].to_numpy().astype("<i8").tobytes())
        return state.hexdigest()


def answers(rows: pl.DataFrame) -> FloatArray:
    """Return the number of answers in each row of a counts table, including parts; shape (n_rows,)."""
    return rows["n"].to_numpy() + rows["parts"].to_numpy() / PARTS


def dense(rows: pl.DataFrame, places: IntArray, n_places: int, n_cells: int) -> tuple[FloatArray, FloatArray]:
    """Convert rows of a counts table to arrays.

    Args:
        rows: rows with `cell`, `n` and `parts`.
        places: the index of each row on the arrays' first axis, shape (n_rows,); rows with a negative index are
            excluded.
        n_places: length of the arrays' first axis.
        n_cells: number of cells of the grid.

    Returns:
        Number of answers in each cell, shape (n_places, n_cells), and of unparsed answers, shape (n_places,).
    """
    cell = rows["cell"].fill_null(n_cells).to_numpy()
    kept = places >= 0
    flat = places[kept] * (n_cells + 1) + cell[kept]
    sums = np.bincount(flat, weights=answers(rows)[kept], minlength=n_places * (n_cells + 1))
    table = sums.astype(float).reshape(n_places, n_cells + 1)
    return table[:, :-1], table[:, -1]

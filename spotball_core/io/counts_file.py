"""Counts in a file: what one machine counted, for another to add to its own.

A `.counts` file is Parquet: the columns of `Counts.table`, and in each row the grid's rows and columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from spotball_core.counts import KEYS, Counts
from spotball_core.errors import InputError, OptionError, Problem
from spotball_core.io.files import replacing

ENDING = ".counts"


def write_counts(counts: Counts, path: str | Path) -> None:
    """Write counts; the file is whole or not there.

    Raises:
        OptionError: for an ending other than `.counts`.
    """
    import polars as pl

    if Path(path).suffix != ENDING:
        raise OptionError(f"{path}: counts are written to a file that ends in {ENDING}")
    grid = {"grid_rows": pl.lit(counts.rows), "grid_cols": pl.lit(counts.cols)}
    with replacing(path) as beside:
        counts.table.with_columns(**grid).write_parquet(beside)


def read_counts_file(path: str | Path) -> Counts:
    """Read counts that `write_counts` wrote, or that another engine made with the same columns.

    Raises:
        InputError: if the file cannot be read, or holds no counts.
    """
    import polars as pl

    def broken(found: str, expected: str) -> InputError:
        return InputError([Problem(str(path), None, "file", found, expected)])

    if not Path(path).is_file():
        raise broken("nothing there", "a file of counts")
    try:
        table = pl.read_parquet(path)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise broken(str(error).splitlines()[0], "a Parquet file of counts") from error
    wanted = (*KEYS, "cell", "n", "grid_rows", "grid_cols")
    if missing := [column for column in wanted if column not in table.columns]:
        raise broken(f"the columns {', '.join(table.columns)}", f"also {', '.join(missing)}")
    shapes = table.select("grid_rows", "grid_cols").unique().rows()
    if len(shapes) != 1:
        raise broken(f"{len(shapes)} grids", "counts of one grid")
    ((rows, cols),) = shapes
    try:
        return Counts.of(table, rows=rows, cols=cols)
    except OptionError as error:
        raise broken(str(error), "counts") from error


def merged(parts: Iterable[Counts], *, participants: bool) -> Counts:
    """The sum of counts of which some may tell participants apart and others not.

    Args:
        parts: at least one.
        participants: keep participants apart; counts that do not know them then belong to none.
    """
    import polars as pl

    if not participants:
        return Counts.merge(part.pooled() for part in parts)
    nobody = pl.lit(None, pl.String).alias("participant")
    return Counts.merge(
        part if part.has_participants else Counts.of(part.table.with_columns(nobody), rows=part.rows, cols=part.cols)
        for part in parts
    )

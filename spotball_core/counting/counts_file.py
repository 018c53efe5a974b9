"""Read and write counts files, so that counts from several machines can be added.

A `.counts` file is a Parquet file. It has the columns of `Counts.table`, two columns with the grid's numbers of rows
and columns, and, if the parse policies are known, a column with their names.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from spotball_core.counting.counts import PARTS, Counts
from spotball_core.counting.parse_record import PARSE_POLICIES
from spotball_core.error_codes import Code
from spotball_core.errors import InputError, OptionError, Problem, plain
from spotball_core.io.frames import KEYS
from spotball_core.io.sources import COUNTS_ENDING
from spotball_core.service.files import replacing
from spotball_core.service.unpacked_size import check_parquet_size

if TYPE_CHECKING:
    import polars as pl


def write_counts(counts: Counts, path: str | Path) -> None:
    """Write counts to a file. If writing fails, no partial file remains.

    Raises:
        OptionError: if the path does not end in `.counts`.
    """
    import polars as pl

    if Path(path).suffix != COUNTS_ENDING:
        raise OptionError(f"expected a file name ending in {COUNTS_ENDING}", code="unsupported-format", file=path)
    constant = {"grid_rows": pl.lit(counts.rows), "grid_cols": pl.lit(counts.cols)}
    if counts.parse_policies:
        constant["parse_policies"] = pl.lit(",".join(sorted(counts.parse_policies)))
    with replacing(path) as beside:
        counts.table.with_columns(**constant).write_parquet(beside)


def read_counts_file(path: str | Path) -> Counts:
    """Read counts that `write_counts` wrote, or that another engine wrote with the same columns.

    Raises:
        InputError: if the file is missing, cannot be read, or does not contain valid counts.
    """
    import polars as pl

    def broken(code: Code, found: str, expected: str) -> InputError:
        return InputError([Problem(code, str(path), None, "file", found, expected)])

    if not Path(path).is_file():
        raise broken("missing-file", "no such file", "a file of counts")
    check_parquet_size(Path(path))
    try:
        table = pl.read_parquet(glob.escape(str(Path(path).absolute())), hive_partitioning=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        # For some damaged Parquet files, Polars raises a panic, which is not an Exception.
        said = next(iter(str(error).splitlines()), type(error).__name__)
        raise broken("unreadable-file", plain(said, 200), "a Parquet file of counts") from error
    wanted = (*KEYS, "cell", "n", "grid_rows", "grid_cols")
    if missing := [column for column in wanted if column not in table.columns]:
        raise broken(
            "missing-column", f"the columns {', '.join(table.columns)}", f"also the columns {', '.join(missing)}"
        )
    if wrong := _wrong_column(table):
        raise InputError([Problem("invalid-value", str(path), None, *wrong)])
    if several := _of_several_kinds(table):
        expected = "one kind per respondent. Use the same value in all rows of the respondent"
        raise InputError([Problem("incompatible-data", str(path), None, "kind", several, expected)])
    shapes = table.select("grid_rows", "grid_cols").unique().rows()
    if len(shapes) != 1:
        raise broken(
            "different-grids", f"{len(shapes)} grid sizes", "one. Count the images of each grid size separately"
        )
    ((rows, cols),) = shapes
    if not (rows and cols and rows >= 1 and cols >= 1):
        raise broken("invalid-value", f"a grid of {rows} x {cols}", "at least one row and one column")
    listed = table["parse_policies"].drop_nulls().unique() if "parse_policies" in table.columns else ()
    policies = frozenset(name for names in listed for name in str(names).split(","))
    if not policies.issubset(PARSE_POLICIES):
        unknown = plain(", ".join(sorted(policies.difference(PARSE_POLICIES))), 200)
        expected = ", ".join(sorted(PARSE_POLICIES))
        raise InputError([Problem("invalid-value", str(path), None, "parse_policies", unknown, expected)])
    try:
        counts = Counts.of(table, rows=rows, cols=cols)
    except OptionError as error:
        raise broken("wrong-file", f"invalid counts ({error})", "valid counts") from error
    return replace(counts, parse_policies=policies)


def _wrong_column(table: pl.DataFrame) -> tuple[str, str, str] | None:
    """Return the first column with a wrong type or value, what was found and what was expected, or None."""
    import polars as pl

    def value(wrong: pl.Expr) -> object:
        return table.filter(wrong)[column][0]

    keys = [*KEYS, *(["participant"] if "participant" in table.columns else [])]
    for column in keys:
        dtype = table.schema[column]
        if not isinstance(dtype, (pl.String, pl.Categorical, pl.Enum, pl.Null)):
            return column, f"a column of type {dtype}", "text"
        if table.filter(pl.col(column).cast(pl.String).str.strip_chars() == "").height:
            return column, "an empty text", "a name"
    for column in ("cell", "parts", "grid_rows", "grid_cols"):
        if column in table.columns and not (dtype := table.schema[column]).is_integer() and dtype != pl.Null:
            return column, f"a column of type {dtype}", "integers"
    if not table.schema["n"].is_numeric():
        return "n", f"a column of type {table.schema['n']}", "numbers"
    if "parts" in table.columns:
        column = "parts"
        outside = ~pl.col("parts").is_between(0, PARTS - 1)
        if table.filter(outside).height:
            return column, str(value(outside)), "an integer from 0 to 2**53 - 1"
    return None


def _of_several_kinds(table: pl.DataFrame) -> str | None:
    """Describe the first respondent with more than one kind, and its kinds; return None if each has only one kind."""
    import polars as pl

    kinds = table.select("respondent", pl.col("kind").cast(pl.String)).group_by("respondent").agg(pl.all().unique())
    several = kinds.filter(pl.col("kind").list.len() > 1).sort("respondent")
    if several.is_empty():
        return None
    respondent, found = several.row(0)
    return f"{' and '.join(sorted(map(str, found)))} for the respondent {respondent!r}"


def merged(parts: Iterable[Counts], *, participants: bool) -> Counts:
    """Return the sum of several counts; some may have participants and others not.

    Args:
        parts: the counts to add; at least one.
        participants: whether to keep participants separate. If so, counts without participants get a null participant.

    Raises:
        OptionError: if a respondent has more than one kind, or the parts' grids differ.
    """
    import polars as pl

    nobody = pl.lit(None, pl.String).alias("participant")

    def told_apart(part: Counts) -> Counts:
        if part.has_participants:
            return part
        counts = Counts.of(part.table.with_columns(nobody), rows=part.rows, cols=part.cols)
        return replace(part, table=counts.table)

    together = Counts.merge(told_apart(part) if participants else part.pooled() for part in parts)
    if several := _of_several_kinds(together.table):
        raise OptionError(
            f"the files give one respondent different kinds: {several}. Use one value per respondent in the column "
            "`kind`",
            code="incompatible-data",
        )
    return together

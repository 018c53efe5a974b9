"""Read a CSV file as columns of text, check its rows, and report all invalid rows in one error."""

from __future__ import annotations

import glob
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from spotball_core.error_codes import Code
from spotball_core.errors import InputError, Problem, plain
from spotball_core.io.column_checks import doubtful
from spotball_core.io.csv_records import read_layout
from spotball_core.io.sources import check_not_compressed, not_a_name, problems_of, unreadable
from spotball_core.schema.record import NAME_RULE
from spotball_core.service.safe_text import csv_restored

if TYPE_CHECKING:
    import polars as pl

_MARK = "\x1f"
_PEEK = 4096


class Rows:
    """The rows of a CSV file as text. Spaces around values are removed, and empty values are null.

    Attributes:
        path: the file.
        frame: the columns as text, and `_record`, the index of each record, from 0.
    """

    def __init__(self, path: str | Path) -> None:
        """Read a file.

        Raises:
            InputError: if the file does not exist, is empty or compressed, is not a CSV file in UTF-8, has no rows, or
                has incomplete records.
        """
        import polars as pl

        self.path = Path(path)
        self._checks: list[pl.Expr] = []
        if not self.path.is_file():
            raise self.broken(
                "missing-file", "a folder" if self.path.is_dir() else "no such file", "a CSV file. Check the path"
            )
        if self.path.stat().st_size == 0:
            raise self.broken("no-data", "an empty file", "a header and at least one row")
        check_not_compressed(self.path)
        with self.path.open("rb") as file:
            if b"\0" in file.read(_PEEK):
                raise self.broken(
                    "unreadable-file",
                    "bytes that are not UTF-8 text",
                    "a CSV file in UTF-8. Save the table as CSV in UTF-8",
                )
        layout = read_layout(self.path)
        if layout.problems:
            raise InputError(layout.problems)
        try:
            name = glob.escape(str(self.path.absolute()))
            frame = pl.scan_csv(name, infer_schema=False, row_index_name="_record").collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise unreadable(self.path, error) from error
        if layout.blank:
            frame = frame.filter(~pl.col("_record").is_in(layout.blank))
        text = csv_restored(pl.col(pl.String)).str.strip_chars()
        self.frame = frame.with_columns(pl.when(text != "").then(text).name.keep())
        if frame.is_empty():
            raise self.broken("no-data", "a header without rows", "at least one row")

    def broken(self, code: Code, actual: str, expected: str, field: str = "file") -> InputError:
        """Return an error that concerns the whole file and not a single row.

        Args:
            code: the kind of problem.
            actual: what the file contains, in words.
            expected: what the file should contain, in words.
            field: the column or the part of the file that the error names.
        """
        return InputError([Problem(code, str(self.path), None, field, actual, expected)])

    def know(self, columns: Iterable[str]) -> None:
        """Raise InputError for duplicate columns, and for an unknown column that may be a misspelled name."""
        present = [column for column in self.frame.columns if column != "_record"]
        if problems := [*doubtful(str(self.path), present, tuple(columns))]:
            raise InputError(problems)

    def need(self, columns: Iterable[str]) -> None:
        """Raise InputError if any of the given columns is missing."""
        present = [column for column in self.frame.columns if column != "_record"]
        listed = plain(", ".join(present), limit=200)
        missing = [column for column in columns if column not in present]
        if missing:
            actual = f"the columns {listed}"
            raise InputError(
                [
                    Problem(
                        "missing-column",
                        str(self.path),
                        None,
                        name,
                        actual,
                        f"a column `{name}`. Rename or add the column",
                    )
                    for name in missing
                ]
            )

    def optional(self, columns: Iterable[str]) -> None:
        """Add those of the given columns that are missing, with null values."""
        import polars as pl

        missing = [column for column in columns if column not in self.frame.columns]
        self.frame = self.frame.with_columns(pl.lit(None, pl.String).alias(name) for name in missing)

    def check(
        self,
        wrong: pl.Expr,
        field: str,
        actual: pl.Expr | str,
        expected: pl.Expr | str,
        code: Code = "invalid-value",
    ) -> None:
        """Add a check of all rows, which `settle` runs.

        If a row fails several checks, only the first is reported.

        Args:
            wrong: expression that is true for invalid rows.
            field: the column that the error names.
            actual: the invalid value, as the error quotes it.
            expected: description of valid values.
            code: the kind of problem.
        """
        import polars as pl

        parts = [pl.lit(part) if isinstance(part, str) else part for part in (code, field, actual, expected)]
        message = pl.concat_str([part.fill_null("nothing") for part in parts], separator=_MARK)
        self._checks.append(pl.when(wrong.fill_null(False)).then(message))

    def names(self, columns: Iterable[str]) -> None:
        """Add a check that the values of the given columns are names: not too long, and without control characters."""
        import polars as pl

        for column in columns:
            self.check(not_a_name(pl.col(column)), column, quoted(column), NAME_RULE)

    def settle(self) -> None:
        """Run checks added since the last call; if rows are invalid, raise InputError with one problem per cause."""
        import polars as pl

        if not self._checks:
            return
        message = pl.coalesce(self._checks).str.split(_MARK)
        texts = {name: message.list.get(i) for i, name in enumerate(("code", "field", "found", "expected"))}
        faults = self.frame.select("_record", **texts).filter(pl.col("field").is_not_null())
        self._checks.clear()
        if not faults.is_empty():
            raise InputError(problems_of(str(self.path), self.path, faults))


def quoted(column: str) -> pl.Expr:
    """Return an expression for a column's values in quotes; null where the column is null."""
    import polars as pl

    return pl.format("'{}'", pl.col(column))

"""Read a CSV file as columns of text, check its rows, and report all invalid rows in one error."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from spotball_core.error_codes import Code
from spotball_core.errors import InputError, Problem, plain
from spotball_core.io.column_checks import doubtful
from spotball_core.io.csv_records import read_layout, record_lines
from spotball_core.io.plain_files import plain_files
from spotball_core.io.sources import check_not_compressed, not_a_name, problems_of, unreadable
from spotball_core.schema.record import NAME_RULE
from spotball_core.service.safe_text import csv_restored

if TYPE_CHECKING:
    import polars as pl

_MARK = "\x1f"
_PEEK = 4096


def ignore_assumed(problem: Problem) -> None:
    """Do nothing with an assumption about the format of a file."""


class Rows:
    """The rows of a CSV file as text. Spaces around values are removed, and empty values are null.

    Attributes:
        path: the file.
        frame: the columns as text, and `_record`, the index of each record, from 0.
    """

    def __init__(
        self, path: str | Path, *, in_folder: str = "", on_assumed: Callable[[Problem], None] = ignore_assumed
    ) -> None:
        """Read a file in a format that `spotball score` reads, for example with semicolons or in UTF-16.

        Args:
            path: the file, or a folder that contains it.
            in_folder: name of the file in a folder.
            on_assumed: called with each assumption about the format of the file.

        Raises:
            InputError: if the file does not exist, is empty, is not a CSV file, has no rows, or has incomplete records.
        """
        self.path = Path(path)
        if in_folder and self.path.is_dir():
            self.path /= in_folder
        self._checks: list[pl.Expr] = []
        self._lines: dict[int, int] | None = None
        with plain_files([self.path]) as plain:
            self.frame = self._read(plain.paths[0])
            if plain.paths != plain.given:
                # The copy is deleted, and the records of the original file may be arranged differently.
                self._lines = record_lines(plain.paths[0], self.frame["_record"])
        for problem in plain.assumed:
            on_assumed(problem)

    def lines(self, records: Iterable[int]) -> dict[int, int]:
        """Return the line, from 1, on which each record starts."""
        return record_lines(self.path, records) if self._lines is None else self._lines

    def _read(self, file: Path) -> pl.DataFrame:
        import polars as pl

        if not file.is_file():
            raise self.broken(
                "missing-file", "a folder" if file.is_dir() else "no such file", "a CSV file. Check the path"
            )
        if file.stat().st_size == 0:
            raise self.broken("no-data", "an empty file", "a header and at least one row")
        check_not_compressed(file)
        with file.open("rb") as content:
            if b"\0" in content.read(_PEEK):
                raise self.broken(
                    "unreadable-file",
                    "bytes that are not UTF-8 text",
                    "a CSV file in UTF-8. Save the table as CSV in UTF-8",
                )
        layout = read_layout(file)
        if layout.problems:
            raise InputError(layout.problems)
        try:
            name = glob.escape(str(file.absolute()))
            frame = pl.scan_csv(name, infer_schema=False, row_index_name="_record").collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
            raise unreadable(file, error) from error
        if layout.blank:
            frame = frame.filter(~pl.col("_record").is_in(layout.blank))
        text = csv_restored(pl.col(pl.String)).str.strip_chars()
        if frame.is_empty():
            raise self.broken("no-data", "a header without rows", "at least one row")
        return frame.with_columns(pl.when(text != "").then(text).name.keep())

    def broken(self, code: Code, actual: str, expected: str, field: str = "file") -> InputError:
        """Return an error that concerns the whole file and not a single row.

        Args:
            code: the kind of problem.
            actual: what the file contains, in words.
            expected: what the file should contain, in words.
            field: the column or the part of the file that the error names.
        """
        return InputError.of(code, self.path, field, actual, expected)

    def know(self, columns: Iterable[str]) -> None:
        """Raise InputError for duplicate columns, and for an unknown column that may be a misspelled name."""
        present = [column for column in self.frame.columns if column != "_record"]
        if problems := [*doubtful(str(self.path), present, tuple(columns))]:
            raise InputError(problems)

    def need(self, columns: Iterable[str], fix: str = "Rename or add the column") -> None:
        """Raise InputError with the advice `fix` if any of the given columns is missing."""
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
                        f"a column `{name}`. {fix}",
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
            lines = self.lines(faults["_record"])
            start = pl.col("_record").replace_strict(lines, return_dtype=pl.UInt32) - 1
            raise InputError(problems_of(str(self.path), None, faults.with_columns(_record=start)))


def quoted(column: str) -> pl.Expr:
    """Return an expression for a column's values in quotes; null where the column is null."""
    import polars as pl

    return pl.format("'{}'", pl.col(column))

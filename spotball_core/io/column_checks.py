"""Check the columns of a table: a misspelled or missing column would silently change the numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from spotball_core.errors import InputError, Problem, plain
from spotball_core.io.columns import NAMES, ColumnNames, likely_column

MAX_COLUMNS = 2000
"""Maximum number of columns. A file with more does not contain responses, and checking it would take minutes."""


def check_header(name: str, columns: Sequence[str]) -> None:
    """Raise InputError if the columns of a table show that it is of another format, or has too many columns."""
    if len(columns) > MAX_COLUMNS:
        raise InputError.of("too-large", name, "file", f"{len(columns)} columns", f"at most {MAX_COLUMNS}")
    if len(columns) != 1:
        return
    if "|" in columns[0]:
        expected = "fields separated by commas. Save the file with commas between the fields"
        raise InputError.of("wrong-file", name, "header", "fields separated by bars", expected, line=1)
    if columns[0].startswith("PK\x03\x04"):
        expected = "a text file. Save the spreadsheet as CSV; renaming an Excel file is not enough"
        raise InputError.of("unreadable-file", name, "file", "an Excel or zip file", expected)


def doubtful(
    file: str, columns: Sequence[str], read: Iterable[str], also: Iterable[str] = (), *, fix: str = ""
) -> Iterator[Problem]:
    """Yield a problem for each duplicate column, and for each name that is similar to a missing column.

    A misspelled column would be ignored and silently change the numbers.

    Args:
        file: the name of the file.
        columns: the columns, as Polars names them.
        read: columns that affect scores.
        also: other known columns.
        fix: advice to the user.
    """
    present, similar = set(columns), _similar(columns, read, also)
    for column in columns:
        if f"{column}_duplicated_0" in present:  # Polars names the second of two equal columns like this.
            expected = "only one. Remove or rename the other column"
            yield Problem("duplicate", file, None, plain(column), "two columns with this name", expected, fix=fix)
        if missing := [name for name in similar.get(column, ()) if name not in present]:
            yield Problem("unknown-column", file, None, plain(column), "an unknown column", _meant(missing[0]), fix=fix)


def _similar(columns: Iterable[str], read: Iterable[str], also: Iterable[str]) -> dict[str, list[str]]:
    """Return the names in `read` that are similar to each unknown column, most similar first."""
    from difflib import get_close_matches

    long = [name for name in read if len(name) > 2]
    expected_names = {*read, *also}
    close = {
        name: get_close_matches(name.lower(), long, n=len(long) or 1, cutoff=0.8)
        for name in {*columns} - expected_names
    }
    return {name: names for name, names in close.items() if names}


def _meant(column: str) -> str:
    return (
        f"the column {column}. Rename the unknown column to {column} if this was meant, or else to a name that is less "
        f"similar to {column}"
    )


def option_for(
    columns: Sequence[str], names: ColumnNames, missing: Mapping[str, str], read: Sequence[str], known: Sequence[str]
) -> str:
    """Return advice to name misspelled columns and those that are probably missing ones; empty if there are none.

    Args:
        columns: the columns, under the names that readers use.
        names: the names of columns that the user has given.
        missing: the missing columns (`image`, `cell` or `ball`), with the names that they should be given.
        read: columns that affect scores.
        known: other known columns.
    """
    unknown = [column for column in columns if column not in NAMES]
    likely = {name: theirs for ours, name in missing.items() if (theirs := likely_column(ours, unknown))}
    similar = _similar(columns, read, known)
    for column in columns:
        if absent := [name for name in similar.get(column, ()) if name not in columns]:
            likely.setdefault(absent[0], column)
    return names.option(likely)


def meant_by(columns: Iterable[str], read: Sequence[str], known: Sequence[str]) -> set[str]:
    """Return the names in `read` that unknown columns were probably meant to have."""
    return {similar[0] for similar in _similar(columns, read, known).values()}


def check_shapes(
    name: str,
    shapes: Mapping[tuple[str, ...], int],
    names: ColumnNames,
    read: Sequence[str],
    known: Sequence[str],
) -> None:
    """Raise InputError if a record has a misspelled key that other records spell correctly.

    Args:
        name: the name of the source.
        shapes: each distinct sequence of keys, with the first line that has it.
        names: the names of columns that the user has given.
        read: keys that affect scores.
        known: other known keys.
    """
    problems: dict[str, Problem] = {}
    similar = _similar(chain.from_iterable(names.readable(shape).values() for shape in shapes), read, known)
    for shape, line in shapes.items() if similar else ():
        columns = list(names.readable(shape).values())
        for column in columns:
            if absent := [other for other in similar.get(column, ()) if other not in columns]:
                found, expected = "an unknown column", _meant(absent[0])
                problems.setdefault(column, Problem("unknown-column", name, line, plain(column), found, expected))
    if problems:
        raise InputError(list(problems.values()))

"""Read the published figures in the files of a release."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from spotball_core.error_codes import Code
from spotball_core.errors import InputError, Problem
from spotball_core.release.reader import PROMPTS
from spotball_core.release.tables import SPORTS
from spotball_core.replication.published import Catalog, Published, ReleaseFile

_PEOPLE = ("", "human", "humans")
_KEYS = ("sport", "model", "level")


def read_release_figures(data: Path, catalog: Catalog) -> tuple[Published, ...]:
    """Return the published figures in the release's files, except those that the paper also prints.

    Args:
        data: the release's data folder. Missing files are skipped.
        catalog: the catalog that lists the files, and the figures that the paper prints.

    Raises:
        InputError: if files cannot be read or have invalid values. It lists the problems of all files.
    """
    printed = {_place(figure) for figure in catalog.printed}
    figures: list[Published] = []
    problems: list[Problem] = []
    for source in catalog.release_files:
        if not (data / source.file).exists():
            continue
        for row in _rows(data / source.file, source, problems):
            figures += (figure for figure in row if _place(figure) not in printed)
    if problems:
        raise InputError(problems)
    return tuple(figures)


def _place(figure: Published) -> tuple[str | None, ...]:
    return figure.where, figure.sport, figure.respondent, figure.prompt, figure.quantity


def _rows(path: Path, source: ReleaseFile, problems: list[Problem]) -> Iterator[list[Published]]:
    """Yield the figures of each row of a file, and append problems with the file to `problems`."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            needed = (*_KEYS, *source.columns, *([source.n] if source.n else []))
            columns = reader.fieldnames or []
            if missing := [column for column in needed if column not in columns]:
                actual = f"the columns {', '.join(columns) or 'none'}"
                problems += (
                    Problem("missing-column", str(path), 1, column, actual, f"a column {column}") for column in missing
                )
                return
            seen: set[tuple[str, ...]] = set()
            for row in reader:
                cells = {column: (row[column] or "").strip() for column in needed}
                condition = tuple(cells[key].lower() for key in _KEYS)
                if condition in seen:
                    actual = f"a second row of {', '.join(filter(None, condition))}"
                    problems.append(
                        Problem("duplicate", str(path), reader.line_num, "row", actual, "each condition once")
                    )
                seen.add(condition)
                yield _figures(path, reader.line_num, cells, source, problems)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        code: Code = "invalid-csv" if isinstance(error, csv.Error) else "unreadable-file"
        problems.append(Problem(code, str(path), None, "file", str(error), "a readable csv file in UTF-8"))


def _figures(
    path: Path, line: int, cells: dict[str, str], source: ReleaseFile, problems: list[Problem]
) -> list[Published]:
    def wrong(field: str, expected: str) -> None:
        problems.append(
            Problem(
                "invalid-value",
                str(path),
                line,
                field,
                repr(cells[field])[:80] if cells[field] else "nothing",
                expected,
            )
        )

    n_before = len(problems)
    people = cells["model"].lower() in _PEOPLE
    sport = SPORTS.get(cells["sport"].lower())
    # Levels were once read as numbers, and written as 2.0.
    prompt = PROMPTS.get(cells["level"].removesuffix(".0"), "base" if people and not cells["level"] else None)
    if sport is None:
        wrong("sport", f"one of {', '.join(SPORTS)}")
    if prompt is None:
        wrong("level", f"one of {', '.join(PROMPTS)}")
    n = None
    if source.n:
        if not cells[source.n].isascii() or not cells[source.n].isdigit():
            wrong(source.n, "a whole number")
        else:
            n = int(cells[source.n])
    figures = []
    for column, quantity in source.columns.items():
        try:
            figures.append(
                Published(
                    where=source.where,
                    quantity=quantity,
                    value=cells[column],
                    read_from=f"{source.file}, column {column}",
                    sport=sport,
                    respondent="human" if people else cells["model"].lower(),
                    prompt=prompt,
                    n=n,
                )
            )
        except ValueError:
            wrong(column, "a number")
    return figures if len(problems) == n_before else []

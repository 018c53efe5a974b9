"""Describe signs that a file was misread, with the first values that show each sign, their lines, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from spotball_core.counting.counts import Counts, answers
from spotball_core.counting.signs import KEYS, OPTIONS, UNIT, Sign, balls_of, of_cells, shown_by_cells, signs
from spotball_core.error_codes import Code
from spotball_core.errors import InputError, Problem, plain
from spotball_core.grid import Grid
from spotball_core.io.cells import cell_at
from spotball_core.io.sources import line_numbers
from spotball_core.schema.scene import Scene

if TYPE_CHECKING:
    import polars as pl

    from spotball_core.counting.responses import Reader

SHOWN_EXAMPLES = 3
"""Maximum number of quoted values per sign."""

SHOWN_FILES = 5
"""Maximum number of other files named per sign."""


def warnings_of(reader: Reader, shown: Iterable[Sign]) -> tuple[Problem, ...]:
    """Return one warning per kind of sign: the details of the first source that shows it, and the names of the other
    sources."""
    by_name: dict[str, list[Sign]] = {}
    for sign in shown:
        by_name.setdefault(sign.name, []).append(sign)
    return tuple(
        _with_others(_described(reader, first), [reader.sources[sign.source].name for sign in others])
        for first, *others in by_name.values()
    )


def check_signs(warnings: tuple[Problem, ...], *, accept_signs: bool) -> tuple[Problem, ...]:
    """Return the warnings, unless one leaves no doubt that answers were misread.

    Raises:
        InputError: with the warnings that leave no doubt, unless `accept_signs`.
    """
    certain = [warning for warning in warnings if warning.code == "misread-answers"]
    if certain and not accept_signs:
        raise InputError(certain)
    return warnings


def _described(reader: Reader, sign: Sign) -> Problem:
    examples = _examples(reader, sign)
    source = reader.sources[sign.source]
    lines = line_numbers(source.path, examples["_record"]) if source.path else {}
    first = [lines.get(record, record + 1) for record in examples["_record"]]
    field, quoted = _quoted(examples, sign.name)
    of = examples.row(0, named=True)
    what, expected = _texts(sign, reader.grid, image=of["image"], size=f"{of['_width']:g} x {of['_height']:g}")
    shown = "; ".join(f"line {line}: {value}" for line, value in zip(first, quoted, strict=True))
    option, value = OPTIONS.get(sign.name, ("", None))
    # An option that was given is the user's decision.
    if sign.name not in OPTIONS or (option and reader.options.get(option) is not None):
        code: Code = "assumed-format" if sign.name in ("renamed", "wrapped") else "invalid-value"
        return Problem(code, source.name, first[0], field, f"{what} ({shown})", expected)
    flag = f"--{option.replace('_', '-')} {value}"
    fix = f"Add {flag} (in Python: {option}={value!r}), or --accept-signs to count them unchanged"
    if not option:
        expected, _, fix = expected.partition(". ")
    elif value is None:
        fix = "Convert the points to pixels of the image. If they are from 0 to 1000, add --point-scale 1000"
    return Problem("misread-answers", source.name, first[0], field, f"{what} ({shown})", expected, fix=fix)


def warnings_of_counts(counts: Counts, scenes: Sequence[Scene], files: Sequence[Path]) -> tuple[Problem, ...]:
    """Return warnings about counts files that may come from misread files.

    The warnings do not quote lines or original values, because counts files do not contain them.
    """
    import polars as pl

    if {(scene.grid.rows, scene.grid.cols) for scene in scenes} != {(counts.rows, counts.cols)}:
        return ()  # These counts will raise an error later.
    grid = Grid(counts.rows, counts.cols, counts.cols, counts.rows)
    cell = pl.col("cell")
    table = counts.table.select(
        pl.lit(0, pl.UInt32).alias("_source"),
        *KEYS[1:],
        n=answers(counts.table),
        renamed=0,
        _index="cell",
        _row=cell // grid.cols + 1,
        _col=cell % grid.cols + 1,
    )
    first, *others = map(str, files)
    problems = []
    for sign in signs(of_cells(table, balls_of(scenes, grid), grid), scenes, grid):
        what, expected = _texts(sign, grid)
        problems.append(_with_others(Problem("invalid-value", first, None, "cell", what, expected), others))
    return tuple(problems)


def _texts(sign: Sign, grid: Grid, *, image: str = "", size: str = "") -> tuple[str, str]:
    """Return what was found and what was expected, as text for a warning.

    The text can quote the image ID and the image size in pixels of the first example (`image` and `size`).
    """
    n, of = f"{sign.n:,}", f"{sign.of:,}"
    unparsed = "These answers count as unparsed"
    texts = {
        "renamed": (
            f"{n} of {of} image ids with a folder, a file extension or .0",
            f"ids as in the scenes file, such as '{image}'. They are read as these ids",
        ),
        "wrapped": (
            f"{n} of {of} cells in brackets or quotation marks, or after the word cell",
            "cells such as D5. What is around them is ignored",
        ),
        "zero": (
            f"row or column 0 in {n} of {of} answers",
            f"rows and columns that start at 1. {unparsed}",
        ),
        "index": (f"whole numbers in {n} of {of} cells", "labels such as D5"),
        "some indices": (f"whole numbers in {n} of {of} cells", f"labels such as D5. {unparsed}"),
        "all from 0": (
            f"row or column 0 in {n} of {of} answers, and the last row or column in none",
            "rows and columns that start at 1",
        ),
        "from 0": (
            f"{n} of {of} answers that are correct only if rows and columns start at 0",
            "rows and columns that start at 1",
        ),
        "shares": (f"values between 0 and 1 in all {n} points", f"pixels of images of {size} pixels"),
        "percent": (f"values between 0 and 100 in all {n} points", f"pixels of images of {size} pixels"),
        "far off image": (
            f"{n} of {of} points outside the image",
            f"points inside the image of {size} pixels",
        ),
        "swapped": (
            f"{n} answers that agree much better with the scenes if x and y (or row and column) are swapped",
            "x from the left and y from the top (or row from the top and column from the left). Swap the two values",
        ),
        "off image": (
            f"{n} of {of} points outside the image",
            f"points inside the image of {size} pixels. {unparsed}",
        ),
        "outside": (f"{n} of {of} cells outside the grid", f"cells from A1 to {grid.labels[-1]}. {unparsed}"),
        "reply": (
            f"{n} of {of} cells that look like full replies",
            f"cells such as D5. Extract the cell from each reply with `spotball parse`. {unparsed}",
        ),
        "unparsed": (
            f"{n} of {of} answers without a readable cell",
            "cells such as D5. Write each cell as row letter and column number, or use the columns `row` and `col`",
        ),
        "only replies": (
            f"{n} of {of} cells that look like full replies, and no cell",
            "cells such as D5. Extract the cell from each reply with `spotball parse`, or add --accept-signs",
        ),
        "none readable": (
            f"{n} of {of} cells with other text, and no cell",
            "cells such as D5. Extract the cells with `spotball parse`, correct the column, or add --accept-signs",
        ),
        "line": (
            f"all {n} answers in {sign.line}",
            "answers in several rows and columns. Check the program that wrote the cells",
        ),
    }
    return texts[sign.name]


def _examples(reader: Reader, sign: Sign) -> pl.DataFrame:
    """Return the first rows that show a sign, with their original values."""
    import polars as pl

    rows = reader.identified(reader.rows_of([sign.source])).join(sign.units.lazy(), on=UNIT, how="semi")
    columns = rows.collect_schema().names()
    point = pl.col("x").is_not_null() if "x" in columns else pl.lit(False)
    if sign.name == "renamed":
        rows = rows.filter(pl.col("_given") != pl.col("image"))
    elif sign.name in ("off image", "far off image"):
        rows = rows.filter(point & cell_at(reader.grid).is_null())
    elif sign.name in ("shares", "percent"):
        rows = rows.filter(point)
    else:
        shown = shown_by_cells(columns, reader.grid)
        shown |= dict.fromkeys(("line", "swapped", "from 0"), shown["numbers"])
        shown |= {"all from 0": shown["zero"], "some indices": shown["index"]}
        shown |= {"only replies": shown["reply"], "none readable": shown["other"]}
        shown["unparsed"] = shown["other"] | shown["nothing"]
        spelled = [column for column in ("cell", "row", "col") if column in columns]
        shows = (pl.col("_source") == sign.source) & shown[sign.name]
        groups = pl.concat(part.filter(shows) for part in reader.groups())
        by = [*UNIT, "sport", "image", *spelled]
        # A column that has numbers in one file and text in another is text in the groups.
        rows = rows.with_columns(pl.col(column).cast(groups.schema[column]) for column in spelled)
        named = rows.join(groups.lazy().select(by).unique(), on=by, how="semi", nulls_equal=True).filter(~point)
        points = rows.filter(point if sign.name in ("line", "swapped") else pl.lit(False))
        rows = pl.concat([named, points])
    return rows.sort("_record").head(SHOWN_EXAMPLES).collect(engine="streaming")


def _quoted(examples: pl.DataFrame, name: str) -> tuple[str, list[str]]:
    """Return the field that shows the sign (`image`, or the columns of the answer), and its value in each example."""
    if name == "renamed":
        return "image", [f"'{plain(given)}'" for given in examples["_given"]]
    given = {pair: [c for c in pair if c in examples.columns and examples[c].count()] for pair in _ANSWERS}
    pair = next((pair for pair, columns in given.items() if columns), ("cell",))
    values = [
        " ".join(f"{column} {value}" for column, value in row.items()) if len(pair) > 1 else _text(row.get("cell"))
        for row in examples.select(given.get(pair, [])).iter_rows(named=True)
    ] or ["nothing"] * len(examples)
    return ", ".join(pair), values


_ANSWERS: Sequence[tuple[str, ...]] = (("x", "y"), ("row", "col"), ("cell",))


def _text(value: str | None) -> str:
    return "nothing" if value is None else f"'{plain(value)}'"


def _with_others(problem: Problem, others: Sequence[str]) -> Problem:
    """Add the names of other files with the same problem to what was found."""
    if not others:
        return problem
    named = ", ".join(others[:SHOWN_FILES]) + (", ..." if len(others) > SHOWN_FILES else "")
    return replace(
        problem, found=f"{problem.found} (and in {len(others):,} more file{'s' if len(others) > 1 else ''}: {named})"
    )

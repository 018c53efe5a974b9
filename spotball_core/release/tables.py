"""Read tables of the published release: columns as text, checks of their values, and the cells they name."""

from __future__ import annotations

import glob
import re
from pathlib import Path

import polars as pl

from spotball_core.error_codes import Code
from spotball_core.errors import GridError, InputError, Problem, plain
from spotball_core.grid import Grid, parse_label
from spotball_core.io.column_checks import doubtful
from spotball_core.io.csv_records import read_layout
from spotball_core.io.sources import check_is_text, problems_of, unreadable
from spotball_core.service.safe_text import csv_restored

GRID = Grid.standard()

SPORTS = {
    "soccer": "soccer",
    "basketball": "basketball",
    "bb": "basketball",
    "volleyball": "volleyball",
    "vball": "volleyball",
}
"""The names of the sports in files and folders, and their names in this package."""


_CLICK = re.compile(r"row ([0-9]{1,9})(?:\.0*)?, column ([0-9]{1,9})(?:\.0*)?", re.ASCII)

Demand = tuple[str, pl.Expr, str]
"""A requirement: a column, a condition for its values, and the condition in words, for error messages."""

HAS_IMAGE: Demand = (
    "image",
    pl.col("number").is_not_null(),
    "a name that starts with the image's number, such as 163.jpg",
)
HAS_PERSON: Demand = ("id", pl.col("participant") != "", "the participant's id")
HAS_SPORT: tuple[Demand, ...] = (
    (
        "sport",
        pl.col("in_sport").is_not_null(),
        f"one of {', '.join(SPORTS)}, in this column or as the folder of the image",
    ),
    (
        "image",
        (pl.col("folder_sport") == pl.col("in_sport")).fill_null(True),
        "an image in the folder of the row's sport",
    ),
)


def read_table(
    path: Path,
    needed: tuple[str, ...],
    *,
    optional: tuple[str, ...] = (),
    sport: str | None = None,
    may_be_empty: bool = False,
) -> pl.DataFrame:
    """Read the columns of a CSV file as text, without blank lines.

    The result also has `record`, the row's number from 0; `number`, the image's id within its sport; `control`, whether
    the image's name contains `wball`; and `in_sport`, the row's sport: the argument `sport` if it is given, else the
    column `sport`, else the last folder of the image's path (`folder_sport`). Unknown values are null.

    Raises:
        InputError: if the file cannot be read, lacks a column or has it twice, or has no rows although `may_be_empty`
            is false.
    """
    try:
        check_is_text(path)
        layout = read_layout(path)
        if layout.problems:
            raise InputError(layout.problems)
        # Polars would treat brackets and stars in a file's name as a pattern.
        rows = pl.read_csv(glob.escape(str(path.absolute())), infer_schema=False, row_index_name="record")
    except OSError as error:
        raise broken("unreadable-file", path, "file", str(error), "a readable csv file") from error
    except pl.exceptions.PolarsError as error:
        raise unreadable(path, error) from error
    rows = rows.with_columns(csv_restored(pl.col(pl.String)))
    columns = rows.columns[1:]
    if any("\r" in name for name in columns):
        raise broken("invalid-csv", path, "file", "lines that end in CR only", "lines that end in LF or CR LF")
    if missing := [column for column in needed if column not in columns]:
        actual = f"the columns {plain(', '.join(columns), 200)}"
        raise InputError(
            [Problem("missing-column", str(path), 1, column, actual, f"a column {column}") for column in missing]
        )
    if doubts := [*doubtful(str(path), columns, (*needed, *optional))]:
        raise InputError(doubts)
    absent = [pl.lit(None, dtype=pl.String).alias(column) for column in optional if column not in columns]
    name = pl.col("image").str.extract(r"([^/\\]+)$")
    rows = (
        rows.filter(pl.any_horizontal(pl.col(columns).is_not_null()))
        .with_columns(absent)
        .select("record", *needed, *optional)
        .with_columns(
            number=name.str.extract(r"^\s*([0-9]+)"),
            control=name.str.to_lowercase().str.contains("wball", literal=True),
        )
    )
    if rows.is_empty() and not may_be_empty:
        raise broken("no-data", path, "file", "no rows", "a header and at least one row")
    if sport:
        return rows.with_columns(in_sport=pl.lit(sport))
    stated = pl.col("sport").str.strip_chars()
    return rows.with_columns(
        folder_sport=_sport_of(pl.col("image").str.extract(r"([^/\\]+)[/\\][^/\\]+$"))
    ).with_columns(in_sport=pl.when(stated != "").then(_sport_of(stated)).otherwise("folder_sport"))


def _sport_of(name: pl.Expr) -> pl.Expr:
    return name.str.to_lowercase().replace_strict(SPORTS, default=None, return_dtype=pl.String)


def parsed_number(column: str) -> pl.Expr:
    """Return an expression, named COLUMN_number: a column's finite numbers; null for other values."""
    number = pl.col(column).str.strip_chars().cast(pl.Float64, strict=False)
    return pl.when(number.is_finite()).then(number).alias(f"{column}_number")


def whole_number(column: str) -> pl.Expr:
    """Return an expression: a column's integers, including those written as floats (`3.0`); null for other values."""
    return pl.col(column).str.strip_chars().str.replace(r"\.0*$", "").cast(pl.Int64, strict=False)


def check(path: Path, rows: pl.DataFrame, *demands: Demand) -> None:
    """Raise InputError if a row does not satisfy all demands (see `Demand`). It lists all problems."""
    faults = [
        rows.filter(~holds.fill_null(False)).select(
            _record="record",
            code=pl.when(pl.col(field).is_null()).then(pl.lit("missing-value")).otherwise(pl.lit("invalid-value")),
            field=pl.lit(field),
            found=pl.format("'{}'", field),
            expected=pl.lit(expected),
        )
        for field, holds, expected in demands
    ]
    table = pl.concat(faults).with_columns(pl.col("found").fill_null("nothing"))
    if not table.is_empty():
        raise InputError(problems_of(str(path), path, table))


Reading = tuple[str | None, str | None]
"""A cell's label and None, or None and the reason why there is no label."""


def truth_cells(text: str | None) -> tuple[str, ...] | None:
    """Return the cells that a text in the ground truth names; None if they cannot be read.

    Examples:
        >>> truth_cells("D10;D9"), truth_cells("G1")
        (('D10', 'D9'), None)
    """
    try:
        return tuple(GRID.label(label) for label in (text or "").split(";"))
    except GridError:
        return None


def named_cell(answer: str) -> Reading:
    """Return the cell that a model's answer names, or the reason why it names none.

    Examples:
        >>> named_cell("5d"), named_cell("ERROR"), named_cell("G1")
        (('D5', None), (None, 'unreadable'), (None, 'outside the grid'))
    """
    if not answer.strip():
        return None, "empty"
    try:
        return _on_grid(parse_label(answer))
    except GridError:
        return None, "unreadable"


def clicked_cell(answer: str) -> Reading:
    """Return the cell that a person clicked on, or the reason why there is none.

    Examples:
        >>> clicked_cell("row 4, column 5"), clicked_cell("row 7, column 5")
        (('D5', None), (None, 'outside the grid'))
    """
    match = _CLICK.fullmatch(answer)
    return _on_grid((int(match[1]), int(match[2]))) if match else (None, "unreadable")


def _on_grid(position: tuple[int, int]) -> Reading:
    try:
        return GRID.label(position), None
    except GridError:
        return None, "outside the grid"


def broken(code: Code, path: Path, field: str, actual: str, expected: str) -> InputError:
    """Return the error for one problem of a whole file or folder."""
    return InputError.of(code, path, field, actual, expected)


def listed(items: list[str], most: int = 8) -> str:
    """Return the first items as text, and the number of the remaining items."""
    text = ", ".join(items[:most])
    return text if len(items) <= most else f"{text} and {len(items) - most} more"


Box = tuple[float, float, float, float]

SCALED_SPORT = "soccer"
"""The sport whose boxes are in pixels of a scaled frame."""

FRAME = 512
"""Width and height of the scaled frame, in pixels."""

_ACROSS, _DOWN = GRID.width / FRAME, GRID.height / FRAME


def ball_box(sport: str, x: float, y: float, width: float, height: float) -> Box:
    """Return the ball's box in pixels of the image, from the columns of the ground truth.

    A box that extends beyond the image is not clipped, so its center and size remain those of the ball.

    Returns:
        (x1, y1, x2, y2), in pixels of the 640 x 360 image.

    Examples:
        >>> ball_box("soccer", 190.5, 358.5, 25, 43)
        (238.125, 252.0703125, 269.375, 282.3046875)
        >>> ball_box("basketball", 277, 75, 42, 45)
        (256.0, 52.5, 298.0, 97.5)
    """
    if sport == SCALED_SPORT:
        return x * _ACROSS, y * _DOWN, (x + width) * _ACROSS, (y + height) * _DOWN
    return x - width / 2, y - height / 2, x + width / 2, y + height / 2


def ball_columns(sport: str, box: Box) -> tuple[float, float, float, float]:
    """Return x, y, width and height as in the ground truth, from a box in pixels; the inverse of `ball_box`.

    Examples:
        >>> ball_columns("basketball", (256.0, 52.5, 298.0, 97.5))
        (277.0, 75.0, 42.0, 45.0)
    """
    x1, y1, x2, y2 = box
    if sport == SCALED_SPORT:
        return x1 / _ACROSS, y1 / _DOWN, (x2 - x1) / _ACROSS, (y2 - y1) / _DOWN
    return (x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1

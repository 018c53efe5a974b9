"""Read the truth from a file of scenes, a table, a data frame, records, or a mapping from image id to cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from spotball_core.errors import InputError, OptionError, Problem, merged, plain
from spotball_core.grid import Grid
from spotball_core.interchange import ArrowFrame, PolarsDataset, frame_of, is_foreign
from spotball_core.io.column_checks import check_header, check_shapes, doubtful, meant_by, option_for
from spotball_core.io.columns import BALL, NAMES, TRUTH, ColumnNames
from spotball_core.io.plain_files import plain_files
from spotball_core.io.records import Records, check_entries, json_table
from spotball_core.io.scenes import read_scenes
from spotball_core.io.sources import JSON, JSON_LINES, check_file, line_numbers, read_json_lines, reading, scan_csv
from spotball_core.io.truth_rows import RowFault, scenes_of_rows
from spotball_core.schema.scene import Scene
from spotball_core.service.json_file import parse_json
from spotball_core.service.safe_text import csv_restored

if TYPE_CHECKING:
    import polars as pl

Truth: TypeAlias = (
    str | Path | ArrowFrame | PolarsDataset | Scene | Sequence[Scene] | Sequence[Mapping[str, Any]] | Mapping[Any, Any]
)
"""A truth that can be read: a path, a frame, scenes, dictionaries, or a mapping from image id to cells."""

_NAME = "truth"
_PAIRS = (("x", "y"), ("row", "col"), ("width", "height"))
_BOX = ("x1", "y1", "x2", "y2")
_OF_RESPONSES = ("respondent", "sample", "participant", "probabilities")


@dataclass(frozen=True)
class _Table:
    """A truth table.

    Attributes:
        name: its name in error messages.
        rows: the number of each row, from 0, and a scene or the values by the names of `TRUTH`.
        path: the file, for the lines of its rows; None for other sources.
    """

    name: str
    rows: Iterable[tuple[int, Scene | Mapping[str, Any]]]
    path: Path | None = None


def scenes_of(
    source: Truth, *, grid: Grid | None = None, columns: Mapping[str, str] | None = None
) -> tuple[Scene, ...]:
    """Return the scenes of a file, a table, records, or a mapping from image id to the ball's cells.

    A row of a table needs `image` and the place of the ball: `cell` (a label; several rows of an image are cells of one
    ball), `cells` or `ball_cells` (several labels), `x` and `y` in pixels, `row` and `col` from 1, or a box: `x1`,
    `y1`, `x2` and `y2`, or `ball_box`. If all of them are empty, the truth of the image is not known. `sport`, `width`
    and `height` of the image in pixels, `grid`, `players` (a list of boxes), `player_outlines`, `player_keypoints`,
    `control` and `path` are optional; they mean the same as in `Scene`. Other columns are ignored.

    Args:
        source: the path of a scenes file (JSON Lines) or of a truth table (CSV, JSON Lines, JSON or Parquet); or a
            frame, scenes, or dictionaries; or a mapping from image id to a label, a list or set of labels, a dictionary
            or a scene.
        grid: the grid and the size of images that have none in their row. Default: `Grid.standard()`.
        columns: the names that the table's columns have, by the names above, such as `{"image": "image_id"}`. In a
            table without such a column, the column that already has the name above is read. If `cells` is named, a
            column `cell` is not read. A scenes file is read without them.

    Raises:
        InputError: if the source cannot be read or contains a mistake, such as a cell outside the grid or an image that
            occurs twice. The error's problems name the file, the line (or the number of the record) and the field.
        OptionError: if `source` is empty or of a wrong type, or `columns` names a column that the table does not have.

    Examples:
        >>> [scene.ball_cells for scene in scenes_of({"1": "D5", "2": {"C3", "C2"}, "3": None})]
        [('D5',), ('C2', 'C3'), None]
        >>> rows = [{"id": 7, "x": 100, "y": 50}]
        >>> (scene,) = scenes_of(rows, grid=Grid(8, 8, 800, 600), columns={"image": "id"})
        >>> scene.key, scene.ball_cells, scene.width
        (('all', '7'), ('A2',), 800)
    """
    names = ColumnNames.of(columns)
    grid = Grid.standard() if grid is None else grid
    if isinstance(source, (str, Path)):
        with plain_files([Path(source)]) as plain:
            (path,) = plain.paths
            names.assumed += plain.assumed
            if _has_scenes(path):
                return read_scenes(path)
            with reading(path):
                table = _table_of_file(path, names)
            scenes = _scenes(table, grid)
    else:
        scenes = _scenes(_table_of_values(source, names), grid)
    # Scenes have no columns.
    if names is not columns and names.met:
        names.check()
    return scenes


def _scenes(table: _Table, grid: Grid) -> tuple[Scene, ...]:
    scenes, faults = scenes_of_rows(table.rows, table.name, grid)
    if faults:
        raise InputError(_problems(table, faults))
    if not scenes:
        raise InputError.of("no-data", table.name, "file", "no images", "at least one")
    return tuple(scenes)


def _problems(table: _Table, faults: Sequence[tuple[int, RowFault | Problem]]) -> list[Problem]:
    """Return the problems of faulty rows, with their lines."""
    rows = {row for row, _ in faults} | {fault.first for _, fault in faults if isinstance(fault, RowFault)} - {None}
    lines = line_numbers(table.path, (row for row in rows if row is not None)) if table.path else {}
    unit = "line" if table.path and table.path.suffix in (*JSON_LINES, ".csv") else "record"
    problems = []
    for row, fault in faults:
        line = lines.get(row, row + 1)
        if isinstance(fault, Problem):
            problems.append(replace(fault, line=line))
            continue
        found = fault.found
        if fault.first is not None:
            found += f" (the first is {unit} {lines.get(fault.first, fault.first + 1)})"
        problems.append(Problem(fault.code, table.name, line, fault.field, found, fault.expected, fix=fault.fix))
    return merged(problems)


# Sources ----------------------------------------------------------------------------------------------------------


def _has_scenes(path: Path) -> bool:
    """Return whether a file is not a truth table but a file of scenes, or one that `read_scenes` rejects."""
    if path.suffix in (JSON, ".csv", ".parquet"):
        return False
    if path.name == "scenes.jsonl" or not path.is_file():
        return True
    try:
        with path.open(encoding="utf-8-sig") as file:
            record = parse_json(next((line for line in file if line.strip()), ""))
    except (OSError, ValueError):
        return path.suffix in JSON_LINES
    return "grid" in record if isinstance(record, dict) else path.suffix in JSON_LINES


def _table_of_file(path: Path, names: ColumnNames) -> _Table:
    import polars as pl

    check_file(path, "a truth table", "at least one image")
    if path.suffix == JSON:
        content = json_table(path, "the truth")
        rows = _rows_of_mapping(content, str(path)) if isinstance(content, dict) else list(enumerate(content))
        return _table_of_records(str(path), rows, names, path)
    if path.suffix in JSON_LINES:
        return _table_of_records(str(path), read_json_lines(path), names, path)
    if path.suffix == ".csv":
        frame, apostrophes = scan_csv(path)
        if apostrophes:
            frame = frame.with_columns(csv_restored(pl.col(pl.String)))
    else:
        frame = pl.scan_parquet(path, glob=False, row_index_name="_record", hive_partitioning=False)
    return _table_of_frame(str(path), frame, names, path)


def _table_of_values(source: object, names: ColumnNames) -> _Table:
    if is_foreign(source):
        return _table_of_frame(_NAME, frame_of(source).lazy().drop("_record", strict=False), names)
    if isinstance(source, Mapping):
        check_entries(source, _NAME)
        rows = _rows_of_mapping(source, _NAME)
    elif isinstance(source, Iterable):
        rows = list(enumerate([source] if isinstance(source, Scene) else source))
    else:
        raise OptionError(
            f"found {type(source).__name__}, expected a path, a data frame, scenes or records",
            code="wrong-type",
            field="truth",
        )
    if not rows:
        raise OptionError("found nothing. Pass at least one image", code="no-data", field="truth")
    if others := {type(row).__name__ for _, row in rows if not isinstance(row, (Scene, Mapping))}:
        raise OptionError(
            f"found items of type {min(others)}, expected scenes or dictionaries. To pass labels only, pass a "
            "mapping from image id to label, such as {'1': 'D5'}",
            code="wrong-type",
            field="truth",
        )
    return _table_of_records(_NAME, rows, names)


def _rows_of_mapping(images: Mapping[Any, Any], name: str) -> list[tuple[int, Any]]:
    """Return a row for each entry of a mapping from image id to labels, a dictionary or a scene."""
    rows: list[tuple[int, Any]] = []
    problems = []
    for number, (image, truth) in enumerate(images.items()):
        own = truth.image if isinstance(truth, Scene) else truth.get("image") if isinstance(truth, Mapping) else None
        if own is not None and str(own) != str(image):
            problems.append(
                Problem("invalid-value", name, number + 1, "image", repr(own), f"the key {image!r}, or no image")
            )
        elif isinstance(truth, Scene):
            rows.append((number, truth))
        else:
            rows.append((number, {**truth, "image": image} if isinstance(truth, Mapping) else _labeled(image, truth)))
    if problems:
        raise InputError(problems)
    return rows


def _labeled(image: object, cells: object) -> dict[str, object]:
    return {"image": image, "cells": cells}


def _table_of_records(
    name: str, rows: Sequence[tuple[int, Any]], names: ColumnNames, path: Path | None = None
) -> _Table:
    records = Records(name, [(number, row) for number, row in rows if not isinstance(row, Scene)])
    if not records.rows:
        return _Table(name, rows, path)
    shapes, keys = records.shapes, records.keys
    place = _place(name, keys, names)
    if path:
        lines = line_numbers(path, [line - 1 for line in shapes.values()])
        shapes = {shape: lines[line - 1] for shape, line in shapes.items()}
    check_shapes(name, shapes, names, TRUTH, NAMES)

    def by_name(row: Mapping[str, Any]) -> dict[str, Any]:
        return {ours: row[theirs] for theirs, ours in place.items() if theirs in row}

    return _Table(name, [(n, row if isinstance(row, Scene) else by_name(row)) for n, row in rows], path)


def _table_of_frame(name: str, frame: pl.LazyFrame, names: ColumnNames, path: Path | None = None) -> _Table:
    import polars as pl

    columns = frame.collect_schema().names()
    if "_record" not in columns:
        frame = frame.with_row_index("_record")
    place = _place(name, [column for column in columns if column != "_record"], names)
    table = frame.select("_record", *(pl.col(theirs).alias(ours) for theirs, ours in place.items())).collect()
    numbers = table["_record"].to_list()
    return _Table(name, zip(numbers, table.drop("_record").iter_rows(named=True), strict=True), path)


# Columns ----------------------------------------------------------------------------------------------------------


def _place(name: str, columns: Sequence[str], names: ColumnNames) -> dict[str, str]:
    """Check the columns of a table, and return the names in `TRUTH` of those that are read."""
    check_header(name, columns)
    readable = names.readable(columns)
    if "cells" in names and names["cells"] in readable:
        readable = {theirs: ours for theirs, ours in readable.items() if ours != "cell"}
    present = list(readable.values())
    problems = _missing(name, columns, present, names)
    if "cell" in present and (others := [column for column in _OF_RESPONSES if column in present]):
        expected = "a truth table, which has no such column"
        fix = "Name the column with the truth as `cells`: --columns cells=NAME (in Python: columns={'cells': 'NAME'})"
        problems.append(Problem("missing-column", name, None, others[0], "a column of responses", expected, fix=fix))
    if problems:
        raise InputError(problems)
    return {theirs: ours for theirs, ours in readable.items() if ours in TRUTH}


def _missing(name: str, columns: Sequence[str], present: Sequence[str], names: ColumnNames) -> list[Problem]:
    listed = f"the columns {plain(', '.join(columns), limit=200) or 'none'}"
    known = {*present, *meant_by(present, TRUTH, NAMES)}
    no_image = "image" not in known
    # A scene may have no ball.
    no_ball = known.isdisjoint((*BALL, "grid"))
    # `cell` would also name the column of the responses.
    wanted = {"image": "image"} if no_image else {}
    wanted |= {"ball": "cells"} if no_ball else {}
    option = option_for(present, names, wanted, TRUTH, NAMES)
    problems = [*doubtful(name, present, TRUTH, NAMES, fix=option.replace("Add", "Or add", 1))]
    if no_image:
        fix = option or "Rename the column that contains the image ids to `image`"
        problems.append(Problem("missing-column", name, None, "image", listed, "a column `image`", fix=fix))
    for group in (*_PAIRS, _BOX):
        if (given := [column for column in group if column in present]) and len(given) < len(group):
            absent = ", ".join(column for column in group if column not in known)
            if absent:
                expected = f"also the columns {absent}. Add them"
                problems.append(
                    Problem("missing-column", name, None, absent, f"the columns {', '.join(given)}", expected)
                )
    if no_ball:
        expected = "one of the columns `cell`, `cells`, `x` and `y`, `row` and `col`, or `x1`, `y1`, `x2` and `y2`"
        fix = option or "Rename the column that contains the cell of the ball to `cell`"
        problems.append(Problem("missing-column", name, None, "cell", listed, expected, fix=fix))
    return problems

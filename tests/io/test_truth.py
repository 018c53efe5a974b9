"""Test ground truth from files, frames, records and mappings: equal scenes from every form, and clear errors."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from spotball_core.errors import InputError, OptionError, Problem
from spotball_core.grid import Grid
from spotball_core.io.columns import ColumnNames
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.io.truth import scenes_of
from spotball_core.schema import Scene
from tests.builders import frame, scene, write_csv, write_jsonl, write_parquet
from tests.conftest import examples
from tests.failures import raises

Row = dict[str, Any]


def write_json(path: Path, rows: Sequence[Row]) -> Path:
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


WRITERS: Mapping[str, Callable[..., Path]] = {
    ".csv": write_csv,
    ".jsonl": write_jsonl,
    ".ndjson": write_jsonl,
    ".json": write_json,
    ".parquet": write_parquet,
}
FORMATS = [*WRITERS, "frame", "records"]


def read(rows: Sequence[Row], format: str, folder: Path, **options: Any) -> tuple[Scene, ...]:
    if format == "records":
        return scenes_of(rows, **options)
    if format == "frame":
        return scenes_of(frame(rows), **options)
    return scenes_of(WRITERS[format](folder / f"truth{format}", rows), **options)


def cells(known: Sequence[Scene]) -> dict[str, tuple[str, ...] | None]:
    return {one.image: one.ball_cells for one in known}


def problems(source: Any, **options: Any) -> tuple[Problem, ...]:
    with pytest.raises(InputError) as error:
        scenes_of(source, **options)
    return error.value.problems


# Each row describes one image of 640 x 360 pixels, in which a cell has 64 x 60 pixels.
ROWS: list[tuple[Row, tuple[str, ...] | None]] = [
    ({"cell": "D5"}, ("D5",)),
    ({"cell": " 5d "}, ("D5",)),
    ({"cell": None}, None),
    ({"cells": "C2;C3"}, ("C2", "C3")),
    ({"cells": "D 3, C2"}, ("C2", "D3")),
    ({"cells": "c3 c2"}, ("C2", "C3")),
    ({"ball_cells": "C2;C3"}, ("C2", "C3")),
    ({"x": 64.0, "y": 59.5}, ("A2",)),
    ({"x": 640.0, "y": 360.0}, ("F10",)),
    ({"row": 4, "col": 5}, ("D5",)),
    ({"x1": 60.0, "y1": 10.0, "x2": 70.0, "y2": 50.0}, ("A1", "A2")),
    # The left and top edges belong to a cell, the right and bottom edges do not.
    ({"x1": 64.0, "y1": 60.0, "x2": 128.0, "y2": 120.0}, ("B2",)),
]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(("row", "expected"), ROWS)
def test_scenes_of_a_table_finds_the_ball_cells_in_every_form_of_row(
    tmp_path: Path, format: str, row: Row, expected: tuple[str, ...] | None
) -> None:
    (one,) = read([{"image": "7", **row}], format, tmp_path)
    assert (one.key, one.width, one.height) == (("all", "7"), 640, 360)
    assert (one.grid.rows, one.grid.cols, one.ball_cells) == (6, 10, expected)


@pytest.mark.parametrize("format", [".jsonl", ".json", ".parquet", "frame", "records"])
@pytest.mark.parametrize("name", ["cell", "cells", "ball_cells"])
def test_scenes_of_a_column_with_a_list_of_labels_reads_the_list_as_the_cells_of_one_ball(
    tmp_path: Path, format: str, name: str
) -> None:
    rows = [{"image": "1", name: ["C2", "c3"]}, {"image": "2", name: []}]
    assert cells(read(rows, format, tmp_path)) == {"1": ("C2", "C3"), "2": None}


@pytest.mark.parametrize("format", FORMATS)
def test_scenes_of_a_ball_box_keeps_the_box_and_finds_its_cells(tmp_path: Path, format: str) -> None:
    (one,) = read([{"image": "1", "x1": 60.0, "y1": 10.0, "x2": 70.0, "y2": 50.0}], format, tmp_path)
    assert one.ball_box == (60, 10, 70, 50)
    (one,) = read([{"image": "1", "ball_box": [60.0, 10.0, 70.0, 50.0]}], format, tmp_path)
    assert (one.ball_box, one.ball_cells) == ((60, 10, 70, 50), ("A1", "A2"))


@pytest.mark.parametrize("format", FORMATS)
def test_scenes_of_several_rows_per_image_combines_their_cells_into_one_ball(tmp_path: Path, format: str) -> None:
    places = (("soccer", "D3"), ("hockey", "A1"), ("soccer", "C2"))
    known = read([{"sport": sport, "image": "1", "cell": cell} for sport, cell in places], format, tmp_path)
    assert [one.key for one in known] == [("soccer", "1"), ("hockey", "1")]
    assert [one.ball_cells for one in known] == [("C2", "D3"), ("A1",)]


@pytest.mark.parametrize("format", FORMATS)
def test_scenes_of_a_table_with_optional_columns_reads_them_and_ignores_unknown_columns(
    tmp_path: Path, format: str
) -> None:
    same = {"players": [[1.0, 2.0, 30.0, 40.0]], "control": True, "path": "images/1.jpg"}
    row = {"sport": "soccer", "image": "1", "cell": "D5", "width": 800, "height": 600, **same, "note": "not read"}
    (one,) = read([row], format, tmp_path)
    assert one == scene("1", size=(800, 600), ball_cells=["D5"], **same)


@pytest.mark.parametrize("format", FORMATS)
def test_scenes_of_a_table_with_a_grid_option_uses_its_image_size_only_for_rows_without_a_size(
    tmp_path: Path, format: str
) -> None:
    rows = [
        {"image": "1", "x": 799.0, "y": 599.0, "width": None, "height": None},
        {"image": "2", "x": 100.0, "y": 50.0, "width": 200, "height": 100},
    ]
    known = read(rows, format, tmp_path, grid=Grid(8, 8, 800, 600))
    assert cells(known) == {"1": ("H8",), "2": ("E5",)}
    assert [(one.width, one.height, one.grid.rows) for one in known] == [(800, 600, 8), (200, 100, 8)]


@pytest.mark.parametrize("format", FORMATS)
def test_scenes_of_a_table_with_column_names_reads_the_renamed_columns(tmp_path: Path, format: str) -> None:
    rows = [{"image_id": "7", "gold": "D5", "cell": "A1"}]
    known = read(rows, format, tmp_path, columns={"image": "image_id", "cell": "gold"})
    assert cells(known) == {"7": ("D5",)}


def test_scenes_of_a_table_prefers_the_renamed_column_cells_and_needs_all_renamed_columns_unless_shared() -> None:
    names = ColumnNames({"image": "image_id", "cell": "prediction"})
    assert cells(scenes_of([{"image": "1", "cell": "D5"}], columns=names)) == {"1": ("D5",)}
    # A table can contain both the predictions and the ground truth.
    rows = [{"image": "1", "respondent": "m", "pred": "A1", "gold": "D5"}]
    assert cells(scenes_of(rows, columns={"cell": "pred", "cells": "gold"})) == {"1": ("D5",)}
    (problem,) = problems([{"image": "1", "gold": "D5"}], columns=ColumnNames({"cell": "prediction"}))
    assert "--columns cell=prediction,cells=gold (" in problem.fix
    with raises(OptionError, "missing-column:columns"):
        scenes_of([{"image": "1", "cell": "D5"}], columns={"cell": "gold"})


def test_scenes_of_numeric_image_ids_converts_them_to_text() -> None:
    rows = [{"image": 1, "cell": "D5"}, {"image": 2.0, "cell": "D6"}, {"image": np.int64(3), "cell": "D7"}]
    assert [one.image for one in scenes_of(rows)] == ["1", "2", "3"]
    assert [one.image for one in scenes_of(pl.DataFrame({"image": [1, 2], "cell": ["D5", "D6"]}))] == ["1", "2"]


def test_scenes_of_a_pandas_frame_treats_missing_values_as_unknown() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"image": [1, 2], "cell": ["D5", None], "width": [800, np.nan], "height": [600, np.nan]})
    known = scenes_of(table)
    assert cells(known) == {"1": ("D5",), "2": None}
    assert [one.width for one in known] == [800, 640]
    assert scenes_of(table.to_dict("records")) == known


def test_scenes_of_a_compressed_csv_file_unpacks_it_and_removes_formula_apostrophes(tmp_path: Path) -> None:
    path = tmp_path / "truth.csv.gz"
    path.write_bytes(gzip.compress(b"image,cell\n'=1,D5\n"))
    assert cells(scenes_of(path)) == {"=1": ("D5",)}
    path.write_bytes(gzip.compress(b"image,cell\n1,D5\n2,Z9\n"))
    (problem,) = problems(path)
    assert (problem.file, problem.line) == (str(path), 3)


@settings(max_examples=examples(40))
@given(st.dictionaries(st.integers(0, 9), st.sets(st.integers(0, 59), max_size=4), min_size=1, max_size=8))
def test_scenes_of_records_or_mappings_of_any_cells_equals_scenes_built_directly(images: dict[int, set[int]]) -> None:
    grid = Grid.standard()
    labels = {image: {grid.labels[cell] for cell in ball} for image, ball in images.items()}
    expected = tuple(Scene(image=image, grid=grid, ball_cells=list(ball)) for image, ball in labels.items())
    assert scenes_of([{"image": image, "cells": ";".join(ball)} for image, ball in labels.items()]) == expected
    assert scenes_of(labels) == expected
    assert scenes_of(expected) == expected


@pytest.mark.parametrize(
    ("truth", "expected"),
    [
        ("D5", ("D5",)),
        ({"C3", "C2"}, ("C2", "C3")),
        (["C3", "C2"], ("C2", "C3")),
        (("C3",), ("C3",)),
        (np.array(["C3"]), ("C3",)),
        ("C2;C3", ("C2", "C3")),
        (None, None),
        (set(), None),
        (np.eye(60, dtype=bool)[34], ("D5",)),
        ([False] * 59 + [True], ("F10",)),
        ([False] * 60, None),
        ({"x": 64, "y": 0}, ("A2",)),
        ({"ball_cells": ["D5"], "players": [[0, 0, 9, 9]]}, ("D5",)),
        (Scene(image="1", grid=Grid.standard(), ball_cells=["D5"]), ("D5",)),
    ],
)
def test_scenes_of_a_mapping_finds_the_ball_cells_in_every_form_of_value(
    truth: object, expected: tuple[str, ...] | None
) -> None:
    assert cells(scenes_of({"1": truth})) == {"1": expected}


def test_scenes_of_a_json_file_with_a_mapping_finds_the_ball_cells_of_each_image(tmp_path: Path) -> None:
    path = tmp_path / "truth.json"
    path.write_text('{"1": "D5", "2": ["C2", "C3"], "3": null, "4": {"row": 1, "col": 2}}', encoding="utf-8")
    assert cells(scenes_of(path)) == {"1": ("D5",), "2": ("C2", "C3"), "3": None, "4": ("A2",)}


SCENES = [scene("1"), scene("2", "hockey", size=(800, 600), players=[[0, 0, 9, 9]], ball_box=[1, 1, 9, 9])]


def test_scenes_of_a_scenes_file_equals_read_scenes(tmp_path: Path) -> None:
    for name in ("scenes.jsonl", "other.jsonl", "scenes.txt"):
        write_scenes(SCENES, tmp_path / name)
        assert scenes_of(tmp_path / name) == read_scenes(tmp_path / name) == tuple(SCENES)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("scenes.jsonl", '{"sport": "soccer", "image": "1", "ball_cells": ["D5"]}'),
        ("a.jsonl", '{"image": "1", "grid": {"rows": 6, "cols": 10}}'),
        ("a.jsonl", "image,cell\n1,D5\n"),
        ("a.jsonl", '[{"image": "1"}]'),
        ("a.jsonl", "\n"),
        ("missing.jsonl", None),
    ],
)
def test_scenes_of_a_broken_scenes_file_reports_the_same_problems_as_read_scenes(
    tmp_path: Path, name: str, content: str | None
) -> None:
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_scenes(tmp_path / name)
    assert problems(tmp_path / name) == error.value.problems


def test_scenes_of_dictionaries_with_the_fields_of_scenes_equals_the_scenes() -> None:
    rows = [one.model_dump() for one in SCENES]
    assert scenes_of(rows) == tuple(SCENES)
    assert scenes_of([SCENES[0], rows[1]]) == tuple(SCENES)
    outlined = scene("3", players=[[0, 0, 99, 99]], player_outlines=[[[1, 1], [50, 1], [50, 50]]])
    assert scenes_of([outlined.model_dump()]) == (outlined,)


def test_scenes_of_scenes_ignores_the_grid_and_columns_options_and_keeps_the_grid_of_each_scene() -> None:
    assert scenes_of(SCENES, grid=Grid(2, 2, 4, 4), columns={"image": "id"}) == tuple(SCENES)
    grid = Grid(2, 2, 4, 4)
    (one,) = scenes_of([{"image": "1", "grid": grid, "ball_cells": ["B2"]}])
    assert (one.layout, one.ball_cells) == (grid, ("B2",))


BAD_ROWS: list[tuple[Row, str, str]] = [
    ({"image": None, "cell": "D5"}, "image", "nothing"),
    ({"image": "a/b", "cell": "D5"}, "image", '"a/b"'),
    ({"image": "2", "cell": "G1"}, "cell", "'G1'"),
    ({"image": "2", "cell": "34"}, "cell", "'34'"),
    ({"image": "2", "cell": "left"}, "cell", "'left'"),
    ({"image": "2", "cells": "C2;K1"}, "cells", "'K1'"),
    ({"image": "2", "cells": "C2;;C3;x"}, "cells", "'x'"),
    ({"image": "2", "ball_cells": "[1"}, "ball_cells", "'[1'"),
    ({"image": "2", "x": 641.0, "y": 5.0}, "x", "the point x 641, y 5"),
    ({"image": "2", "x": -1.0, "y": 5.0}, "x", "the point x -1, y 5"),
    ({"image": "2", "x": "left", "y": "5"}, "x", "'left'"),
    ({"image": "2", "x": "nan", "y": "5"}, "x", "'nan'"),
    ({"image": "2", "x": 3.0, "y": None}, "y", "nothing, but a value in x"),
    ({"image": "2", "row": 7, "col": 1}, "row", "7"),
    ({"image": "2", "row": 0, "col": 1}, "row", "0"),
    ({"image": "2", "row": 1, "col": 11}, "col", "11"),
    ({"image": "2", "row": "1.5", "col": "1"}, "row", "1.5"),
    (
        {"image": "2", "x1": 650.0, "y1": 1.0, "x2": 700.0, "y2": 9.0},
        "ball_box",
        "the box 650, 1, 700, 9, which covers",
    ),
    ({"image": "2", "x1": 5.0, "y1": 1.0, "x2": 5.0, "y2": 9.0}, "ball_box", "the box 5, 1, 5, 9, which covers"),
    ({"image": "2", "x1": 9.0, "y1": 1.0, "x2": 5.0, "y2": 9.0}, "ball_box", "[9.0, 1.0, 5.0, 9.0]"),
    ({"image": "2", "x1": 9.0, "y1": 1.0, "x2": None, "y2": 9.0}, "x2", "nothing, but a value in x1"),
    ({"image": "2", "ball_box": "1,2,3"}, "ball_box", "'1,2,3'"),
    ({"image": "2", "cell": "D5", "x": 1.0, "y": 1.0}, "cell", "values for cell, x and y"),
    ({"image": "2", "cell": "D5", "width": 640, "height": None}, "height", "nothing, but a value in width"),
    ({"image": "2", "cell": "D5", "width": 640.5, "height": 360.0}, "width", "640.5"),
    ({"image": "2", "cell": "D5", "width": 0, "height": 360}, "width", "0.0"),
    ({"image": "2", "cell": "D5", "players": "somewhere"}, "players", "'somewhere'"),
    ({"image": "2", "cell": "D5", "players": [[1, 2, 3]]}, "players.0", "[1, 2, 3] (expected"),
    ({"image": "2", "cell": "D5", "control": "maybe"}, "control", "'maybe'"),
    ({"image": "2", "cell": "D5", "path": "/etc/passwd"}, "path", '"/etc/passwd"'),
]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(("row", "field", "found"), BAD_ROWS)
def test_scenes_of_a_table_with_an_invalid_row_reports_its_line_field_and_value(
    tmp_path: Path, format: str, row: Row, field: str, found: str
) -> None:
    good = dict.fromkeys(row) | {"image": "1"}
    with pytest.raises(InputError) as error:
        read([good, row], format, tmp_path)
    (problem,) = error.value.problems
    assert problem.field == field
    assert problem.found.startswith(found.split(" (")[0])
    assert problem.line == (3 if format == ".csv" else 2)
    assert problem.file == ("truth" if format in ("frame", "records") else str(tmp_path / f"truth{format}"))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("rows", "field"),
    [
        ([{"image": "1", "cells": "D5"}, {"image": "1", "cells": "D6"}], "image"),
        ([{"image": "1", "row": 1, "col": 1}, {"image": "1", "row": 1, "col": 2}], "image"),
        ([{"image": "1", "cell": "D5"}, {"image": "1", "cell": None}], "image"),
        ([{"image": "1", "cell": "D5"}, {"image": "1", "cell": "5d"}], "cell"),
        ([{"image": "1", "cell": "D5", "path": "a"}, {"image": "1", "cell": "D6", "path": "b"}], "path"),
    ],
)
def test_scenes_of_a_table_that_repeats_an_image_raises_an_error_that_names_both_rows(
    tmp_path: Path, format: str, rows: list[Row], field: str
) -> None:
    with pytest.raises(InputError) as error:
        read(rows, format, tmp_path)
    (problem,) = error.value.problems
    assert (problem.field, problem.line) == (field, 3 if format == ".csv" else 2)
    first = {".csv": "line 2", ".jsonl": "line 1", ".ndjson": "line 1"}.get(format, "record 1")
    assert f"the first is {first}" in problem.found


@pytest.mark.parametrize(
    ("columns", "fields", "option"),
    [
        ("image_id,gold", ["image", "cell"], "image=image_id,cells=gold"),
        ("image,label", ["cell"], "cells=label"),
        ("image,note", ["cell"], None),
        ("image,x", ["y"], None),
        ("image,row", ["col"], None),
        ("image,x1,y1,x2", ["y2"], None),
        ("image,cell,width", ["height"], None),
        ("image,cell,respondent", ["respondent"], None),
        ("image,cell,sample", ["sample"], None),
        ("image,cell,hieght", ["hieght"], "height=hieght"),
        ("image,cell,cell", ["cell"], None),
        ("image|cell", ["header"], None),
    ],
)
def test_scenes_of_a_table_with_wrong_columns_names_them_and_suggests_a_likely_columns_option(
    tmp_path: Path, columns: str, fields: list[str], option: str | None
) -> None:
    path = tmp_path / "truth.csv"
    path.write_text(f"{columns}\n{','.join('1' * (columns.count(',') + 1))}\n", encoding="utf-8")
    named = problems(path)
    assert [problem.field for problem in named] == fields
    assert all(problem.file == str(path) for problem in named)
    for problem in named:
        assert (f"--columns {option} (" in problem.fix) == (option is not None)


@pytest.mark.parametrize(
    ("name", "content", "line", "field"),
    [
        ("a.csv", "", None, "file"),
        ("a.csv", "image,cell\n", None, "file"),
        ("a.csv", "image,cell\n1,D5,x\n", 2, "line"),
        ("a.csv", 'image,cell\n\n"1\n2",D5\n3,x\n', 3, "image"),
        ("a.jsonl", '{"image": "1", "cell": "D5"}\n\n{"image": \n', 3, "line"),
        ("a.jsonl", '{"image": "1", "cell": "D5"}\n{"image": "2", "cell": "D5", "cell": "D6"}\n', 2, "line"),
        ("a.jsonl", '{"image": "1", "cell": "D5"}\n\n{"image": "2", "cel": "D5"}\n', 3, "cel"),
        ("a.json", '[{"image": "1", "cell": "D5"}, 3]', 2, "record"),
        ("a.json", '{"1": "D5", "1": "D6"}', None, "file"),
        ("a.json", '{"image": "1", "cell": "D5"}', None, "file"),
        ("a.json", '{"1": {"image": "2", "cell": "D5"}}', 1, "image"),
        ("a.parquet", "image", None, "file"),
        ("a.xlsx", "image", None, "file"),
        ("a.txt", "image,cell\n1,D5\n", None, "file"),
        ("a", "image", None, "file"),
        *((f"missing{ending}", None, None, "file") for ending in (".csv", ".json", ".parquet", ".txt")),
        ("", None, None, "file"),
    ],
)
def test_scenes_of_a_broken_table_or_a_path_that_is_not_a_file_reports_line_and_field(
    tmp_path: Path, name: str, content: str | None, line: int | None, field: str
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content, encoding="utf-8")
    first = problems(path)[0]
    assert (first.file, first.line, first.field) == (str(path), line, field)


@pytest.mark.parametrize("source", [3, None, ["D5"], [["D5"]], [scene("1"), "D5"], object(), [], {}])
def test_scenes_of_an_unsupported_type_or_an_empty_source_raises_option_error(source: Any) -> None:
    with raises(OptionError, "no-data:truth" if source in ([], {}) else "wrong-type:truth"):
        scenes_of(source)


@pytest.mark.parametrize("truth", ["Z9", 34, [34], ["D5", None], [True] * 3, {"cell": "Z9"}, object()])
def test_scenes_of_a_mapping_with_an_invalid_value_reports_its_position(truth: object) -> None:
    (problem,) = problems({"1": "D5", "2": truth})
    assert (problem.file, problem.line) == ("truth", 2)


@pytest.mark.parametrize("image", [[1], ("a",), b"a", object(), float("inf"), "\ud800", ""])
def test_scenes_of_a_record_with_an_invalid_image_id_reports_its_position(image: object) -> None:
    assert problems([{"image": image, "cell": "D5"}])[0].line == 1


def test_scenes_of_a_repeated_scene_or_a_single_record_raises_input_error() -> None:
    (problem,) = problems([SCENES[0], SCENES[1], SCENES[0]])
    assert (problem.line, problem.field) == (3, "image")
    assert problems({"image": "1", "cell": "D5"})[0].file == "truth"


@pytest.mark.slow
def test_scenes_of_many_rows_takes_linear_time_and_stops_after_ten_thousand_problems() -> None:
    named = problems([{"image": n, "cell": "Z9"} for n in range(20_000)])
    assert [problem.count for problem in named] == [10_001]
    known = scenes_of(pl.DataFrame({"image": range(5_000), "cell": ["D5", "D6"] * 2_500}))
    assert len(known) == 5_000
    assert scenes_of(list(known)) == known

"""Test column names: which column of a table is read for each field, and which option an error suggests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from spotball_core.counting.read import read_counts
from spotball_core.errors import InputError, OptionError
from spotball_core.io.columns import ColumnNames, likely_column
from tests.builders import as_dict, frame, scenes, write_csv, write_jsonl, write_parquet
from tests.failures import raises

KNOWN = scenes("1", "2", "3")
NAMES = {"image": "image_id", "cell": "prediction"}
# The column `cell` is replaced by `prediction`.
ROWS: list[dict[str, Any]] = [
    {"image_id": "1", "prediction": "D5", "cell": "A1", "respondent": "m"},
    {"image_id": "2", "prediction": None, "cell": "A1", "respondent": "m"},
]
EXPECTED = {("soccer", "1", "m", "model", "base", 34): 1.0, ("soccer", "2", "m", "model", "base", None): 1.0}
WRITERS = {".csv": write_csv, ".jsonl": write_jsonl, ".parquet": write_parquet}


class TestReadCounts:
    def test_read_counts_with_column_names_reads_renamed_columns_of_files_frames_and_records(
        self, tmp_path: Path
    ) -> None:
        files = [write(tmp_path / f"a{ending}", ROWS) for ending, write in WRITERS.items()]
        for source in (*files, frame(ROWS), ROWS):
            assert as_dict(read_counts(source, KNOWN, columns=NAMES)) == EXPECTED

    @pytest.mark.parametrize("ending", WRITERS)
    def test_read_counts_with_swapped_column_names_of_x_and_y_swaps_the_coordinates(
        self, tmp_path: Path, ending: str
    ) -> None:
        path = WRITERS[ending](tmp_path / f"a{ending}", [{"image": "1", "x": "200", "y": "300"}])
        counts = read_counts(path, KNOWN, columns={"x": "y", "y": "x"})
        # After the swap, x is 300 and y is 200: column 5 (64 pixels wide) and row 4 (60 pixels high).
        assert counts.table["cell"].to_list() == [34]

    def test_read_counts_of_a_table_without_the_renamed_columns_reads_the_default_columns(self, tmp_path: Path) -> None:
        first = write_csv(tmp_path / "a.csv", [{"image_id": "1", "prediction": "D5"}])
        second = write_csv(tmp_path / "b.csv", [{"image": "2", "cell": "D6"}])
        counts = read_counts([first, second], KNOWN, columns=NAMES)
        assert counts.table.select("image", "respondent", "cell").rows() == [("1", "a", 34), ("2", "b", 35)]

    def test_read_counts_error_in_a_renamed_column_names_the_line_and_the_default_name_of_the_column(
        self, tmp_path: Path
    ) -> None:
        path = write_csv(tmp_path / "a.csv", [*ROWS, {"image_id": "7", "prediction": "D5", "respondent": "m"}])
        with pytest.raises(InputError) as error:
            read_counts(path, KNOWN, columns=NAMES)
        (problem,) = error.value.problems
        assert (problem.file, problem.line, problem.field, problem.found) == (str(path), 4, "image", "'7'")

    def test_read_counts_removes_formula_apostrophes_from_a_renamed_column(self, tmp_path: Path) -> None:
        path = tmp_path / "a.csv"
        path.write_text("image,cell,who\n1,D5,'=me\n", encoding="utf-8")
        counts = read_counts(path, KNOWN, columns={"respondent": "who"})
        assert counts.table["respondent"].to_list() == ["=me"]

    @pytest.mark.parametrize("ending", WRITERS)
    def test_read_counts_with_a_column_name_that_no_table_has_raises_option_error(
        self, tmp_path: Path, ending: str
    ) -> None:
        path = WRITERS[ending](tmp_path / f"a{ending}", [{"image": "1", "cell": "D5", "prediction": "D6"}])
        with raises(OptionError, "missing-column:columns"):
            read_counts(path, KNOWN, columns={"cell": "predictoin"})

    def test_read_counts_with_a_column_names_object_leaves_the_check_of_the_names_to_the_caller(self) -> None:
        names = ColumnNames({"cell": "gold"})
        read_counts([{"image": "1", "cell": "D5"}], KNOWN, columns=names)
        with raises(OptionError, "missing-column:columns"):
            names.check()
        names.readable(["gold"])
        names.check()


class TestMissingColumns:
    @pytest.mark.parametrize(
        ("row", "columns", "fields", "option"),
        [
            ({"image_id": "1", "prediction": "D5"}, None, ["image", "cell"], "image=image_id,cell=prediction"),
            ({"img": "1", "cell": "D5"}, None, ["image"], "image=img"),
            ({"image": "1", "model answer": "D5"}, None, ["cell"], "cell=model answer"),
            # The suggested option keeps the given column names.
            ({"file": "1", "pred": "D5"}, {"image": "file"}, ["cell"], "image=file,cell=pred"),
            # A misspelled name in the option is corrected.
            ({"image": "1", "label": "D5"}, {"cell": "lable"}, ["cell"], "cell=label"),
            # A misspelled default name in the table is corrected.
            ({"images": "1", "pred": "D5"}, None, ["images", "cell"], "cell=pred,image=images"),
        ],
    )
    def test_read_counts_error_about_a_missing_column_suggests_a_columns_option(
        self, row: dict[str, str], columns: Mapping[str, str] | None, fields: list[str], option: str
    ) -> None:
        with pytest.raises(InputError) as error:
            read_counts([row], KNOWN, columns=columns)
        assert sorted(problem.field for problem in error.value.problems) == sorted(fields)
        for problem in error.value.problems:
            assert f"--columns {option} (in Python: columns={{" in problem.fix

    def test_read_counts_accepts_the_suggested_columns_option_and_without_a_likely_column_suggests_renaming(
        self,
    ) -> None:
        row = {"images": "1", "pred": "D5"}
        assert read_counts([row], KNOWN, columns={"cell": "pred", "image": "images"}).n_answers == 1
        with pytest.raises(InputError) as error:
            read_counts([{"a": "1", "b": "D5"}], KNOWN)
        assert [problem.field for problem in error.value.problems] == ["image", "cell"]
        assert all(problem.fix.startswith("Rename") for problem in error.value.problems)

    @pytest.mark.parametrize(
        ("missing", "columns", "likely"),
        [
            ("image", ["question_id", "id"], "id"),
            ("image", ["Image ID", "x"], "Image ID"),
            ("image", ["img path"], "img path"),
            ("image", ["user_id", "note"], None),
            ("image", ["question_ids"], "question_ids"),
            ("cell", ["gt", "pred"], "pred"),
            ("cell", ["GT"], "GT"),
            ("cell", ["predicted_cell"], "predicted_cell"),
            ("cell", ["predictions"], "predictions"),
            ("cell", ["note"], None),
        ],
    )
    def test_likely_column_returns_the_column_with_a_usual_name_or_none(
        self, missing: str, columns: list[str], likely: str | None
    ) -> None:
        assert likely_column(missing, columns) == likely


class TestColumnNames:
    @pytest.mark.parametrize(
        ("names", "where"),
        [
            ({"imag": "id"}, "unknown-name:columns"),
            ({"cell": ""}, "invalid-option:columns"),
            ({"cell": 3}, "invalid-option:columns"),
            ({"image": "id", "cell": "id"}, "invalid-option:columns"),
            ("image=id", "wrong-type:columns"),
        ],
    )
    def test_column_names_with_an_invalid_mapping_raises_option_error(self, names: Any, where: str) -> None:
        with raises(OptionError, where):
            ColumnNames(names)

    def test_column_names_error_about_an_unknown_name_lists_all_names(self) -> None:
        with pytest.raises(OptionError) as error:
            ColumnNames({"picture": "id"})
        assert all(name in str(error.value) for name in ("image", "cells", "x1", "probabilities", "players"))

    def test_readable_of_column_names_uses_a_renamed_column_instead_of_the_default_column(self) -> None:
        names = ColumnNames({"cell": "pred", "x": "y", "y": "x"})
        expected = {"image": "image", "pred": "cell", "x": "y", "y": "x"}
        assert names.readable(["image", "cell", "pred", "x", "y"]) == expected
        assert names.readable(["image", "cell"]) == {"image": "image", "cell": "cell"}


def test_read_counts_converts_numeric_image_ids_to_text() -> None:
    # pandas stores whole numbers as floats if a value of the column is missing.
    for dtype in (pl.Int64, pl.Float64, pl.Float32):
        table = pl.DataFrame({"image": pl.Series([1, 2], dtype=dtype), "cell": ["D5", "D6"]})
        assert read_counts(table, KNOWN).table["image"].to_list() == ["1", "2"]

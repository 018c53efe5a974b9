"""Test the reading of rationales: responses are read as for scoring, and each distinct text is kept once."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from spotball_core.errors import InputError
from spotball_core.io.frames import write_responses
from spotball_core.reasoning.rationales import example_rationales, read_rationales
from spotball_core.schema import PredictionDistribution, Response
from tests.failures import raises
from tests.reasoning.made import GRID, ROWS, SCENES, frame


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_read_rationales_gives_the_same_result_for_jsonl_csv_and_parquet(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"responses{ending}"
    write_responses(frame(), path)
    found = read_rationales(path, SCENES)
    assert found.texts == ("their arms are up", "their eyes are up", "look at that", "a control", "⚽ 👀")
    assert found.rows["text"].to_list() == [0, 1, None, 0, 2, 1, 0, 3, 4, None]
    labels = [None if cell is None else GRID.label(cell) for cell in found.rows["cell"]]
    assert labels == [row[7] for row in ROWS]
    assert found.rows.select("sport", "image", "respondent", "kind", "prompt").rows() == [row[:5] for row in ROWS]
    assert found.rows["sample"].to_list() == [str(row[5]) for row in ROWS]
    assert found.digest == read_rationales(frame(), SCENES).digest


def test_rationales_digest_depends_on_texts_and_cells_but_not_on_row_order() -> None:
    whole = read_rationales(frame(), SCENES)
    turned = read_rationales(frame(ROWS[::-1]), SCENES)
    assert turned.texts != whole.texts
    assert turned.digest == whole.digest
    other = frame().with_columns(reasoning=pl.col("reasoning").str.replace("that", "this"))
    assert read_rationales(other, SCENES).digest != whole.digest
    assert read_rationales(frame().with_columns(cell=pl.lit("A1")), SCENES).digest != whole.digest


def test_read_rationales_accepts_guesses_as_points_row_and_column_cell_labels_or_probabilities(tmp_path: Path) -> None:
    (tmp_path / "me.jsonl").write_text(
        '{"sport": "soccer", "image": "1", "x": 300, "y": 200, "reasoning": "a"}\n'
        '{"sport": "soccer", "image": "1", "x": 3000, "y": 200, "reasoning": "b"}\n'
        '{"sport": "soccer", "image": "2", "row": 4, "col": 5, "reasoning": "b\\nb"}\n'
        '{"sport": "soccer", "image": "2", "cell": "5d"}\n'
        '{"sport": "volleyball", "image": "1", "probabilities": {"D5": 1.0}, "reasoning": "\\t b "}\n'
    )
    found = read_rationales([tmp_path / "me.jsonl"], SCENES)
    assert found.rows["cell"].to_list() == [34, None, 34, 34, None]
    assert found.rows["spread"].to_list() == [False, False, False, False, True]
    assert found.texts == ("a", "b", "b\nb")
    assert found.rows["text"].to_list() == [0, 1, 2, None, 1]
    assert found.rows["respondent"].unique().to_list() == ["me"]


def test_read_rationales_combines_files_with_and_without_the_reasoning_column(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sport,image,cell\nsoccer,1,D5\n")
    (tmp_path / "b.csv").write_text("sport,image,cell,reasoning\nsoccer,1,D5,words\n")
    found = read_rationales([tmp_path / "a.csv", tmp_path / "b.csv"], SCENES)
    assert found.rows.select("respondent", "text").rows() == [("a", None), ("b", 0)]


def test_read_rationales_accepts_response_and_prediction_distribution_records() -> None:
    about = {"sport": "soccer", "image": "1", "respondent": "me", "kind": "model"}
    said = Response.model_validate(about | {"cell": "D5", "reasoning": "words"})
    silent = PredictionDistribution.model_validate(about | {"probabilities": {"D5": 1.0}})
    found = read_rationales([said, silent], SCENES)
    assert found.texts == ("words",)
    assert found.rows.select("cell", "spread", "text").rows() == [(34, False, 0), (None, True, None)]


@pytest.mark.parametrize("content", ["sport,image,cell\nsoccer,1,D5\n", "sport,image,cell,reasoning\nsoccer,1,D5, \n"])
def test_read_rationales_without_any_text_raises_a_one_line_input_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "me.csv"
    path.write_text(content)
    with raises(InputError, "no-data:reasoning") as caught:
        read_rationales(path, SCENES)
    assert caught.value.file == str(path)
    assert "\n" not in str(caught.value)


def test_read_rationales_with_an_unknown_image_or_counts_file_raises_input_error(tmp_path: Path) -> None:
    path = tmp_path / "me.csv"
    path.write_text("sport,image,cell,reasoning\nsoccer,1,D5,a\nsoccer,77,D5,b\n")
    with raises(InputError, "unknown-image:image:3"):
        read_rationales(path, SCENES)
    (tmp_path / "shard.counts").write_bytes(b"")
    with raises(InputError, "no-data:file"):
        read_rationales([path, tmp_path / "shard.counts"], SCENES)


def test_example_rationales_are_distinct_texts_of_the_most_frequently_guessed_cell(tmp_path: Path) -> None:
    image = {"sport": SCENES[0].sport, "image": SCENES[0].image, "respondent": "gpt", "kind": "model", "prompt": "cot"}
    answers = [("A1", "seldom"), ("D5", "first"), ("D5", "first"), ("D5", None), ("D5", "x" * 20), ("D5", "third")]
    rows = [{**image, "sample": i, "cell": cell, "reasoning": text} for i, (cell, text) in enumerate(answers, 1)]
    path = tmp_path / "a.jsonl"
    write_responses(pl.DataFrame(rows), path)
    key = (SCENES[0].sport, SCENES[0].image, "gpt", "cot")
    assert example_rationales([path], SCENES, most=10) == {key: ["first", "x" * 10 + " …"]}
    assert example_rationales([path], SCENES, n=1) == {key: ["first"]}
    assert example_rationales([tmp_path / "b.counts"], SCENES) == {}
    without = pl.DataFrame(rows).drop("reasoning")
    without.write_ndjson(path)
    assert example_rationales([path], SCENES) == {}

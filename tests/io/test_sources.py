"""Test that dictionaries and Hugging Face datasets give the same scores as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from spotball_core import score
from spotball_core.errors import InputError, OptionError
from spotball_core.grid import Grid
from spotball_core.schema.scene import Scene
from tests.failures import raises

SCENES = [Scene(sport="soccer", image=str(n), grid=Grid.standard(), ball_cells=["D5"]) for n in range(3)]

ROWS: list[dict[str, Any]] = [
    {"image": "0", "respondent": "m", "cell": "D5"},
    {"image": "1", "respondent": "m", "cell": None},
    {"image": "2", "respondent": "m", "cell": "D6", "note": "a column that is not read"},
]

DISTRIBUTIONS: list[dict[str, Any]] = [
    {"image": 0, "respondent": "m", "probabilities": {"D5": 0.25, "D6": 0.75}},
    {"image": 1, "respondent": "m", "probabilities": {"A1": 1.0}},
]


def test_dictionaries_give_the_same_scores_as_a_file(tmp_path: Path) -> None:
    file = tmp_path / "m.csv"
    file.write_text("image,respondent,cell\n0,m,D5\n1,m,\n2,m,D6\n", encoding="utf-8")
    from_file, from_rows = score(str(file), SCENES, bootstrap=0), score(ROWS, SCENES, bootstrap=0)
    assert from_rows.groups == from_file.groups
    assert from_rows.groups[0].n_unparsed == 1


def test_dictionaries_with_probabilities_are_scored() -> None:
    (group,) = score(DISTRIBUTIONS, SCENES, bootstrap=0).groups
    assert group.metrics["accuracy"].value == pytest.approx(0.125)


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([{"image": "7", "cell": "D5"}], InputError, "unknown-image:image:1"),
        ([{"picture": "0", "cell": "D5"}], InputError, "missing-column:image"),
        (
            [{"image": "0", "cell": "D5", "sample": 1}, {"image": "1", "cell": "D5", "sample": [2]}],
            InputError,
            "invalid-value:sample:2",
        ),
        ([{"image": "0", "cell": "D5"}, "responses.csv"], OptionError, "wrong-type:responses"),
    ],
)
def test_invalid_dictionaries_are_an_error(rows: list[Any], error: type[Exception], message: str) -> None:
    with raises(error, message):
        score(rows, SCENES)


def test_hugging_face_dataset_gives_the_same_scores_as_dictionaries() -> None:
    datasets = pytest.importorskip("datasets", reason="needs datasets, which `make .venv/.all` installs")
    dataset = datasets.Dataset.from_list([{**row, "note": ""} for row in ROWS])
    assert score(dataset, SCENES, bootstrap=0).groups == score(ROWS, SCENES, bootstrap=0).groups
    # A selection is stored as indices into the same table.
    assert score(dataset.select([0]), SCENES, bootstrap=0).groups[0].n_responses == 1

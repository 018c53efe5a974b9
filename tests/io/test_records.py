"""Test that records in JSON, dictionaries, mappings and Hugging Face datasets give the same counts as JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from spotball_core import score
from spotball_core.counting.counts import Counts
from spotball_core.counting.read import read_counts
from spotball_core.errors import InputError, OptionError
from spotball_core.grid import Grid
from spotball_core.io.dataset import read_dataset
from spotball_core.io.records import text_of
from spotball_core.schema import Response, Scene
from tests.builders import dataset, scenes, write_jsonl
from tests.failures import raises

KNOWN = scenes("1", "2", "3", "4")

RECORDS: list[dict[str, Any]] = [
    {"image": "1", "cell": "D5", "sample": 1},
    {"image": 2, "x": 100, "y": 50.5},
    {"image": 3, "row": 4, "col": 5.0, "note": ["not read"]},
    {"image": "4", "probabilities": {"D5": 0.25, "D6": 0.75}},
    {"image": "4", "cell": None, "sample": 2},
]


def written(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def fails(source: Any) -> InputError:
    with pytest.raises(InputError) as error:
        read_counts(source, KNOWN)
    return error.value


class TestJsonFiles:
    def test_read_counts_of_a_json_list_of_records_equals_that_of_json_lines(self, tmp_path: Path) -> None:
        lines = write_jsonl(tmp_path / "a.jsonl", RECORDS)
        assert read_counts(written(tmp_path / "a.json", RECORDS), KNOWN) == read_counts(lines, KNOWN)

    def test_read_counts_of_a_json_mapping_counts_each_answer_and_ignores_a_byte_order_mark(
        self, tmp_path: Path
    ) -> None:
        answers = {"1": "D5", "2": None, "3": ["D5", "E5", "D5"], "4": {"D5": 0.5, "D6": 0.5}}
        (tmp_path / "gemini.json").write_text(json.dumps(answers), encoding="utf-8-sig")
        counts = read_counts(tmp_path / "gemini.json", KNOWN)
        assert set(counts.table["respondent"]) == {"gemini"}
        of_3_and_4 = {("3", 34): 2.0, ("3", 44): 1.0, ("4", 34): 0.5, ("4", 35): 0.5}
        assert answers_of(counts) == {("1", 34): 1.0, ("2", None): 1.0, **of_3_and_4}

    def test_read_counts_of_json_with_an_invalid_record_or_a_score_report_raises_an_error_that_names_it(
        self, tmp_path: Path
    ) -> None:
        path = written(tmp_path / "a.json", [*RECORDS, {"image": "9", "cell": "D5"}])
        (problem,) = fails(path).problems
        assert (problem.file, problem.line, problem.field, problem.found) == (str(path), 6, "image", "'9'")
        path = written(tmp_path / "report.json", {"schema_version": 1, "signature": "s", "groups": []})
        assert "spotball score" in fails(path).problems[0].found

    @pytest.mark.parametrize(
        ("text", "line", "field"),
        [
            ("", None, "file"),
            ("[]", None, "file"),
            ("{}", None, "file"),
            ("3", None, "file"),
            ('"D5"', None, "file"),
            ("null", None, "file"),
            ('{"1": "D5"\n', 2, "file"),
            ('{"image": "1", "cell": "D5"}\n{"image": "2", "cell": "D5"}', 2, "file"),
            ('{"1": "D5", "1": "D6"}', None, "file"),
            ('{"1": NaN}', None, "file"),
            ('{"1": 1e999}', None, "file"),
            ('[{"image": "1", "cell": "D5"}, 5]', 2, "record"),
            ('{"image": "1", "cell": "D5"}', None, "file"),
            ('{"image": {"0": "1"}, "cell": {"0": "D5"}}', None, "file"),
            ('{"schema_version": 1, "signature": "", "groups": []}', None, "file"),
            ('{"1": []}', 1, "cell"),
            ('{"1": 34}', 1, "cell"),
            ('{"1": {"D5": 0.5}}', 1, "probabilities"),
            ('{"1": {"Z5": 1}}', 1, "probabilities"),
            ('{"1": ["D5", 3]}', 1, "probabilities"),
            ('[{"image": "1"}]', None, "cell"),
            ('[{"image": "1", "cell": "D5"}, {"image": "2", "cel": "D5"}]', 2, "cel"),
            ("[" * 100_000, None, "file"),
            ('{"1": "\\ud800"}', 1, "cell"),
            ('{"1": ["D5", "D6"], "9": "D5"}', 2, "image"),
            # This is not UTF-8.
            ('{"1": "é"}', None, "file"),
        ],
    )
    def test_read_counts_of_invalid_json_content_raises_an_error_with_line_and_field(
        self, tmp_path: Path, text: str, line: int | None, field: str
    ) -> None:
        path = tmp_path / "a.json"
        path.write_text(text, encoding="latin-1")
        (problem,) = fails(path).problems
        assert (problem.file, problem.line, problem.field) == (str(path), line, field)

    def test_read_dataset_of_a_folder_finds_json_responses_and_ignores_json_parse_records(self, tmp_path: Path) -> None:
        folder = dataset(tmp_path / "set", KNOWN, a=[{"image": "1", "cell": "D5"}])
        written(folder / "responses-b.json", {"1": "D5"})
        written(folder / "parsing.responses-b.json", {"parse_policy": "strict"})
        files = read_dataset(folder).response_files
        assert [file.name for file in files] == ["responses-a.jsonl", "responses-b.json"]


class TestMappings:
    @pytest.mark.parametrize(
        ("answer", "expected"),
        [
            ("5d", {34: 1.0}),
            (None, {None: 1.0}),
            (float("nan"), {None: 1.0}),
            ("ERROR", {None: 1.0}),
            (["D5", None, "D5"], {34: 2.0, None: 1.0}),
            (("D5", "D6"), {34: 1.0, 35: 1.0}),
            ({"D5": np.float32(0.5), "d6": 0.5}, {34: 0.5, 35: 0.5}),
            (np.eye(60)[34], {34: 1.0}),
            (np.eye(60, dtype=np.float32)[34].reshape(6, 10), {34: 1.0}),
            (np.eye(60)[34].tolist(), {34: 1.0}),
            (np.array(["D5", "D6"]), {34: 1.0, 35: 1.0}),
        ],
    )
    def test_read_counts_of_a_mapping_reads_every_form_of_answer(
        self, answer: object, expected: dict[int | None, float]
    ) -> None:
        counts = read_counts({"1": answer, 2: "A1"}, KNOWN)
        assert answers_of(counts) == {**{("1", cell): n for cell, n in expected.items()}, ("2", 0): 1.0}

    def test_read_counts_of_a_torch_tensor_of_probabilities_finds_its_cell(self) -> None:
        torch = pytest.importorskip("torch")
        heat = torch.zeros(6, 10, requires_grad=True) + torch.eye(60)[34].reshape(6, 10)
        for answers in ({"1": heat}, [{"image": 1, "probabilities": heat}]):
            assert answers_of(read_counts(answers, KNOWN)) == {("1", 34): 1.0}

    def test_read_counts_of_an_empty_mapping_raises_input_error(self) -> None:
        assert fails({}).code == "no-data"


class TestDictionaries:
    def test_read_counts_of_dictionaries_reads_values_of_several_types_as_text(self) -> None:
        rows: list[Mapping[str, Any]] = [
            {"image": 1, "cell": "D5", "sample": 1},
            {"image": "2", "cell": float("nan"), "sample": "1"},
            {"image": np.int64(3), "cell": np.str_("D6"), "sample": 1.0},
        ]
        assert answers_of(read_counts(rows, KNOWN)) == {("1", 34): 1.0, ("2", None): 1.0, ("3", 35): 1.0}

    def test_read_counts_of_dictionaries_reads_distributions_in_several_forms(self) -> None:
        forms: list[Any] = [{"D5": 1}, np.eye(60)[34], np.eye(60)[34].reshape(6, 10).tolist(), None]
        rows = [{"image": n, "probabilities": form} for n, form in enumerate(forms, start=1)]
        counts = read_counts(rows, KNOWN)
        assert answers_of(counts) == {("1", 34): 1.0, ("2", 34): 1.0, ("3", 34): 1.0, ("4", None): 1.0}


@pytest.mark.parametrize(
    ("source", "line", "field"),
    [
        ({"image": "1", "cell": "D5"}, None, "file"),
        *(({"1": "D5", "2": answer}, 2, "cell") for answer in ([], np.zeros(0))),
        *(([{"image": "2", "cell": "D5"}, {"image": "1", "cell": cell}], 2, "cell") for cell in ("\ud800",)),
        ([{"image": "2", "cell": "D5"}, {"image": "1", "probabilities": {("D", 5): 1.0}}], 2, "probabilities"),
        ([{"image": "2", "cell": "D5"}, {"image": "1", "probabilities": {"D5": object()}}], 2, "probabilities"),
        ([{"image": "2", "cell": "D5"}, {"image": "1", "cell": "D5", "sample": [2]}], 2, "sample"),
        ([{"image": "2", "cell": "D5"}, {"image": 10**30, "cell": "D5"}], 2, "image"),
    ],
)
def test_read_counts_of_records_with_an_invalid_value_raises_an_error_that_names_record_and_field(
    source: Any, line: int | None, field: str
) -> None:
    (problem,) = fails(source).problems
    assert (problem.file, problem.line, problem.field) == ("records", line, field)


class TestScores:
    ROWS: ClassVar[list[dict[str, Any]]] = [
        {"image": "1", "respondent": "m", "cell": "D5"},
        {"image": "2", "respondent": "m", "cell": None},
        {"image": "3", "respondent": "m", "cell": "D6", "note": "a column that is not read"},
    ]

    def test_score_of_dictionaries_equals_score_of_a_csv_file(self, tmp_path: Path) -> None:
        file = tmp_path / "m.csv"
        file.write_text("image,respondent,cell\n1,m,D5\n2,m,\n3,m,D6\n", encoding="utf-8")
        from_file, from_rows = score(str(file), KNOWN, bootstrap=0), score(self.ROWS, KNOWN, bootstrap=0)
        assert from_rows.groups == from_file.groups
        assert from_rows.groups[0].n_unparsed == 1

    def test_score_of_a_hugging_face_dataset_equals_score_of_dictionaries(self) -> None:
        datasets = pytest.importorskip("datasets", reason="needs datasets, which `make .venv/.all` installs")
        dataset = datasets.Dataset.from_list([{**row, "note": ""} for row in self.ROWS])
        assert score(dataset, KNOWN, bootstrap=0).groups == score(self.ROWS, KNOWN, bootstrap=0).groups
        # A selection is stored as indices into the same table.
        assert score(dataset.select([0]), KNOWN, bootstrap=0).groups[0].n_responses == 1

    @pytest.mark.parametrize(
        ("rows", "error", "where"),
        [
            ([{"image": "7", "cell": "D5"}], InputError, "unknown-image:image:1"),
            ([{"picture": "1", "cell": "D5"}], InputError, "missing-column:image"),
            (
                [{"image": n, "cell": "D5", "sample": sample} for n, sample in ((1, 1), (2, [2]))],
                InputError,
                "invalid-value:sample:2",
            ),
            ([{"image": "1", "cell": "D5"}, "responses.csv"], OptionError, "wrong-type:responses"),
        ],
    )
    def test_score_of_invalid_dictionaries_is_an_error(self, rows: list[Any], error: Any, where: str) -> None:
        with raises(error, where):
            score(rows, KNOWN)


class TestSports:
    def test_read_counts_of_a_response_without_a_sport_uses_the_sport_of_its_image(self) -> None:
        response = Response(image="1", respondent="m", kind="model", cell="D5")
        assert read_counts([response], KNOWN).table["sport"].to_list() == ["soccer"]
        known = [Scene(image=image, grid=Grid.standard()) for image in ("1", "2")]
        other = Response(sport="all", image="2", respondent="m", kind="model", cell="D5")
        assert read_counts([response, other], known).table["sport"].to_list() == ["all", "all"]

    def test_read_counts_of_a_sport_that_is_missing_from_the_ground_truth_raises_input_error(self) -> None:
        known = [Scene(image="1", grid=Grid.standard())]
        with pytest.raises(InputError) as error:
            read_counts([{"image": "1", "sport": "soccer", "cell": "D5"}], known)
        (problem,) = error.value.problems
        assert (problem.field, problem.found) == ("image", "'1' of soccer")
        assert "`sport`" in problem.fix


def test_text_of_an_infinite_number_is_inf() -> None:
    assert text_of(float("inf")) == "inf"


def answers_of(counts: Counts) -> dict[tuple[str, int | None], float]:
    table = counts.table.with_columns(answers=counts.table["n"] + counts.table["parts"] / 2**53)
    return {(image, cell): n for image, cell, n in table.select("image", "cell", "answers").iter_rows()}

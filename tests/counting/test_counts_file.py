"""Test counts files: shards counted separately must give the same scores as all responses counted together."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from spotball_core import Counts, InputError, OptionError, score
from spotball_core.counting.counts import PARTS
from spotball_core.counting.counts_file import merged, read_counts_file, write_counts
from spotball_core.counting.read import read_counts
from tests.builders import dataset, scenes, write_jsonl
from tests.conftest import examples
from tests.failures import raises

KNOWN = scenes("1", "2", players=[[0, 0, 100, 100]])
PEOPLE = [
    {"image": image, "respondent": "human", "participant": person, "sample": 1, "cell": cell}
    for image in ("1", "2")
    for person, cell in (("a", "C2"), ("b", "D5"), ("c", None))
]
MODEL = [{"image": image, "respondent": "gpt", "cell": cell} for image in ("1", "2") for cell in ("C2", "F10", "F10")]
KEYS = {"sport": "soccer", "image": "1", "respondent": "m", "kind": "model", "prompt": "base"}
ROW = {**KEYS, "cell": 12, "n": 1, "parts": 0, "grid_rows": 6, "grid_cols": 10}

named = st.fixed_dictionaries({"cell": st.sampled_from(["C2", "d5", "F10", "nowhere"])})
weights = st.dictionaries(st.sampled_from(["C2", "D5", "E7", "F10"]), st.floats(1e-9, 1), min_size=1)
likely = weights.map(lambda given: {"probabilities": {label: w / sum(given.values()) for label, w in given.items()}})
answers = st.lists(st.tuples(st.sampled_from("12"), named | likely), min_size=2)


@pytest.mark.slow
@settings(max_examples=examples(12))
@given(answers, st.data())
def test_score_of_counted_shards_equals_score_of_all_responses(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, dict[str, object]]], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("shards")
    split = data.draw(st.integers(1, len(rows) - 1))
    records = [{"image": image, "respondent": "m", **answer} for image, answer in rows]
    shuffled = data.draw(st.permutations(records))
    for name, part in (("a", shuffled[:split]), ("b", shuffled[split:]), ("all", records)):
        write_jsonl(folder / f"{name}.jsonl", part)
    for name in ("a", "b"):
        write_counts(read_counts(folder / f"{name}.jsonl", KNOWN), folder / f"{name}.counts")
    apart = score([folder / "a.counts", folder / "b.counts"], KNOWN, bootstrap=20)
    half = score([folder / "a.counts", folder / "b.jsonl"], KNOWN, bootstrap=20, pool=True)
    whole = score(folder / "all.jsonl", KNOWN, bootstrap=20)
    # Counts do not contain the original values, so they can show fewer warnings about misread files.
    apart, half, whole = (report.model_copy(update={"warnings": ()}) for report in (apart, half, whole))
    assert apart == half == whole
    assert apart.model_dump_json() == whole.model_dump_json()


def test_merge_of_counts_of_distributions_in_two_files_equals_read_counts_of_one_file_with_both(tmp_path: Path) -> None:
    # The probabilities sum to 1 - 2**-53 or to 1, depending on the order of floating-point addition.
    three = {"C2": 0.4348075965615364, "D5": 0.22304872089823818, "E7": 0.3421436825402253}
    rows = [{"image": "1", "respondent": "m", "probabilities": given} for given in ({"C2": 1.0}, three)]
    whole = read_counts(write_jsonl(tmp_path / "all.jsonl", rows), KNOWN)
    apart = [read_counts(write_jsonl(tmp_path / f"{n}.jsonl", [row]), KNOWN) for n, row in enumerate(rows)]
    assert Counts.merge(apart) == whole


def test_read_counts_file_accepts_fractional_n_without_a_parts_column(tmp_path: Path) -> None:
    rows = [{**KEYS, "cell": 12, "n": 2.25}, {**KEYS, "cell": 12, "n": 0.5}, {**KEYS, "cell": None, "n": 1.0}]
    pl.DataFrame(rows).with_columns(grid_rows=6, grid_cols=10).write_parquet(tmp_path / "x.counts")
    table = read_counts_file(tmp_path / "x.counts").table
    assert table.select("cell", "n", "parts").rows() == [(None, 1, 0), (12, 2, PARTS * 3 // 4)]


@pytest.mark.parametrize(
    ("rows", "where", "found"),
    [
        ([{**ROW, "cell": 12.5}], "invalid-value:cell", ""),
        ([{**ROW, "cell": "D5"}], "invalid-value:cell", ""),
        ([{**ROW, "cell": True}], "invalid-value:cell", ""),
        ([{**ROW, "cell": -1}], "wrong-file:file", ""),
        ([{**ROW, "cell": 60}], "wrong-file:file", "6 x 10"),
        ([{**ROW, "n": "2"}], "invalid-value:n", ""),
        ([{**ROW, "n": True}], "invalid-value:n", ""),
        ([{**ROW, "n": -1}], "wrong-file:file", ""),
        ([{**ROW, "n": float("nan")}], "wrong-file:file", ""),
        ([{**ROW, "parts": 2**53}], "invalid-value:parts", ""),
        ([{**ROW, "parts": 0.5}], "invalid-value:parts", ""),
        ([{**ROW, "parts": -1}], "invalid-value:parts", "-1"),
        ([{**ROW, "image": 1}], "invalid-value:image", ""),
        ([{**ROW, "respondent": " "}], "invalid-value:respondent", ""),
        ([{**ROW, "kind": "robot"}], "wrong-file:file", ""),
        ([ROW, {**ROW, "kind": "human"}], "incompatible-data:kind", ""),
        ([{**ROW, "grid_rows": 0}], "invalid-value:file", "0 x 10"),
        ([{**ROW, "grid_rows": None}], "invalid-value:file", ""),
        ([{**ROW, "grid_rows": 6.0}], "invalid-value:grid_rows", ""),
        ([{**ROW, "grid_rows": "6"}], "invalid-value:grid_rows", ""),
        ([{**ROW, "grid_cols": 0}], "invalid-value:file", "6 x 0"),
        ([{**ROW, "grid_cols": 10.0}], "invalid-value:grid_cols", "Float64"),
        ([ROW, {**ROW, "grid_rows": 7}], "different-grids:file", ""),
        ([{**ROW, "sport": None}], "wrong-file:file", ""),
        ([{**ROW, "parse_policies": "strict,loose"}], "invalid-value:parse_policies", "loose"),
        ([{"a": 1}], "missing-column:file", ""),
    ],
)
def test_read_counts_file_with_invalid_content_is_an_error(
    rows: list[dict[str, object]], where: str, found: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.counts"
    pl.DataFrame(rows).write_parquet(path)
    with raises(InputError, where) as error:
        read_counts_file(path)
    assert error.value.file == str(path)
    assert found in error.value.problems[0].found


def test_score_of_counts_files_with_different_kinds_of_a_respondent_is_an_error(tmp_path: Path) -> None:
    for name, kind in (("a", "model"), ("b", "human")):
        pl.DataFrame([{**ROW, "kind": kind}]).write_parquet(tmp_path / f"{name}.counts")
    with raises(OptionError, "incompatible-data"):
        score([tmp_path / "a.counts", tmp_path / "b.counts"], KNOWN, bootstrap=0)


def test_read_counts_file_does_not_treat_brackets_in_a_name_as_a_pattern(tmp_path: Path) -> None:
    pl.DataFrame([ROW]).write_parquet(tmp_path / "a.counts")
    pl.DataFrame([{**ROW, "n": 3}]).write_parquet(tmp_path / "[a].counts")
    assert read_counts_file(tmp_path / "[a].counts").n_answers == 3


def test_counts_file_round_trip_and_merged_counts_keep_participants(tmp_path: Path) -> None:
    people = read_counts(write_jsonl(tmp_path / "p.jsonl", PEOPLE), KNOWN, participants=True)
    write_counts(people, tmp_path / "p.counts")
    assert read_counts_file(tmp_path / "p.counts") == people
    # The model has no participants.
    model = read_counts(write_jsonl(tmp_path / "m.jsonl", MODEL), KNOWN)
    together = merged([people, model], participants=True)
    by_person = dict(together.table.group_by("participant").agg(pl.col("n").sum()).iter_rows())
    assert by_person == {"a": 2, "b": 2, "c": 2, None: 6}
    assert merged([people, model], participants=False) == Counts.merge([people.pooled(), model])


def test_score_of_a_folder_with_response_and_counts_files_uses_both(tmp_path: Path) -> None:
    folder = dataset(tmp_path / "set", KNOWN, human=PEOPLE)
    write_counts(read_counts(write_jsonl(tmp_path / "m.jsonl", MODEL), KNOWN), folder / "responses-m.counts")
    report = score(folder, reference="human", bootstrap=0)
    assert [group.n_responses for group in report.groups] == [6, 6]


def test_read_counts_file_of_an_invalid_or_missing_file_and_write_counts_with_a_wrong_ending_are_errors(
    tmp_path: Path,
) -> None:
    (tmp_path / "x.counts").write_text("nonsense")
    with raises(InputError, "unreadable-file:file"):
        read_counts_file(tmp_path / "x.counts")
    with raises(InputError, "missing-file:file"):
        read_counts_file(tmp_path / "y.counts")
    counts = read_counts(write_jsonl(tmp_path / "m.jsonl", MODEL), KNOWN)
    with raises(OptionError, "unsupported-format"):
        write_counts(counts, tmp_path / "m.parquet")

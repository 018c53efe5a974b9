"""Test that one pass over the rows finds the same counts and repeated samples as plain Python loops."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from spotball_core.counting import one_pass, samples
from spotball_core.counting.counts import answers
from spotball_core.counting.one_pass import grouped
from spotball_core.counting.read import read_counts
from spotball_core.errors import InputError
from spotball_core.grid import Grid
from spotball_core.io.frames import KEYS
from tests.builders import scenes, write_csv, write_jsonl, write_parquet
from tests.conftest import examples
from tests.failures import raises

Row = dict[str, Any]

GRID = Grid.standard()
KNOWN = scenes("1", "2")
WRITERS = {".jsonl": write_jsonl, ".csv": write_csv, ".parquet": write_parquet}
FORMS = ("cell", "point", "place", "spread", "nothing")

rows = st.fixed_dictionaries(
    {
        "image": st.sampled_from("12"),
        "respondent": st.sampled_from([None, "m", "n"]),
        "prompt": st.sampled_from([None, "cot"]),
        "participant": st.sampled_from([None, None, "p", "q"]),
        "sample": st.none() | st.integers(1, 40),
        "cell": st.integers(0, 59),
        "form": st.sampled_from(FORMS),
    }
)
files = st.lists(
    st.tuples(st.sampled_from(list(WRITERS)), st.lists(rows, min_size=1, max_size=8)), min_size=1, max_size=3
)


def answer(row: Row) -> Row:
    """Return the columns of a row, with its cell expressed in the form that the row names."""
    index = row["cell"]
    place = {"row": index // 10 + 1, "col": index % 10 + 1}
    forms = {
        "cell": {"cell": GRID.label(index)},
        "point": {"x": index % 10 * 64 + 32.0, "y": index // 10 * 60 + 30.0},
        "place": place,
        "spread": {"probabilities": {GRID.label(index): 1.0}},
        "nothing": {"cell": None},
    }
    return {key: row[key] for key in row if key not in ("form", "cell")} | forms[row["form"]]


def plainly(read: Sequence[tuple[str, Sequence[Row]]], participants: bool) -> tuple[dict[Any, float], int]:
    """Return the counts and the number of repeated samples, computed by a loop over the rows of all files."""
    counts: Counter[Any] = Counter()
    seen: Counter[Any] = Counter()
    for stem, file in read:
        for row in file:
            respondent, prompt = row["respondent"] or stem, row["prompt"] or "base"
            cell = None if row["form"] == "nothing" else row["cell"]
            who = (row["participant"],) if participants else ()
            counts["soccer", row["image"], respondent, "model", prompt, *who, cell] += 1
            if row["sample"] is not None:
                seen[respondent, prompt, row["image"], row["participant"], row["sample"]] += 1
    return dict(counts), sum(n - 1 for n in seen.values())


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(files, st.booleans())
def test_read_counts_of_mixed_files_equals_a_plain_loop(drawn: list[tuple[str, list[Row]]], participants: bool) -> None:
    expected, again = plainly([(f"f{i}", file) for i, (_, file) in enumerate(drawn)], participants)
    with tempfile.TemporaryDirectory() as folder:
        paths = [
            WRITERS[ending](Path(folder, f"f{i}{ending}"), [answer(row) for row in file])
            for i, (ending, file) in enumerate(drawn)
        ]
        if again:
            with pytest.raises(InputError) as caught:
                read_counts(paths, KNOWN, participants=participants, pool=True)
            assert caught.value.total == again
        else:
            table = read_counts(paths, KNOWN, participants=participants, pool=True).table
            keys = table.select(*KEYS, *(["participant"] if participants else []), "cell").rows()
            assert dict(zip(keys, answers(table).tolist(), strict=True)) == expected


@settings(max_examples=examples(30))
@given(
    st.permutations(range(1, 13)),
    st.sampled_from([None, 1, 5, 12]),
    st.sampled_from([None, "p", " "]),
    st.booleans(),
    st.sampled_from([str, int, float]),
)
def test_read_counts_finds_repeated_samples_in_any_order_across_two_files(
    numbers: list[int], repeat: int | None, participant: str | None, participants: bool, kind: type
) -> None:
    row: Row = {"image": "1", "respondent": "m", "participant": None, "cell": "C2"}
    given_rows = [row | {"sample": kind(number)} for number in numbers]
    if repeat:
        given_rows.append(row | {"sample": kind(repeat), "participant": participant})
    with tempfile.TemporaryDirectory() as folder:
        paths = [write_parquet(Path(folder, "a.parquet"), given_rows[:5])]
        paths.append(write_csv(Path(folder, "b.csv"), given_rows[5:]))
        # A blank participant is the same as none, so only a real name makes the sample a different one.
        if repeat and participant != "p":
            with raises(InputError, "duplicate:sample:9"):
                read_counts(paths, KNOWN, participants=participants)
        else:
            counts = read_counts(paths, KNOWN, participants=participants, pool=True)
            assert counts.table["n"].sum() == len(given_rows)


@settings(max_examples=examples(30))
@given(st.lists(rows, min_size=1, max_size=12), st.integers(1, 4), st.integers(0, 6), st.booleans())
def test_read_counts_of_parquet_in_small_batches_equals_that_of_csv(
    file: list[Row], at_once: int, held: int, participants: bool
) -> None:
    def outcome(path: Path) -> object:
        try:
            return read_counts(path, KNOWN, participants=participants).table.rows()
        except InputError as error:
            return [(problem.field, problem.found) for problem in error.problems], error.total

    answers_given = [answer(row) for row in file]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(one_pass, "ROWS_AT_ONCE", at_once)
        patch.setattr(one_pass, "GROUPS_HELD", held)
        csv = outcome(write_csv(Path(folder, "m.csv"), answers_given))
        assert outcome(write_parquet(Path(folder, "m.parquet"), answers_given)) == csv


def test_grouped_combines_equal_rows_and_counts_them() -> None:
    x = [None, None, None, 3.0]
    frame = pl.LazyFrame({"image": ["1", "1", "2", "1"], "cell": ["A1", "A1", "A1", None], "x": x, "y": x})
    groups = grouped(frame, ["image", "sport"]).select("image", "cell", "n", "apart", "point", "spread").collect()
    assert set(groups.rows()) == {
        ("1", "A1", 2, 0, False, False),
        ("2", "A1", 1, 0, False, False),
        ("1", None, 1, 1, True, False),
    }


def test_read_counts_reads_json_lines_only_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that JSON Lines with cells need only one pass if the samples of each image are numbered without gaps."""
    collected = []
    collect = pl.LazyFrame.collect

    def counted(frame: pl.LazyFrame, *args: Any, **options: Any) -> Any:
        collected.append("NDJSON" in frame.explain(optimized=False).upper())
        return collect(frame, *args, **options)

    path = write_jsonl(tmp_path / "m.jsonl", [{"image": "1", "sample": n, "cell": "C2"} for n in (1, 2, 3)])
    monkeypatch.setattr(pl.LazyFrame, "collect", counted)
    assert read_counts(path, KNOWN).table["n"].sum() == 3
    assert sum(collected) == 1


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from("12"), st.integers(1, 6)), min_size=1, max_size=14))
def test_read_counts_reports_exactly_the_repeated_samples(given_samples: list[tuple[str, int]]) -> None:
    rows = [{"image": image, "sample": sample, "cell": "C2"} for image, sample in given_samples]
    again = sum(n - 1 for n in Counter(given_samples).values())
    with tempfile.TemporaryDirectory() as folder:
        path = write_csv(Path(folder, "m.csv"), rows)
        if again:
            with pytest.raises(InputError) as caught:
                read_counts(path, KNOWN)
            assert caught.value.total == again
        else:
            assert read_counts(path, KNOWN).table["n"].sum() == len(rows)


@pytest.mark.parametrize(
    ("numbers", "looked_at"),
    [
        *((numbers, False) for numbers in ([1, 2, 3], [3, 1, 2], [7, 8, 9], [10**12])),
        *((numbers, True) for numbers in ([1, 2, 4], [10**12, 1], [2**53], [10**300])),
    ],
)
def test_read_counts_checks_samples_one_by_one_only_if_their_numbers_have_gaps_or_are_very_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, numbers: list[int], looked_at: bool
) -> None:
    looked = []
    whole = samples.repeated
    monkeypatch.setattr(samples, "repeated", lambda *rows: looked.append(rows) or whole(*rows))
    rows = [{"image": "1", "sample": sample, "cell": "C2"} for sample in numbers]
    rows += [{"image": "2", "sample": 1, "cell": "C2"}] if len(numbers) > 1 else []
    assert read_counts(write_csv(tmp_path / "m.csv", rows), KNOWN).table["n"].sum() == len(rows)
    assert bool(looked) is looked_at


def test_read_counts_finds_repeated_samples_whose_numbers_have_the_same_sum_as_unrepeated_ones(tmp_path: Path) -> None:
    rows = [{"image": "1", "sample": sample, "cell": "C2"} for sample in (1, 1, 4, 4, 5)]  # Same sum as 1, 2, 3, 4, 5.
    with raises(InputError, "duplicate:sample:3"):
        read_counts(write_csv(tmp_path / "m.csv", rows), KNOWN)

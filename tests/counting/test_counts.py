"""Test counts: their table, their addition and their digest."""

from __future__ import annotations

import functools
import math
import operator
import random
from collections import Counter, defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from spotball_core.counting.counts import PARTS, Counts, dense
from spotball_core.errors import OptionError
from spotball_core.io.frames import KEYS
from tests.conftest import examples
from tests.failures import raises

Rows = list[dict[str, Any]]
ROW = {"sport": "soccer", "image": "1", "respondent": "me", "kind": "model", "prompt": "base", "cell": 3, "n": 1.0}
SCHEMA = {**dict.fromkeys(KEYS, pl.String), "participant": pl.String, "cell": pl.Int64, "n": pl.Float64}


def exact(counts: Counts) -> Fraction:
    return sum((n + Fraction(parts, PARTS) for n, parts in counts.table.select("n", "parts").rows()), Fraction())


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "sport": st.sampled_from(["soccer", "basketball"]),
            "image": st.sampled_from(["1", "2", "12"]),
            "respondent": st.sampled_from(["me", "you"]),
            "kind": st.sampled_from(["human", "model"]),
            "prompt": st.sampled_from(["base", "cue"]),
            "participant": st.sampled_from([None, "a", "b"]),
            "cell": st.none() | st.integers(0, 59),
            "n": st.integers(0, 3),
        }
    ),
    max_size=15,
)
RANDOMS = st.randoms(use_true_random=False)


def table(rows: Rows, *, participants: bool = False) -> pl.DataFrame:
    made = pl.DataFrame(rows, schema=SCHEMA)
    return made if participants else made.drop("participant")


def count(rows: Rows, **options: bool) -> Counts:
    return Counts.of(table(rows, **options), rows=6, cols=10)


class TestCountsOf:
    @given(ROWS, RANDOMS)
    def test_counts_of_rows_in_any_order_equal_a_plain_loop_and_can_be_pooled_over_participants(
        self, rows: Rows, rng: random.Random
    ) -> None:
        expected: Counter[tuple[object, ...]] = Counter()
        for row in rows:
            expected[tuple(row[key] for key in (*KEYS, "participant", "cell"))] += row["n"]
        made = count(rows, participants=True)
        assert {row[:-2]: row[-2] for row in made.table.rows()} == {key: n for key, n in expected.items() if n}
        assert count(rng.sample(rows, len(rows)), participants=True) == made
        pooled = count(rows)
        assert (made.has_participants, pooled.has_participants) == (True, False)
        assert made.pooled() == pooled
        assert pooled.pooled() is pooled
        assert made.digest() == pooled.digest()

    @settings(max_examples=examples(30))
    @given(st.lists(st.floats(0, 1), min_size=2, max_size=300), RANDOMS)
    def test_counts_of_fractions_are_exact_in_any_order(self, parts: list[float], rng: random.Random) -> None:
        one = count([{**ROW, "n": n} for n in parts])
        assert one == count([{**ROW, "n": n} for n in rng.sample(parts, len(parts))])
        # Compare with exact fractions, each rounded down to a multiple of 1 / `PARTS`.
        assert exact(one) == sum(Fraction(math.floor(Fraction(n) * PARTS), PARTS) for n in parts)

    def test_counts_table_is_sorted_and_has_each_key_once_as_text(self) -> None:
        rows = [ROW, {**ROW, "sport": "basketball"}, {**ROW, "cell": None}, ROW, {**ROW, "n": 0.0, "cell": 5}]
        made = count(rows).table
        assert made.columns == [*KEYS, "cell", "n", "parts"]
        found = made.select("sport", "cell", "n", "parts").rows()
        assert found == [("basketball", 3, 1, 0), ("soccer", None, 1, 0), ("soccer", 3, 2, 0)]
        numbered = Counts.of(pl.DataFrame([{**ROW, "image": 7, "n": 2}]), rows=6, cols=10)
        assert numbered.table.row(0) == ("soccer", "7", "me", "model", "base", 3, 2, 0)

    @pytest.mark.parametrize(
        ("change", "code", "named"),
        [
            ({"cell": 60}, "invalid-value", "`cell`"),
            ({"cell": -1}, "invalid-value", "`cell`"),
            ({"n": -1.0}, "invalid-value", "`n`"),
            ({"n": float("nan")}, "invalid-value", "`n`"),
            ({"n": float("inf")}, "invalid-value", "`n`"),
            ({"n": None}, "invalid-value", "`n`"),
            ({"parts": -1}, "invalid-value", "`parts`"),
            ({"parts": None}, "invalid-value", "`parts`"),
            ({"n": 2.0**53}, "invalid-value", "2**53"),
            ({"n": 2.0**53 - 2, "parts": PARTS}, "invalid-value", "2**53"),
            ({"kind": "alien"}, "invalid-value", "'alien'"),
            *[({key: None}, "missing-value", f"`{key}`") for key in KEYS],
        ],
    )
    def test_counts_of_invalid_values_is_an_error(self, change: dict[str, Any], code: str, named: str) -> None:
        with raises(OptionError, f"{code}:counts") as caught:
            Counts.of(pl.DataFrame([{**ROW, "parts": 0}, {**ROW, "parts": 0, **change}]), rows=6, cols=10)
        assert named in str(caught.value)

    @pytest.mark.parametrize(
        ("rows", "where"),
        [
            *(
                (pl.DataFrame([{**ROW, **change}]), "invalid-value:counts")
                for change in ({"n": "many"}, {"cell": "D5"})
            ),
            *((pl.DataFrame([ROW]).drop(column), "missing-column") for column in (*KEYS, "cell", "n")),
        ],
    )
    def test_counts_of_a_table_with_wrong_columns_is_an_error(self, rows: pl.DataFrame, where: str) -> None:
        with raises(OptionError, where):
            Counts.of(rows, rows=6, cols=10)


class TestMerge:
    @given(st.lists(ROWS, min_size=3, max_size=3))
    def test_merge_of_counts_equals_counts_of_all_rows(self, parts: list[Rows]) -> None:
        counts = [count(part) for part in parts]
        together = count([row for part in parts for row in part])
        assert Counts.merge(counts) == together
        assert counts[0] + counts[1] + counts[2] == together
        assert Counts.merge(counts[::-1]).digest() == together.digest()

    @settings(max_examples=examples(30))
    @given(
        st.lists(st.tuples(st.sampled_from([None, 0, 1, 59]), st.floats(0, 3), st.integers(0, 4)), min_size=1), RANDOMS
    )
    def test_merge_of_shards_in_any_order_is_exact(
        self, answers: list[tuple[int | None, float, int]], rng: random.Random
    ) -> None:
        rows = [{**ROW, "cell": cell, "n": n} for cell, n, _ in answers]
        shards: defaultdict[int, Rows] = defaultdict(list)
        for row, (_, _, shard) in zip(rows, answers, strict=True):
            shards[shard].append(row)
        parts = [count(shard) for shard in rng.sample(list(shards.values()), len(shards))]
        whole = count(rows)
        assert Counts.merge(parts) == functools.reduce(operator.add, parts) == whole
        assert Counts.merge(parts).digest() == whole.digest()
        assert exact(whole) == sum(Fraction(math.floor(Fraction(row["n"]) * PARTS), PARTS) for row in rows)

    def test_merge_accepts_more_counts_than_are_merged_at_once(self) -> None:
        one = count([ROW])
        assert Counts.merge(one for _ in range(1234)).table["n"].to_list() == [1234]

    def test_counts_of_fractions_of_responses_carry_over_to_whole_responses(self) -> None:
        third = {**ROW, "n": 0, "parts": PARTS // 3}
        made = Counts.of(pl.DataFrame([third] * 5000), rows=6, cols=10)
        assert made.table.select("n", "parts").row(0) == divmod(5000 * (PARTS // 3), PARTS)
        assert made.n_answers == pytest.approx(5000 / 3, rel=1e-15)

    def test_adding_incompatible_counts_or_merging_no_counts_is_an_error(self) -> None:
        one = count([ROW])
        with raises(OptionError, "different-grids"):
            one + Counts.of(table([ROW]), rows=3, cols=20)
        with raises(OptionError, "incompatible-data"):
            one + count([{**ROW, "participant": "a"}], participants=True)
        with raises(OptionError, "no-data:counts"):
            Counts.merge([])


class TestEquality:
    @given(ROWS, ROWS)
    def test_digests_of_counts_are_equal_if_and_only_if_the_counts_are_equal(self, one: Rows, other: Rows) -> None:
        assert (count(one) == count(other)) == (count(one).digest() == count(other).digest())

    def test_digest_of_counts_depends_on_the_grid_every_column_and_the_boundaries_between_values(self) -> None:
        one, other = count([ROW]), Counts.of(table([ROW]), rows=10, cols=6)
        assert one != other
        assert one.digest() != other.digest()
        assert one != "counts"
        texts = [{key: "human" if key == "kind" else "other"} for key in KEYS]
        for change in (*texts, {"cell": None}, {"n": 2.0}, {"n": 1 + 2**-52}):
            assert count([{**ROW, **change}]).digest() != count([ROW]).digest(), change
        for these, those in (
            ([("a", "12"), ("b", "3")], [("a", "1"), ("b", "23")]),
            ([("a", "x"), ("b", "1")], [("a", "x"), ("b1", "")]),
            ([("a", "1"), ("b", "2")], [("a", "1\x1fb"), ("2", "")]),
        ):
            made = [count([{**ROW, "sport": s, "image": i} for s, i in rows]).digest() for rows in (these, those)]
            assert made[0] != made[1], these


class TestDense:
    @given(ROWS, st.integers(0, 3))
    def test_dense_of_random_rows_equals_sums_in_a_plain_loop(self, rows: Rows, n_places: int) -> None:
        made = count(rows).table
        images = ["1", "2", "12"][:n_places]
        places = np.array([images.index(image) if image in images else -1 for image in made["image"]], dtype=np.int64)
        mass, unparsed = np.zeros((n_places, 60)), np.zeros(n_places)
        for row, place in zip(made.iter_rows(named=True), places, strict=True):
            if place >= 0 and row["cell"] is None:
                unparsed[place] += row["n"]
            elif place >= 0:
                mass[place, row["cell"]] += row["n"]
        found = dense(made, places, n_places, 60)
        np.testing.assert_array_equal(found[0], mass)
        np.testing.assert_array_equal(found[1], unparsed)

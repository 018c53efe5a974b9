"""Test that answers accumulated in batches give the same scores as all answers at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st

from spotball_core import Accumulator, Counts, Grid, baseline_responses, read_counts, score, synthetic_scenes
from spotball_core.counting.counts import PARTS
from spotball_core.errors import DistributionError, GridError, OptionError, SpotballError
from spotball_core.schema import PredictionDistribution, Response, Scene
from tests.conftest import examples
from tests.failures import raises

SCENES = synthetic_scenes(9, seed=0)
LABELS = Grid.standard().labels
BATCHES = st.lists(
    st.lists(st.tuples(st.integers(0, 8), st.sampled_from([*LABELS, None])), max_size=12), min_size=1, max_size=5
)


def parts_of(counts: Counts) -> int:
    return sum(counts.table["n"].to_list()) * PARTS + sum(counts.table["parts"].to_list())


def filled(batches: list[list[tuple[int, str | None]]]) -> Accumulator:
    made = Accumulator(SCENES, respondent="me")
    for batch in batches:
        made.update([label for _, label in batch], [SCENES[place] for place, _ in batch])
    return made


@settings(deadline=None, max_examples=examples(50))
@given(batches=BATCHES)
def test_accumulator_counts_equal_read_counts_in_any_batch_order(batches: list[list[tuple[int, str | None]]]) -> None:
    rows = [
        Response(sport=SCENES[at].sport, image=SCENES[at].image, respondent="me", kind="model", sample=n, cell=cell)
        for n, (at, cell) in enumerate((one for batch in batches for one in batch), start=1)
    ]
    made = filled(batches)
    if rows:
        assert made.counts == read_counts(rows, SCENES)
    assert filled(batches[::-1]).counts == made.counts
    parts = [filled([batch]) for batch in batches]
    parts[0].merge(*parts[1:])
    assert parts[0].counts == made.counts


@settings(deadline=None, max_examples=examples(50))
@given(seed=st.integers(0, 2**32), n=st.integers(1, 40))
def test_accumulated_probabilities_are_identical_in_any_order(seed: int, n: int) -> None:
    draw = np.random.default_rng(seed)
    places, mass = draw.integers(0, 9, n), draw.dirichlet(np.full(60, 0.2), n)
    at_once, one_by_one = Accumulator(SCENES), Accumulator(SCENES)
    at_once.update(mass, [SCENES[place] for place in places])
    for i in draw.permutation(n):
        other = Accumulator(SCENES)
        other.update(mass[i], SCENES[places[i]])
        one_by_one.merge(other)
    assert one_by_one.counts == at_once.counts
    assert parts_of(at_once.counts) == n * PARTS


def test_accumulated_probabilities_equal_those_of_read_counts() -> None:
    mass = np.random.default_rng(0).dirichlet(np.ones(60), 2)
    names = ({"sport": one.sport, "image": one.image, "respondent": "model", "kind": "model"} for one in SCENES)
    rows = [PredictionDistribution(**name, probabilities=list(m)) for name, m in zip(names, mass, strict=False)]
    made = Accumulator(SCENES)
    made.update(mass, [SCENES[0].key, SCENES[1].key])
    ours, read = made.counts.table, read_counts(rows, SCENES).table
    assert ours.drop("parts").equals(read.drop("parts"))
    # Sums of floats depend on their grouping, but both totals are exactly two answers.
    assert np.abs(ours["parts"].to_numpy() - read["parts"].to_numpy()).max() <= 64
    assert parts_of(made.counts) == parts_of(read_counts(rows, SCENES)) == 2 * PARTS


def test_accumulated_probabilities_of_many_batches_do_not_overflow() -> None:
    made = Accumulator(SCENES[:1])
    for _ in range(30):
        made.update(np.full((100, 60), 1 / 60), [SCENES[0]] * 100)
    assert parts_of(made.counts) == 3000 * PARTS
    assert (made.counts.table["parts"] < 2**53).all()


def test_compute_and_report_equal_the_scores_of_score() -> None:
    people = read_counts(baseline_responses(SCENES, ["oracle"], samples=30, seed=1), SCENES)
    made = Accumulator(SCENES, respondent="me", prompt="cot")
    rows = baseline_responses(SCENES, ["center"], samples=10, seed=0)
    made.update(rows["cell"], list(zip(rows["sport"], rows["image"], strict=True)))
    report = score(made.counts + people, SCENES, reference="oracle", bootstrap=0, by=["respondent"])
    (group,) = [one for one in report.groups if one.respondent == "me"]
    found = made.compute(people, reference="oracle")
    assert found == {key: value.value for key, value in group.metrics.items()}
    assert made.report(people, reference="oracle", bootstrap=10).groups[0].metrics["wasserstein"].ci95 is not None
    assert np.isnan(made.compute()["near_player_rate"]) == (group.metrics["near_player_rate"].value is None)


def test_reset_clears_the_counts_and_compute_without_counts_raises_option_error() -> None:
    made = filled([[(0, "D5")]])
    made.reset()
    made.update(pd.Series(["A1"]), [SCENES[1]])
    assert made.counts.table["cell"].to_list() == [0]
    with raises(OptionError, "no-data"):
        Accumulator(SCENES).compute()


@pytest.mark.parametrize(
    ("guesses", "images", "error", "where", "value"),
    [
        (["D5"], ["nowhere"], OptionError, "unknown-image:images", "'nowhere'"),
        (["D5"], ["1"], OptionError, "unknown-image:images", "'1'"),  # Several sports have an image 1.
        (SCENES[:1], ["D5"], OptionError, "unknown-image:images", "'D5'"),
        (["D5"], SCENES[:2], DistributionError, "wrong-shape:guesses", "2"),
        ([["D5"], ["D6"]], SCENES[0], DistributionError, "wrong-shape:guesses", "2"),
        (["Z9"], SCENES[:1], GridError, "outside-grid", "'Z9'"),
        (-np.ones((1, 60)), SCENES[:1], DistributionError, "invalid-distribution:guesses", "-1"),
        (np.ones(60), SCENES[:1], DistributionError, "wrong-shape:guesses", "1"),
        (np.full((1, 60), 0.5), SCENES[:1], DistributionError, "invalid-distribution:guesses[0]", "30"),
        (np.ones((1, 59)), SCENES[:1], DistributionError, "wrong-shape:guesses", "59"),
    ],
)
def test_update_with_unusable_input_raises_an_error_and_does_not_change_the_counts(
    guesses: Any, images: Any, error: type[SpotballError], where: str, value: str
) -> None:
    made = filled([[(0, "D5")]])
    before = made.counts
    with raises(error, where) as caught:
        made.update(guesses, images)
    assert value in str(caught.value)
    assert made.counts == before


def test_update_accepts_one_or_several_images_as_ids_keys_or_scenes() -> None:
    scenes = [Scene(sport="s", image=str(i), grid=Grid.standard()) for i in range(3)]
    made = Accumulator(scenes)
    made.update("C5", "1")
    made.update(["C5", None], ("s", "1"))
    made.update({"C5": 2}, scenes[1])
    made.update(("C5", "C6"), ("0", 2))
    made.update([["C5", "C6"], []], [("s", "0"), scenes[2]])
    found = dict(made.counts.table.group_by("image").agg(n=pl.col("n").sum()).iter_rows())
    assert found == {"0": 3, "1": 5, "2": 1}


def test_accumulator_with_unusable_scenes_raises_option_error() -> None:
    small = [Scene(sport="s", image="1", grid=Grid(2, 2, 10, 10)), Scene(sport="s", image="2", grid=Grid(2, 3, 10, 10))]
    for scenes, code in (([], "no-data:scenes"), ([SCENES[0]] * 2, "duplicate"), (small, "different-grids")):
        with raises(OptionError, code):
            Accumulator(scenes)
    with raises(OptionError, "different-grids"):
        Accumulator(SCENES).merge(Accumulator(SCENES[:3]))


def test_update_skips_fully_masked_images_and_rejects_partly_masked_images() -> None:
    mass = np.eye(2, 60)
    made, without = Accumulator(SCENES), Accumulator(SCENES)
    made.update(np.ma.array(mass, mask=[[False] * 60, [True] * 60]), SCENES[:2])
    without.update(mass[0], SCENES[0])
    assert made.counts == without.counts
    with raises(DistributionError, "invalid-distribution:guesses"):
        made.update(np.ma.masked_equal(mass, 1), SCENES[:2])
    labels = np.ma.array(["C4", "C5"], mask=[False, True])
    made.update(labels, SCENES[:2])
    without.update(["C4", None], SCENES[:2])
    assert made.counts == without.counts

"""Answers added up batch by batch score as all of them at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from spotball_core import (
    Accumulator,
    Counts,
    DistributionError,
    Grid,
    GridError,
    OptionError,
    PredictionDistribution,
    Response,
    Scene,
    baseline_responses,
    score,
    synthetic_scenes,
)
from spotball_core.counting.counts import PARTS
from spotball_core.counting.responses import read_counts
from tests.conftest import examples

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
        made.update([place for place, _ in batch], [label for _, label in batch])
    return made


@settings(deadline=None, max_examples=examples(50))
@given(batches=BATCHES)
def test_it_counts_what_reading_counts(batches: list[list[tuple[int, str | None]]]) -> None:
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
def test_probabilities_add_up_to_the_last_bit_in_any_order(seed: int, n: int) -> None:
    draw = np.random.default_rng(seed)
    places, mass = draw.integers(0, 9, n), draw.dirichlet(np.full(60, 0.2), n)
    at_once, one_by_one = Accumulator(SCENES), Accumulator(SCENES)
    at_once.update(places.tolist(), mass)
    for i in draw.permutation(n):
        other = Accumulator(SCENES)
        other.update([int(places[i])], mass[i : i + 1])
        one_by_one.merge(other)
    assert one_by_one.counts == at_once.counts
    assert parts_of(at_once.counts) == n * PARTS


def test_probabilities_count_as_reading_counts_them() -> None:
    mass = np.random.default_rng(0).dirichlet(np.ones(60), 2)
    rows = [
        PredictionDistribution(
            sport=SCENES[i].sport, image=SCENES[i].image, respondent="model", kind="model", probabilities=list(mass[i])
        )
        for i in range(2)
    ]
    made = Accumulator(SCENES)
    made.update([SCENES[0].key, SCENES[1].key], mass)
    ours, read = made.counts.table, read_counts(rows, SCENES).table
    assert ours.drop("parts").equals(read.drop("parts"))
    # Sums of floats differ by how they are grouped; both are whole answers to the last bit.
    assert np.abs(ours["parts"].to_numpy() - read["parts"].to_numpy()).max() <= 64
    assert parts_of(made.counts) == parts_of(read_counts(rows, SCENES)) == 2 * PARTS


def test_many_parts_carry_over() -> None:
    made = Accumulator(SCENES[:1])
    for _ in range(30):
        made.update([0] * 100, np.full((100, 60), 1 / 60))
    assert parts_of(made.counts) == 3000 * PARTS
    assert (made.counts.table["parts"] < 2**53).all()


def test_scores_are_those_of_score() -> None:
    people = read_counts(baseline_responses(SCENES, ["oracle"], samples=30, seed=1), SCENES)
    made = Accumulator(SCENES, respondent="me", prompt="cot")
    rows = baseline_responses(SCENES, ["center"], samples=10, seed=0)
    made.update(list(zip(rows["sport"], rows["image"], strict=True)), rows["cell"])
    report = score(made.counts + people, SCENES, reference="oracle", bootstrap=0, by=["respondent"])
    (group,) = [one for one in report.groups if one.respondent == "me"]
    found = made.compute(people, reference="oracle")
    assert found == {key: value.value for key, value in group.metrics.items()}
    assert made.report(people, reference="oracle", bootstrap=10).groups[0].metrics["wasserstein"].ci95 is not None
    assert np.isnan(made.compute()["near_player_rate"]) == (group.metrics["near_player_rate"].value is None)


def test_a_reset_forgets() -> None:
    made = filled([[(0, "D5")]])
    made.reset()
    made.update([1], pd.Series(["A1"]))
    assert made.counts.table["cell"].to_list() == [0]
    with pytest.raises(OptionError, match="no responses"):
        Accumulator(SCENES).compute()


BAD: dict[str, tuple[Any, Any, type[Exception], str]] = {
    "unknown image": (["nowhere"], ["D5"], OptionError, "'nowhere' matches no scene"),
    "ambiguous image": (["1"], ["D5"], OptionError, "'1' matches no scene or several scenes"),
    "place": ([9], ["D5"], OptionError, "expected an index from 0 to 8"),
    "lengths": ([0, 1], ["D5"], DistributionError, "2 images, 1 answers"),
    "label": ([0], ["Z9"], GridError, "Z9"),
    "negative": ([0], -np.ones((1, 60)), DistributionError, "contains -1"),
    "one axis": ([0], np.ones(60), DistributionError, "expected \\(n_answers, 60\\)"),
    "no counts and no probabilities": ([0], np.full((1, 60), 0.5), DistributionError, "answer 0 sums to 30"),
    "cells": ([0], np.ones((1, 59)), DistributionError, "59 values"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_counted_changes_nothing(case: str) -> None:
    images, answers, error, text = BAD[case]
    made = filled([[(0, "D5")]])
    before = made.counts
    with pytest.raises(error, match=text):
        made.update(images, answers)
    assert made.counts == before


def test_scenes_that_will_not_do() -> None:
    with pytest.raises(OptionError, match="scenes: found none"):
        Accumulator([])
    with pytest.raises(OptionError, match="occurs more than once"):
        Accumulator([SCENES[0], SCENES[0]])
    with pytest.raises(OptionError, match=r"different scenes cannot be merged\. Create them with the same scenes"):
        Accumulator(SCENES).merge(Accumulator(SCENES[:3]))
    small = [Scene(sport="s", image="1", grid=Grid(2, 2, 10, 10)), Scene(sport="s", image="2", grid=Grid(2, 3, 10, 10))]
    with pytest.raises(OptionError, match="grids of different sizes"):
        Accumulator(small)


def test_masked_answers() -> None:
    mass = np.eye(2, 60)
    made, without = Accumulator(SCENES), Accumulator(SCENES)
    made.update([0, 1], np.ma.array(mass, mask=[[False] * 60, [True] * 60]))
    without.update([0], mass[:1])
    assert made.counts == without.counts
    with pytest.raises(DistributionError, match="masked"):
        made.update([0, 1], np.ma.masked_equal(mass, 1))
    labels = np.ma.array(["C4", "C5"], mask=[False, True])
    made.update([0, 1], labels)
    without.update([0, 1], ["C4", None])
    assert made.counts == without.counts

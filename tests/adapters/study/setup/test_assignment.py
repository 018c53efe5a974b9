"""Test the order of trials and the balance of lists for any seed, and their uniformity."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import chisquare

from spotball_adapters.study.setup.assignment import choose_list, draw_trials, seed_of
from spotball_adapters.study.setup.config import ListConfig


def listed(images: int, checks: int, practice: int = 1) -> ListConfig:
    return ListConfig(
        name="soccer",
        sport="soccer",
        images=tuple(f"i{n}" for n in range(images)),
        checks=tuple(f"c{n}" for n in range(checks)),
        practice=tuple(f"p{n}" for n in range(practice)),
    )


@given(st.data(), st.integers(1, 60), st.integers(0, 2**63 - 1), st.integers(0, 70))
def test_checks_are_never_first_and_never_adjacent(
    data: st.DataObject, images: int, seed: int, explanations: int
) -> None:
    checks = data.draw(st.integers(0, images))
    shown = listed(images, checks)
    trials = draw_trials(shown, seed, explanations=explanations)
    main = [trial for trial in trials if trial.trial >= 0]
    assert [trial.trial for trial in main] == list(range(images + checks))
    assert not main[0].check
    assert not any(one.check and other.check for one, other in pairwise(main))
    assert Counter(trial.image for trial in main) == Counter([*shown.images, *shown.checks])
    assert {trial.image for trial in main if trial.check} == set(shown.checks)
    assert sum(trial.explain for trial in trials) == min(explanations, images)
    assert not any(trial.explain and (trial.check or trial.trial < 0) for trial in trials)
    assert [(trial.trial, trial.image) for trial in trials if trial.trial < 0] == [(-1, "p0")]
    assert trials == draw_trials(shown, seed, explanations=explanations)


def test_every_allowed_order_is_equally_likely() -> None:
    shown = listed(3, 2, 0)
    allowed = [
        order
        for order in permutations([*shown.images, *shown.checks])
        if order[0][0] != "c" and not any(a[0] == b[0] == "c" for a, b in pairwise(order))
    ]
    n = 100 * len(allowed)
    found = Counter(tuple(trial.image for trial in draw_trials(shown, seed, explanations=0)) for seed in range(n))
    assert set(found) == set(allowed)
    assert chisquare(list(found.values())).pvalue > 0.001


def test_every_image_is_equally_likely_to_be_explained() -> None:
    shown = listed(6, 1)
    found = Counter(
        trial.image for seed in range(3000) for trial in draw_trials(shown, seed, explanations=2) if trial.explain
    )
    assert chisquare(list(found.values())).pvalue > 0.001
    assert set(found) == set(shown.images)


def test_options_are_complete_and_shuffled_uniformly() -> None:
    options = ("cup", "vase", "kettle", "bunny")
    firsts: Counter[str] = Counter()
    for seed in range(400):
        for trial in draw_trials(listed(2, 0, 0), seed, explanations=0, options=lambda key: options):
            assert sorted(trial.options) == sorted(options)
            firsts[trial.options[0]] += 1
    assert chisquare(list(firsts.values())).pvalue > 0.001


class TestBalance:
    @pytest.mark.parametrize("n", [3, 4, 50, 150])
    def test_choose_list_keeps_list_sizes_within_one(self, n: int) -> None:
        held = dict.fromkeys(["a", "b", "c"], 0)
        for number in range(n):
            held[choose_list(held, seed_of(0, str(number)))] += 1
        assert max(held.values()) - min(held.values()) <= 1

    def test_choose_list_breaks_ties_at_random_by_seed(self) -> None:
        held = {"a": 1, "b": 1, "c": 1, "d": 2}
        found = Counter(choose_list(held, seed) for seed in range(3000))
        assert set(found) == {"a", "b", "c"}
        assert chisquare(list(found.values())).pvalue > 0.001
        assert [choose_list(held, seed) for seed in range(50)] == [choose_list(held, seed) for seed in range(50)]


def test_seeds_differ_by_study_and_participant() -> None:
    seeds = {seed_of(study, name) for study in range(20) for name in ("a", "b", "c")}
    assert len(seeds) == 60
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert seed_of(0, "k7m2q9xd") == seed_of(0, "k7m2q9xd")
    assert np.std([seed / 2**63 for seed in seeds]) > 0.2

"""Test the order of trials, the lists of a choice study, and the balance of lists, for any seed."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import chisquare

from spotball_adapters.study.setup.assignment import choose_list, draw_trials, seed_of
from spotball_adapters.study.setup.config import ListConfig
from spotball_adapters.study.setup.init import dealt, lists_of_stimuli
from spotball_core.gaze.data.stimuli import Stimulus, read_stimuli
from spotball_core.gaze.power.observers import factorial_design

DESIGN = factorial_design()


def listed(images: int, checks: int, practice: int = 1) -> ListConfig:
    sizes = {"images": images, "checks": checks, "practice": practice}
    names = {field: tuple(f"{field[0]}{n}" for n in range(size)) for field, size in sizes.items()}
    return ListConfig(name="soccer", sport="soccer", **names)


@given(st.data(), st.integers(1, 60), st.integers(0, 2**63 - 1), st.integers(0, 70))
def test_draw_trials_places_no_check_first_or_next_to_another_check(
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


def test_draw_trials_draws_every_allowed_order_with_equal_probability() -> None:
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


def test_draw_trials_selects_every_image_for_explanation_with_equal_probability() -> None:
    shown = listed(6, 1)
    found = Counter(
        trial.image for seed in range(3000) for trial in draw_trials(shown, seed, explanations=2) if trial.explain
    )
    assert chisquare(list(found.values())).pvalue > 0.001
    assert set(found) == set(shown.images)


def test_draw_trials_shows_all_options_of_a_choice_in_uniformly_random_order() -> None:
    options = ("cup", "vase", "kettle", "bunny")
    firsts: Counter[str] = Counter()
    for seed in range(400):
        for trial in draw_trials(listed(2, 0, 0), seed, explanations=0, options=lambda key: options):
            assert sorted(trial.options) == sorted(options)
            firsts[trial.options[0]] += 1
    assert chisquare(list(firsts.values())).pvalue > 0.001


def test_choose_list_keeps_list_sizes_within_one() -> None:
    held = dict.fromkeys(["a", "b", "c"], 0)
    for number in range(150):
        held[choose_list(held, seed_of(0, str(number)))] += 1
        assert max(held.values()) - min(held.values()) <= 1


def test_choose_list_breaks_ties_at_random_by_seed() -> None:
    held = {"a": 1, "b": 1, "c": 1, "d": 2}
    chosen, again = ([choose_list(held, seed) for seed in range(3000)] for _ in range(2))
    assert chosen == again
    assert set(chosen) == {"a", "b", "c"}
    assert chisquare(list(Counter(chosen).values())).pvalue > 0.001


def test_seed_of_is_reproducible_and_differs_by_study_and_participant() -> None:
    seeds, again = ({seed_of(study, name) for study in range(20) for name in ("a", "b", "c")} for _ in range(2))
    assert seeds == again
    assert len(seeds) == 60
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert np.std([seed / 2**63 for seed in seeds]) > 0.2


def photo(name: str, **more: object) -> Stimulus:
    fields = {"objects": ("cup", "pen"), "view": "front", "proximity": 1, "gaze_target": "pen", **more}
    return Stimulus.model_validate({"stimulus_id": name, **fields})


@given(st.lists(st.sampled_from(DESIGN), min_size=1, max_size=120, unique=True), st.integers(1, 50), st.integers(0, 9))
def test_dealt_uses_each_photo_once_and_balances_all_kinds_of_photos_over_lists(
    photos: list[Stimulus], per_list: int, seed: int
) -> None:
    lists = dealt(photos, per_list, seed)
    assert sorted(name for one in lists for name in one) == sorted(one.stimulus_id for one in photos)
    sizes = [len(one) for one in lists]
    assert max(sizes) <= per_list
    assert max(sizes) - min(sizes) <= 1
    assert len(lists) == -(-len(photos) // per_list)
    kinds = {one.stimulus_id: (one.condition, len(one.objects), one.proximity, one.view) for one in photos}
    counts = [Counter(kinds[name] for name in one) for one in lists]
    for each in set(kinds.values()):
        numbers = [count[each] for count in counts]
        assert max(numbers) - min(numbers) <= 1


def test_lists_of_stimuli_follow_list_ids_unless_per_list_is_given() -> None:
    photos = [photo("a", list_id=7), photo("b", list_id=3), photo("c", list_id=7), photo("d")]
    checks = [photo(name, attention_check=True) for name in "wxyz"]
    seven, three = lists_of_stimuli([*photos, *checks])[::-1]
    assert (seven.name, seven.images, three.name, three.images) == ("list-7", ("a", "c"), "list-3", ("b",))
    assert {one.checks for one in (seven, three)} == {("w", "x", "y", "z")}
    assert {one.practice for one in (seven, three)} == {("w", "x", "y")}
    (all_of_them,) = lists_of_stimuli(photos, per_list=4)
    assert sorted(all_of_them.images) == ["a", "b", "c", "d"]
    assert lists_of_stimuli(checks) == []


def test_dealt_is_reproducible_by_seed_and_lists_of_stimuli_without_list_ids_have_at_most_45_photos() -> None:
    one, again, other = (dealt(DESIGN, 45, seed) for seed in (1, 1, 2))
    assert one == again != other
    # There are 1,368 photos, and 1,368 = 31 * 44 + 4, so 4 of the 31 lists have one more photo.
    assert [len(one.images) for one in lists_of_stimuli(DESIGN)] == [45] * 4 + [44] * 27


@pytest.mark.real
def test_lists_of_the_published_stimuli_have_45_photos(gaze_data: Path) -> None:
    lists = lists_of_stimuli(read_stimuli(gaze_data / "stimuli_1743457603.csv"))
    assert [(len(one.images), len(one.checks), len(one.practice)) for one in lists] == [(45, 7, 3)] * 20
    assert len({image for one in lists for image in one.images}) == 900

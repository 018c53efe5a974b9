"""Test the lists of a choice study: each photo appears once, and the lists are balanced."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from spotball_adapters.study.setup.choice_lists import dealt, lists_of_stimuli
from spotball_core.gaze.data.stimuli import Stimulus, read_stimuli
from spotball_core.gaze.power.observers import factorial_design

DESIGN = factorial_design()


def photo(name: str, **more: object) -> Stimulus:
    fields = {"objects": ("cup", "pen"), "view": "front", "proximity": 1, "gaze_target": "pen", **more}
    return Stimulus.model_validate({"stimulus_id": name, **fields})


def kind(one: Stimulus) -> tuple[object, ...]:
    return one.condition, len(one.objects), one.proximity, one.view


def test_dealt_balances_conditions_in_an_example_made_by_hand() -> None:
    # Four natural and two congruent photos make two lists, each of two natural and one congruent photo.
    photos = [photo(name) for name in "abcd"] + [photo(name, head_target="pen") for name in "yz"]
    first, second = dealt(photos, 3)
    assert sorted(first + second) == sorted("abcdyz")
    assert [len(set(one) & set("yz")) for one in (first, second)] == [1, 1]


@given(st.lists(st.sampled_from(DESIGN), min_size=1, max_size=120, unique=True), st.integers(1, 50), st.integers(0, 9))
def test_dealt_uses_each_photo_once_and_balances_all_kinds(photos: list[Stimulus], per_list: int, seed: int) -> None:
    lists = dealt(photos, per_list, seed)
    assert sorted(name for one in lists for name in one) == sorted(one.stimulus_id for one in photos)
    sizes = [len(one) for one in lists]
    assert max(sizes) <= per_list
    assert max(sizes) - min(sizes) <= 1
    assert len(lists) == -(-len(photos) // per_list)
    kinds = {one.stimulus_id: kind(one) for one in photos}
    counts = [Counter(kinds[name] for name in one) for one in lists]
    for each in set(kinds.values()):
        numbers = [count[each] for count in counts]
        assert max(numbers) - min(numbers) <= 1


def test_dealt_depends_only_on_the_seed() -> None:
    one, again, other = (dealt(DESIGN, 45, seed) for seed in (1, 1, 2))
    assert one == again != other


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


def test_lists_of_stimuli_without_list_ids_have_at_most_45_photos() -> None:
    # 1,368 = 31 * 44 + 4.
    sizes = [len(one.images) for one in lists_of_stimuli(DESIGN)]
    assert sizes == [45] * 4 + [44] * 27


@pytest.mark.real
def test_lists_of_the_published_stimuli_have_45_photos(gaze_data: Path) -> None:
    lists = lists_of_stimuli(read_stimuli(gaze_data / "stimuli_1743457603.csv"))
    assert [(len(one.images), len(one.checks), len(one.practice)) for one in lists] == [(45, 7, 3)] * 20
    assert len({image for one in lists for image in one.images}) == 900

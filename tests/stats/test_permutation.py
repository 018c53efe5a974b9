"""Test swaps of labels and Holm's correction."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st

from spotball_core.errors import OptionError
from spotball_core.random import generator_for
from spotball_core.stats.permutation import Swaps, holm
from tests.failures import raises


def ways_of(n: int, permutations: int, seed: int = 0, width: int = 1) -> np.ndarray:
    return np.concatenate(list(Swaps(n, permutations, seed).blocks(width)))


def test_swaps_of_few_images_are_exact_and_list_each_assignment_once() -> None:
    swaps, ways = Swaps(4, 16), ways_of(4, 16)
    assert swaps.exact
    assert len(swaps) == len(ways) == 16
    assert set(map(tuple, ways.tolist())) == set(itertools.product((0, 1), repeat=4))
    assert ways_of(1, 2).tolist() == [[0.0], [1.0]]
    assert len(Swaps(1, 1)) == 1
    assert not Swaps(1, 1).exact


def test_swaps_of_many_images_are_random_and_independent() -> None:
    swaps = Swaps(5, 31)
    assert not swaps.exact
    assert len(swaps) == 31
    ways = ways_of(40, 20_000)
    assert set(np.unique(ways)) == {0.0, 1.0}
    # Each mean is 0.5 within 5 standard errors, and swaps of different images are not correlated.
    assert np.abs(ways.mean(axis=0) - 0.5).max() < 5 * 0.5 / np.sqrt(20_000)
    assert np.abs(np.corrcoef(ways.T) - np.eye(40)).max() < 5 / np.sqrt(20_000)


def test_swaps_do_not_depend_on_the_block_width_and_random_swaps_depend_on_the_seed() -> None:
    np.testing.assert_array_equal(ways_of(30, 500), ways_of(30, 500, width=100_000))
    np.testing.assert_array_equal(ways_of(10, 1024), ways_of(10, 1024, width=1_000_000))
    assert (ways_of(30, 500) != ways_of(30, 500, seed=1)).any()
    # If not even one assignment fits into the block, each block has one.
    assert [len(block) for block in Swaps(3, 8).blocks(width=10**9)] == [1] * 8


@pytest.mark.parametrize("n", [50, 101], ids=["cached", "not cached"])
def test_random_swaps_equal_draws_of_a_generator_with_and_without_the_cache(n: int) -> None:
    expected = generator_for(3, "swaps", str(n)).random((10_000, n)) < 0.5
    for _ in range(2):
        np.testing.assert_array_equal(ways_of(n, 10_000, seed=3, width=500), expected)


def test_p_value_of_random_swaps_includes_the_observed_assignment() -> None:
    assert Swaps(40, 99).p_value(0) == 0.01
    assert Swaps(40, 99).p_value(99) == 1.0
    assert Swaps(3, 100).p_value(2) == 0.25


@pytest.mark.parametrize(
    ("n", "permutations", "field"), [(0, 10, "n"), (5, 0, "permutations"), (5, -1, "permutations")]
)
def test_swaps_without_images_or_permutations_raise_option_error(n: int, permutations: int, field: str) -> None:
    with raises(OptionError, f"invalid-option:{field}"):
        Swaps(n, permutations)


def test_holm_equals_adjusted_p_values_computed_by_hand() -> None:
    # In order: 0.005 x 4 = 0.02, 0.01 x 3 = 0.03, 0.03 x 2 = 0.06, 0.04 x 1 = 0.04, which may not fall below 0.06.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([0.03]) == [0.03]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_matches_the_closed_bonferroni_procedure(p_values: list[float]) -> None:
    """Check that an adjusted p value is the largest Bonferroni p value of all sets that contain the hypothesis."""
    n = len(p_values)
    for i, adjusted in enumerate(holm(p_values)):
        worst = 0.0
        # Among sets of the same size that contain i, the set with the largest other p values has the largest minimum.
        others = sorted((p for j, p in enumerate(p_values) if j != i), reverse=True)
        for size in range(1, n + 1):
            worst = max(worst, min(1.0, size * min([p_values[i], *others[: size - 1]])))
        assert adjusted == pytest.approx(worst, abs=1e-15)


def test_swaps_of_a_seed_are_the_same_in_every_version() -> None:
    """Published p values depend on these draws."""
    (ways,) = Swaps(12, 3, seed=7).blocks()
    shown = ["".join(str(int(swapped)) for swapped in way) for way in ways]
    assert shown == ["101001111010", "101011111010", "000100110110"]
    assert (ways_of(13, 3, seed=7)[:, :12] != ways).any()

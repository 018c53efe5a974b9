"""Test the gains of all subsets of cues, their Shapley values, means with intervals, and the noise ceiling."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from spotball_core import Grid
from spotball_core.cues.explanation import ImageSums
from spotball_core.cues.group_fit import FOLDS, LEAVE_ONE_OUT, SubsetGains, explainable_gain, folds_of, subset_gains
from spotball_core.cues.logit import held_out_likelihood
from spotball_core.errors import OptionError
from tests.conftest import THOROUGH
from tests.cues.test_logit import simulated
from tests.failures import raises

GRID = Grid.standard()
ROW = Grid(1, 4, 40, 10)


def test_subset_gains_shapley_values_are_means_of_added_gains_over_all_orders() -> None:
    gains = np.random.default_rng(0).normal(size=(16, 3))
    gains[0] = 0
    found = SubsetGains(tuple("abcd"), gains).shapley()
    for group in range(4):
        added = []
        for order in itertools.permutations(range(4)):
            before = sum(1 << other for other in order[: order.index(group)])
            added.append(gains[before | 1 << group] - gains[before])
        assert found[group] == pytest.approx(np.mean(added, axis=0))
    assert found.sum(axis=0) == pytest.approx(gains[-1])


def test_subset_gains_of_groups_of_cues_equal_gains_of_the_held_out_likelihood_in_bits() -> None:
    data = simulated(12, 8, np.array([0.7, 0.2, -0.5]), 20, seed=0)
    found = subset_gains(data, ["place", "players", "place"], ridge=0.01)
    assert found.groups == ("place", "players")
    uniform = -20 * math.log(8)
    for groups, cues in [(["place"], [0, 2]), (["players"], [1]), (["place", "players"], [0, 1, 2]), ([], [])]:
        part = data.of_cues(np.array(cues, dtype=int))
        expected = (held_out_likelihood(part, np.arange(12), ridge=0.01) - uniform) / math.log(2)
        assert found.of(groups) == pytest.approx(expected)
    assert found.of(["place", "unknown"]) == pytest.approx(found.of(["place"]))
    assert found.whole == pytest.approx(found.of(["players", "place"]))


def test_folds_of_returns_single_images_up_to_the_limit_and_groups_of_images_above_the_limit() -> None:
    assert folds_of(LEAVE_ONE_OUT).tolist() == list(range(LEAVE_ONE_OUT))
    many = folds_of(LEAVE_ONE_OUT + 1)
    assert np.bincount(many).tolist() == [6] + [5] * (FOLDS - 1)


def test_subset_gains_of_too_many_groups_is_an_error() -> None:
    data = simulated(5, 4, np.zeros(11), 5, seed=0)
    with raises(OptionError, "invalid-option"):
        subset_gains(data, [str(place) for place in range(11)], ridge=0.01)


def test_image_sums_mean_difference_quotient_and_standard_error_equal_hand_calculations() -> None:
    sums = ImageSums(np.array([10.0, 30.0, 20.0]), 500, 0)
    found = sums.mean(np.array([5.0, 30.0, 10.0]))
    assert found.value == pytest.approx(45 / 60)
    assert found.n_images == 3
    assert found.ci95[0] <= 45 / 60 <= found.ci95[1]
    both = sums.difference(np.array([5.0, 30.0, 10.0]), np.array([1.0, 1.0, 1.0]), np.array([1.0, 2.0, 3.0]))
    assert both.value == pytest.approx(45 / 60 - 3 / 6)
    assert ImageSums(np.ones(3), 0, 0).mean(np.ones(3)).ci95 is None
    found = ImageSums(np.ones(3), 10, 0).quotient(np.ones(3), np.zeros(3))
    assert (found.value, found.reason) == (None, "the explainable gain is not above 0")
    totals = np.array([1.0, 4.0, 2.0, 7.0])
    assert ImageSums(np.ones(4), 0, 0).standard_error(totals) == pytest.approx(totals.std(ddof=1) / 2)


@pytest.mark.slow
def test_held_out_gain_of_a_cue_without_effect_is_rarely_above_zero() -> None:
    """Check that at most 2.5% of the intervals for a cue without effect lie above 0 and its mean gain is below 0."""
    runs, above, gains = 400 if THOROUGH else 100, 0, []
    for seed in range(runs):
        data = simulated(50, 30, np.array([0.6, 0.0]), 100, seed=seed, own=0.3)
        found = subset_gains(data, ["real", "null"], ridge=1e-3)
        value = ImageSums(data.sizes, 300, seed).mean(found.whole - found.of(["real"]))
        above += value.ci95[0] > 0
        gains.append(value.value)
    assert above <= 0.025 * runs + 3 * math.sqrt(0.025 * 0.975 * runs)
    assert np.mean(gains) < 0


class TestExplainableGain:
    def test_explainable_gain_is_the_maximum_for_equal_guesses_and_at_most_0_for_one_guess_per_image(self) -> None:
        mass = np.zeros((1, 3, 4))
        mass[0, [0, 1, 2], [0, 2, 3]] = 50
        assert explainable_gain(mass, ROW) / 50 == pytest.approx([2, 2, 2], abs=0.01)
        # Each image has one guess, and the guesses on other images name other cells, so nothing predicts the guess.
        assert (explainable_gain(np.eye(4)[None], ROW) <= 1e-9).all()

    def test_explainable_gain_excludes_other_guesses_of_the_same_participant(self) -> None:
        # On each image, each of two participants names one cell 10 times, and the two cells are far apart.
        mass = np.zeros((2, 4, 4))
        for image in range(4):
            mass[0, image, image] = mass[1, image, (image + 2) % 4] = 10
        # Only the other participant predicts a guess, by naming the cell on 1 of the 3 other images.
        assert explainable_gain(mass, ROW) / 20 == pytest.approx(np.full(4, np.log2(4 / 3)), abs=1e-5)
        # Without participants, the same guesses predict each other: they name 2 of 4 cells, which is a gain of 1 bit.
        assert explainable_gain(mass.sum(axis=0)[None], ROW) / 20 == pytest.approx(np.full(4, 1.0), abs=0.1)

    def test_explainable_gain_increases_towards_the_true_gain_with_the_number_of_guesses(self) -> None:
        # These distributions have a broad peak at a random cell.
        peaks = np.random.default_rng(1).integers(0, 60, 60)
        p = np.exp(-((GRID.cell_distances[peaks] / 1.5) ** 2) / 2)
        p /= p.sum(axis=-1, keepdims=True)
        found = []
        for guesses in (3, 10, 50, 150, 1000):
            mass = np.random.default_rng(2).multinomial(guesses, p).astype(float)
            found.append(explainable_gain(mass[None], GRID).sum() / mass.sum())
        assert found[:3] == sorted(found[:3])
        truth = (p * np.log2(60 * p)).sum(axis=-1).mean()
        assert truth - 0.08 < found[3] < truth + 0.01
        assert truth - 0.02 < found[4] < truth + 0.01

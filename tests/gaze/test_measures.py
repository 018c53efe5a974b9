from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from spotball_core.errors import OptionError
from spotball_core.gaze.measures import (
    accuracy_by_objects,
    expected_wrongness,
    reach,
    share,
    wilson,
    with_measures,
    wrongness,
)
from spotball_core.gaze.power.observers import Observer, factorial_design, simulate
from tests.failures import raises


@st.composite
def rows_of_objects(draw: st.DrawFn) -> tuple[int, int, int]:
    n = draw(st.integers(2, 9))
    return n, draw(st.integers(0, n - 1)), draw(st.integers(0, n - 1))


@given(rows_of_objects())
def test_reach_wrongness_and_expected_wrongness_equal_distances_counted_in_a_loop(row: tuple[int, int, int]) -> None:
    n, gaze, choice = row
    # In the paper, a distance is 1 plus the number of objects between the two; it is 0 for the same object.
    distances = [0 if c == gaze else 1 + sum(min(c, gaze) < k < max(c, gaze) for k in range(n)) for c in range(n)]
    assert reach(n, gaze) == max(distances)
    assert wrongness(n, gaze, choice) == pytest.approx(distances[choice] / max(distances))
    assert expected_wrongness(n, gaze) == pytest.approx(np.mean(distances) / max(distances))


def test_wrongness_of_the_paper_example_and_of_a_middle_target_equals_a_hand_calculation() -> None:
    # In the example of the paper, the second of four objects is right, the third was chosen, and 2 steps are possible.
    assert (wrongness(4, 1, 2), expected_wrongness(4, 1)) == (0.5, 0.5)
    # If the middle of three objects is right, both others are one step away, which is the maximum.
    assert (wrongness(3, 1, 0), expected_wrongness(3, 1)) == (1.0, pytest.approx(2 / 3))


def test_with_measures_equals_a_hand_calculation() -> None:
    trials = pl.DataFrame(
        {"n_objects": [4, 3, 2], "gaze": [0, 1, 1], "head": [2, 1, None], "choice": [3, None, 1]},
        schema=dict.fromkeys(("n_objects", "gaze", "head", "choice"), pl.Int64),
    )
    found = with_measures(trials)
    assert found["correct"].to_list() == [0.0, 0.0, 1.0]
    assert found["wrongness"].to_list() == [1.0, None, 0.0]
    assert found["dist_eye_head"].to_list() == [2.0, 0.0, None]
    # From the third of four objects, at most two steps are possible.
    assert found["head_reach"].to_list() == [2.0, 1.0, None]
    assert found["dist_to_head"].to_list() == [0.5, None, None]
    assert found["is_head"].to_list() == [0.0, 0.0, None]
    assert found["expected_dist_to_head"].to_list()[0] == pytest.approx((2 + 1 + 0 + 1) / 4 / 2)


def test_expected_wrongness_equals_the_mean_wrongness_of_simulated_guesses() -> None:
    trials = with_measures(simulate(Observer("guess"), factorial_design(), prompts=40, seed=1).frame)
    expected = pl.col("expected_wrongness").first()
    by = trials.group_by("n_objects", "gaze").agg(pl.col("wrongness").mean(), expected, n=pl.len())
    away = (by["wrongness"] - by["expected_wrongness"]).abs()
    assert (away < 4 * 0.5 / by["n"].sqrt()).all()


@given(st.integers(0, 30), st.integers(1, 30))
def test_wilson_interval_equals_scipy(successes: int, more: int) -> None:
    n = successes + more
    theirs = stats.binomtest(successes, n).proportion_ci(method="wilson")
    assert wilson(successes, n) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_share_has_a_wilson_interval_for_one_value_per_photo_or_equal_values_and_none_without_resamples() -> None:
    found = share([1, 0, 1, 1], ["a", "b", "c", "d"])
    assert (found.value, found.interval, found.n_stimuli) == (0.75, "wilson", 4)
    assert found.ci95 == pytest.approx(wilson(3, 4))
    all_right = share([1.0] * 20, np.repeat(range(10), 2))
    assert all_right.interval == "wilson"
    assert all_right.ci95 == pytest.approx(wilson(10, 10))
    assert all_right.ci95[1] == 1.0
    assert share([1, 0], ["a", "a"], resamples=0).ci95 is None
    with raises(OptionError, "no-data:values"):
        share([], [])


def test_share_bootstrap_resamples_photos_with_all_their_trials() -> None:
    generator = np.random.default_rng(5)
    stimulus = np.repeat(np.arange(30), 8)
    values = (generator.random(30)[stimulus] > 0.4).astype(float)
    found = share(values, stimulus, resamples=4000)
    means = values.reshape(30, 8).mean(axis=1)
    # All trials of a photo have the same answer, so the spread is that of 30 independent values.
    spread = means.std() / np.sqrt(30)
    assert (found.ci95[1] - found.ci95[0]) / (2 * 1.96 * spread) == pytest.approx(1, abs=0.08)
    # A bootstrap with plain loops gives the same interval up to chance.
    drawn = [means[generator.integers(0, 30, 30)].mean() for _ in range(4000)]
    assert found.ci95 == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.02)


def test_accuracy_by_objects_of_a_guessing_observer_has_intervals_that_contain_chance() -> None:
    trials = with_measures(simulate(Observer("guess"), factorial_design(), seed=2).frame)
    found = accuracy_by_objects(trials)
    assert list(found) == [2, 3, 4]
    for n_objects, one in found.items():
        mine = trials.filter(pl.col("n_objects") == n_objects)
        assert one.value == pytest.approx(mine["correct"].mean())
        assert one.n_trials == len(mine)
        assert one.ci95[0] < 1 / n_objects < one.ci95[1]

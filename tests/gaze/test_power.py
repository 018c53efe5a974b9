from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from spotball_core.errors import OptionError
from spotball_core.gaze.battery.run import TestPolicy
from spotball_core.gaze.battery.types import TYPES
from spotball_core.gaze.data.stimuli import read_stimuli
from spotball_core.gaze.measures import with_measures
from spotball_core.gaze.power.observers import Cue, Observer, factorial_design, simulate
from spotball_core.gaze.power.simulate import POPULATIONS, Population, Power, power
from tests.conftest import ROOT
from tests.failures import raises

DESIGN = factorial_design()
SMALL = [one for one in DESIGN if len(one.objects) > 2 and one.proximity == 1][:180]


def test_populations_cover_every_type_and_draw_observers_with_noise_in_the_given_range() -> None:
    assert {one.type for one in POPULATIONS} == set(TYPES) - {"constant", "no gap shown"}
    for population in POPULATIONS:
        observer = population.draw(np.random.default_rng(1))
        assert observer.cue == population.cue
        assert population.noise[0] <= observer.noise <= population.noise[1]


@pytest.mark.slow
def test_power_counts_the_verdicts_and_types_of_all_simulations() -> None:
    found = power(Observer("head", lapse=0.1), SMALL, simulations=3, prompts=2)
    assert (found.n, found.n_trials, found.expected) == (3, 360, None)
    assert sum(found.types.values()) == 3
    assert sum(found.supports.values()) == 3
    rate = found.tests["2.3"]
    assert (rate.yes, rate.n, rate.share) == (3, 3, 1.0)
    assert found.tests["proximity"].no_answer == 3
    assert rate.ci95[0] < 1 <= rate.ci95[1]


@pytest.mark.slow
def test_power_with_more_simulations_keeps_the_first_ones_and_does_not_depend_on_jobs() -> None:
    population = Population("some", "head-only", "head", noise=(0.2, 0.8), lapse=(0.0, 0.5))
    one, two, parallel = (
        power(population, SMALL, simulations=n, prompts=2, seed=5, jobs=jobs, tests="deciding")
        for n, jobs in ((1, 1), (2, 1), (2, 2))
    )
    assert two == parallel
    assert all(two.tests[key].yes - one.tests[key].yes in (0, 1) for key in one.tests)
    other = power(population, SMALL, simulations=1, prompts=2, seed=6, tests="deciding")
    assert other != one or one.right in (0.0, 1.0)


@pytest.mark.slow
def test_power_with_only_some_tests_gives_the_same_types_and_rates_as_with_all_tests() -> None:
    whole, deciding, named = (
        power(Observer("head"), SMALL, simulations=2, prompts=2, tests=tests)
        for tests in ("all", "deciding", ("2.2", "3"))
    )
    assert deciding.types == whole.types
    assert set(deciding.tests) < set(whole.tests)
    assert (set(named.tests), named.types) == ({"2.2", "3"}, {})
    for some in (deciding, named):
        assert all(rate == whole.tests[key] for key, rate in some.tests.items())


def test_power_with_invalid_options_is_an_error() -> None:
    with raises(OptionError, "invalid-option:simulations"):
        power(Observer("eye"), SMALL, simulations=0, prompts=1)
    holm = TestPolicy(multiplicity="holm")
    with raises(OptionError, "invalid-option"):
        power(Observer("eye"), SMALL, simulations=1, prompts=1, policy=holm, tests="deciding")


def test_documented_gaze_types_benchmark_identifies_each_type_in_at_least_90_percent_of_simulations() -> None:
    """Check the results of benchmarks/gaze_types.py: 200 simulations per kind with the design of the main study."""
    kept = json.loads((ROOT / "docs/assets/gaze-types.json").read_text(encoding="utf-8"))
    assert (kept["simulations"], kept["design"]["n_stimuli"], kept["design"]["prompts"]) == (200, 1360, 16)
    assert set(kept["kinds"]) == {population.name for population in POPULATIONS}
    for population in POPULATIONS:
        found = Power.model_validate(kept["kinds"][population.name])
        assert (found.n, found.n_trials, found.expected) == (200, 21_760, population.type)
        assert found.right >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("population", POPULATIONS, ids=lambda one: one.name)
def test_power_identifies_the_type_of_each_population_in_4_of_4_simulations(population: Population) -> None:
    """Repeat benchmarks/gaze_types.py with 4 instead of 200 simulations.

    The seed is fixed, so the types change only with the code. If an error made half of the types wrong, the test would
    detect it with a probability of 94%.
    """
    found = power(population, DESIGN, simulations=4, prompts=16, tests="deciding", seed=11, jobs=2)
    assert found.types == {population.type: 4}


@pytest.mark.slow
@pytest.mark.real
def test_power_identifies_the_type_of_each_population_with_the_stimuli_of_the_main_study(gaze_data: Path) -> None:
    stimuli = read_stimuli(gaze_data / "stimuli_main.csv")
    for population in POPULATIONS:
        found = power(population, stimuli, simulations=1, prompts=16, tests="deciding", seed=3)
        assert found.n_trials == 21_760
        assert found.types == {population.type: 1}


def exact(cue: Cue, weight: float = 0.5) -> pl.DataFrame:
    observer = Observer(cue, weight=weight, noise=0, stimulus_noise=0, lapse=0)
    return with_measures(simulate(observer, DESIGN).frame)


def test_eye_and_head_observers_without_noise_always_choose_their_target() -> None:
    assert exact("eye")["correct"].mean() == 1
    trials = exact("head")
    assert trials["is_head"].drop_nulls().mean() == 1
    assert trials.filter(condition="congruent")["correct"].mean() == 1
    assert trials.filter(condition="incongruent")["correct"].mean() == 0


def test_coin_and_shift_observers_choose_the_head_independently_of_the_distance() -> None:
    coin = exact("coin", weight=0.3).filter(condition="incongruent")
    assert ((coin["is_head"] == 1) | (coin["correct"] == 1)).all()
    shift = exact("shift", weight=0.7).filter(pl.col("condition") != "natural")
    for trials, weight, n_distances in ((coin, 0.3, 3), (shift, 0.7, 4)):
        by = trials.group_by("dist_eye_head").agg(pl.col("is_head").mean(), n=pl.len())
        assert len(by) == n_distances
        assert ((by["is_head"] - weight).abs() < 4 * 0.46 / by["n"].sqrt()).all()


def test_compromise_observer_chooses_objects_between_the_head_and_gaze_targets() -> None:
    trials = exact("compromise", weight=0.6).filter(condition="incongruent")
    shares = trials.group_by("dist_eye_head").agg(pl.col("is_head").mean()).sort("dist_eye_head")["is_head"].to_list()
    # The shift from the head is less than half an object at a distance of 1, and more at 2 and 3.
    assert shares == [1.0, 0.0, 0.0]
    low = trials.select(pl.min_horizontal("gaze", "head")).to_series()
    high = trials.select(pl.max_horizontal("gaze", "head")).to_series()
    assert trials["choice"].is_between(low, high).all()


def test_guess_observer_chooses_each_object_equally_often() -> None:
    counts = exact("guess").filter(n_objects=4)["choice"].value_counts()["count"]
    assert ((counts / counts.sum() - 0.25).abs() < 4 * 0.44 / np.sqrt(counts.sum())).all()


def test_observer_lapses_at_the_given_rate() -> None:
    observer = Observer("eye", noise=0, stimulus_noise=0, lapse=0.3, prompt_spread=0)
    trials = with_measures(simulate(observer, DESIGN).frame).filter(n_objects=2)
    # With two objects, half of the guesses are right.
    assert trials["correct"].mean() == pytest.approx(1 - 0.3 / 2, abs=4 * 0.36 / np.sqrt(len(trials)))


def test_observer_accuracy_decreases_with_proximity_and_in_side_views() -> None:
    observer = Observer("eye", noise=0.3, closeness=0.6, side=0.6, lapse=0)
    trials = with_measures(simulate(observer, DESIGN).frame)
    near = trials.group_by("proximity").agg(pl.col("correct").mean()).sort("proximity")["correct"].to_list()
    assert near == sorted(near, reverse=True)
    front = trials.filter(view="front")["correct"].mean()
    assert all(trials.filter(view=view)["correct"].mean() < front for view in ("left", "right"))  # type: ignore[operator]


def test_observer_stimulus_noise_is_equal_in_all_trials_of_a_photo() -> None:
    observer = Observer("eye", noise=0, stimulus_noise=0.6, lapse=0)
    each = simulate(observer, DESIGN).frame.group_by("stimulus_id").agg(pl.col("choice").n_unique())
    assert (each["choice"] == 1).all()


def test_simulate_with_the_same_seed_gives_the_same_trials() -> None:
    one, again, other = (simulate(Observer("coin"), DESIGN[:50], seed=seed).frame for seed in (3, 3, 4))
    assert one.equals(again)
    assert not one.equals(other)
    assert one["prompt_id"].n_unique() == 16


def test_observer_with_invalid_fields_and_simulate_without_prompts_are_errors() -> None:
    for wrong, where in (
        ({"cue": "ear"}, "unknown-name"),
        ({"cue": "eye", "weight": 2}, "invalid-option:weight"),
        ({"cue": "eye", "noise": -1}, "invalid-option:noise"),
    ):
        with raises(OptionError, where):
            Observer(**wrong)  # type: ignore[arg-type]
    with raises(OptionError, "invalid-option:prompts"):
        simulate(Observer("eye"), DESIGN[:2], prompts=0)

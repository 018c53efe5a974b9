from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from spotball_core.errors import OptionError
from spotball_core.gaze.battery.run import TestPolicy
from spotball_core.gaze.battery.types import TYPES
from spotball_core.gaze.data.stimuli import read_stimuli
from spotball_core.gaze.power.observers import Observer, factorial_design
from spotball_core.gaze.power.simulate import POPULATIONS, Population, Power, power
from tests.conftest import ROOT
from tests.failures import raises

DESIGN = factorial_design()
SMALL = [one for one in DESIGN if len(one.objects) > 2 and one.proximity == 1][:180]


def test_populations_cover_every_type_and_draw_observers_in_range() -> None:
    assert {one.type for one in POPULATIONS} == set(TYPES)
    for population in POPULATIONS:
        observer = population.draw(np.random.default_rng(1))
        assert observer.cue == population.cue
        assert population.noise[0] <= observer.noise <= population.noise[1]


@pytest.mark.slow
def test_power_counts_verdicts_and_types() -> None:
    found = power(Observer("head", lapse=0.1), SMALL, simulations=3, prompts=2)
    assert (found.n, found.n_trials, found.expected) == (3, 360, None)
    assert sum(found.types.values()) == 3
    assert sum(found.supports.values()) == 3
    rate = found.tests["2.3"]
    assert (rate.yes, rate.n, rate.share) == (3, 3, 1.0)
    assert found.tests["proximity"].no_answer == 3
    assert rate.ci95[0] < 1 <= rate.ci95[1]


@pytest.mark.slow
def test_power_keeps_earlier_simulations_and_does_not_depend_on_jobs() -> None:
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
def test_power_with_fewer_tests_gives_the_same_types_and_rates() -> None:
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


def test_documented_gaze_types_are_right_in_90_percent_of_simulations() -> None:
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
def test_simulated_gaze_type_is_right_in_7_of_8_simulations(population: Population) -> None:
    """Repeat benchmarks/gaze_types.py with 8 instead of 200 simulations, of which one may be wrong."""
    found = power(population, DESIGN, simulations=8, prompts=16, tests="deciding", seed=11, jobs=2)
    assert found.types[population.type] >= 7


@pytest.mark.slow
@pytest.mark.real
def test_gaze_type_is_right_on_the_stimuli_of_the_main_study(gaze_data: Path) -> None:
    stimuli = read_stimuli(gaze_data / "stimuli_main.csv")
    for population in POPULATIONS:
        found = power(population, stimuli, simulations=1, prompts=16, tests="deciding", seed=3)
        assert found.n_trials == 21_760
        assert found.types == {population.type: 1}

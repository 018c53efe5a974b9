from __future__ import annotations

from math import log, sqrt

import numpy as np
import polars as pl
import pytest
from scipy import stats

from spotball_core.errors import OptionError
from spotball_core.gaze.checks import hint_effect, response_time_effect, site_effect
from spotball_core.gaze.measures import with_measures
from spotball_core.gaze.power.observers import Observer, factorial_design, simulate
from tests.failures import raises
from tests.gaze.photos import photo, table


def test_hint_effect_equals_a_paired_t_test() -> None:
    # Per photo, the accuracy with prompt 2 minus the accuracy with prompts 1 and 3.
    answers = {"a": (1, 0, 1), "b": (1, 0, 0), "c": (0, 0, 0), "d": (0, 1, 0)}
    rows = [
        photo(choice, stimulus_id=name, prompt_id=str(prompt + 1))
        for name, choices in answers.items()
        for prompt, choice in enumerate(choices)
    ]
    away = photo(0, gaze=0, head=1, stimulus_id="incongruent", prompt_id="2")
    found = hint_effect(table(*rows, away), ["2"])
    differences = [(1 - choices[1]) - np.mean([1 - choices[0], 1 - choices[2]]) for choices in answers.values()]
    theirs = stats.ttest_1samp(differences, 0)
    assert found is not None
    assert (found.estimate, found.p, found.n_stimuli) == pytest.approx((np.mean(differences), theirs.pvalue, 4))


def test_hint_effect_with_all_no_or_unknown_prompts_is_an_error() -> None:
    rows = table(photo(0, prompt_id="1"), photo(0, prompt_id="2"))
    for wrong in (["1", "2"], [], ["3"]):
        with raises(OptionError, "invalid-option:--hinted"):
            hint_effect(rows, wrong)
    assert hint_effect(rows, ["1"]) is None


def test_site_effect_equals_a_hand_calculation() -> None:
    # A quarter of the 16 answers is wrong in the blue room, and three quarters in the white one.
    rooms = (("blue", 4), ("white", 12))
    rows = table(*(photo(1, times=k, scene=room) + photo(0, times=16 - k, scene=room) for room, k in rooms))
    (found,) = site_effect(rows)
    assert found.of == "white compared with blue"
    assert found.estimate == pytest.approx(2 * log(3), abs=1e-5)
    assert found.p == pytest.approx(2 * stats.norm.sf(2 * log(3) / sqrt(2 / 3)), abs=1e-5)
    assert site_effect(table(photo(0, times=4))) == ()


def test_site_effect_is_not_significant_without_an_effect() -> None:
    rows = with_measures(simulate(Observer("eye", noise=0.7), factorial_design(), prompts=4, seed=1).frame)
    (found,) = site_effect(rows)
    assert found.p > 0.01
    assert found.ci95 is not None
    assert found.ci95[0] < 0.1


def test_site_effect_uses_a_t_test_if_the_model_does_not_converge() -> None:
    rows = table(
        photo(0, times=20, scene="a"),
        photo(1, times=10, scene="b"),
        photo(0, times=10, scene="c"),
        photo(1, times=10, scene="c"),
    )
    found = {one.of: one for one in site_effect(rows)}
    assert found["b compared with a"].method == "t-test"
    assert found["b compared with a"].estimate == pytest.approx(1)
    assert found["c compared with a"].estimate == pytest.approx(0.5)
    assert "did not converge" in found["b compared with a"].reason


def test_response_time_effect_is_negative_if_slow_answers_are_less_often_right() -> None:
    # 12 of 16 answers are right at 1 second and 4 of 16 at e seconds, so the slope is -2 ln 3.
    kinds = ((1.0, 12), (float(np.e), 4))
    rows = table(
        *(photo(0, times=k, response_time=t) + photo(1, times=16 - k, response_time=t) for t, k in kinds),
        photo(0, times=3),
    )
    found = response_time_effect(rows)
    assert found is not None
    assert found.estimate == pytest.approx(-2 * log(3), abs=1e-5)
    assert found.n_trials == 32
    assert response_time_effect(table(photo(0, times=3))) is None


def test_response_time_effect_ignores_differences_between_participants() -> None:
    # Within a person, times are unrelated to accuracy, but slow people are better. Intercepts per person remove this.
    generator = np.random.default_rng(2)
    rows = []
    for person in range(30):
        pace, skill = person / 15, 0.25 + person / 60
        for k in range(60):
            right = generator.random() < skill
            time = float(np.exp(pace + generator.normal(0, 0.5)))
            rows += photo(0 if right else 1, stimulus_id=str(k), participant=str(person), response_time=time)
    people = table(rows)
    found = response_time_effect(people)
    assert found is not None
    assert found.method == "GLMM"
    naive = stats.pearsonr(people["response_time"].log(), people["correct"])
    assert naive.pvalue < 1e-6
    assert abs(found.estimate) < 0.25


def test_response_time_effect_of_identical_answers_is_none_and_of_separated_ones_a_t_test() -> None:
    rows = table(photo(0, times=3, response_time=1.0), photo(0, times=3, response_time=2.0))
    assert response_time_effect(rows) is None
    slow = table(
        photo(1, times=3, response_time=4.0), photo(0, times=3, response_time=1.0), photo(0, response_time=1.5)
    )
    found = response_time_effect(slow)
    assert found is not None
    assert found.method == "t-test"
    assert found.estimate < 0
    assert pl.Series([found.p]).is_between(0, 1).all()

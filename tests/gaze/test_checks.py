"""Test the checks of single respondents, and comparisons of several respondents with chance and each other."""

from __future__ import annotations

from datetime import date
from math import log, sqrt
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats

from spotball_core.errors import InputError, OptionError
from spotball_core.gaze.checks import hint_effect, response_time_effect, site_effect
from spotball_core.gaze.fleet import ModelFacts, against_chance, compare_two, read_models, trend, trends
from spotball_core.gaze.measures import with_measures
from spotball_core.gaze.power.observers import Observer, factorial_design, simulate
from tests.failures import raises
from tests.gaze.photos import photo, table


def test_hint_effect_equals_a_paired_t_test_of_accuracy_with_and_without_a_hint() -> None:
    # The difference for a photo is the accuracy with prompt 2 minus the mean accuracy with prompts 1 and 3.
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
    assert (found.estimate, found.p, found.n_stimuli) == pytest.approx((np.mean(differences), theirs.pvalue, 4))


def test_hint_effect_with_all_prompts_no_prompts_or_an_unknown_prompt_as_hinted_is_an_error() -> None:
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


def test_site_effect_of_an_observer_who_ignores_the_site_is_not_significant() -> None:
    rows = with_measures(simulate(Observer("eye", noise=0.7), factorial_design(), prompts=4, seed=1).frame)
    (found,) = site_effect(rows)
    assert found.p > 0.01
    assert found.ci95[0] < 0.1


def test_site_effect_uses_a_t_test_if_the_model_does_not_converge() -> None:
    answers = ((0, 20, "a"), (1, 10, "b"), (0, 10, "c"), (1, 10, "c"))
    rows = table(*(photo(choice, times=times, scene=scene) for choice, times, scene in answers))
    found = {one.of: one for one in site_effect(rows)}
    assert found["b compared with a"].method == "t-test"
    assert found["b compared with a"].estimate == pytest.approx(1)
    assert found["c compared with a"].estimate == pytest.approx(0.5)
    assert "did not converge" in found["b compared with a"].reason


def test_response_time_effect_is_negative_if_slow_answers_are_less_often_correct() -> None:
    # 12 of 16 answers are right at 1 second and 4 of 16 at e seconds, so the slope is -2 ln 3.
    kinds = ((1.0, 12), (float(np.e), 4))
    rows = table(
        *(photo(0, times=k, response_time=t) + photo(1, times=16 - k, response_time=t) for t, k in kinds),
        photo(0, times=3),
    )
    found = response_time_effect(rows)
    assert found.estimate == pytest.approx(-2 * log(3), abs=1e-5)
    assert found.n_trials == 32
    assert response_time_effect(table(photo(0, times=3))) is None


def test_response_time_effect_ignores_differences_between_participants() -> None:
    # Within a person, response times are unrelated to accuracy, but slow people are more accurate. Random intercepts
    # per person remove this difference.
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
    assert found.method == "GLMM"
    naive = stats.pearsonr(people["response_time"].log(), people["correct"])
    assert naive.pvalue < 1e-6
    assert abs(found.estimate) < 0.25


def test_response_time_effect_is_none_if_all_answers_agree_and_a_t_test_if_times_separate_the_answers() -> None:
    rows = table(photo(0, times=3, response_time=1.0), photo(0, times=3, response_time=2.0))
    assert response_time_effect(rows) is None
    fast = photo(0, times=3, response_time=1.0) + photo(0, response_time=1.5)
    found = response_time_effect(table(photo(1, times=3, response_time=4.0), fast))
    assert found.method == "t-test"
    assert found.estimate < 0
    assert 0 <= found.p <= 1


def test_against_chance_with_holm_finds_only_respondents_that_do_not_guess_above_chance() -> None:
    design = factorial_design()[:900]
    weak = Observer("eye", noise=1.5, lapse=0.5)
    trials = [simulate(Observer("guess"), design, prompts=1, respondent=f"guess {k}", seed=k).frame for k in range(20)]
    trials += [simulate(weak, design, prompts=1, respondent=f"sees {k}", seed=50 + k).frame for k in range(3)]
    found = against_chance(with_measures(pl.concat(trials)))
    assert len(found.respondents) == 23
    sees = [one for one in found.respondents if one.respondent.startswith("sees")]
    assert all(one.above(one.p_exact_holm, 0.05) for one in sees)
    # Without an adjustment, on average 1 of 40 guessing respondents is significantly better than chance.
    assert found.not_above["z_holm"] == found.not_above["exact_holm"] == 20
    assert 17 <= found.not_above["z"] <= 20
    for one in found.respondents:
        assert one.p_holm >= one.p
        assert one.p_exact_holm >= one.p_exact
        assert one.p_exact == pytest.approx(one.p, abs=0.06)


def test_against_chance_of_one_respondent_equals_a_hand_calculation() -> None:
    # There are 10 photos with two objects and 6 with three, so chance is (10/2 + 6/3) / 16 = 7/16.
    rows = table(photo(0, times=6), photo(1, times=4), photo(0, n=3, times=5), photo(None, n=3))
    (one,) = against_chance(rows).respondents
    assert (one.n_trials, one.accuracy, one.chance) == (16, 11 / 16, pytest.approx(7 / 16))
    assert one.z == pytest.approx((4 / 16) / np.sqrt(7 / 16 * 9 / 16 / 16))
    both = np.convolve(stats.binom.pmf(range(11), 10, 0.5), stats.binom.pmf(range(7), 6, 1 / 3))
    assert one.p_exact == pytest.approx(both[both <= both[11] * (1 + 1e-9)].sum())
    # A respondent who is significantly worse than chance does not count as above chance.
    found = against_chance(table(photo(1, times=40)))
    assert found.respondents[0].p < 0.001
    assert found.not_above == dict.fromkeys(("z", "z_holm", "exact", "exact_holm"), 1)


def test_trend_equals_scipy_linregress_and_spearmanr() -> None:
    x, y = np.arange(8.0), np.array([0.3, 0.35, 0.31, 0.4, 0.38, 0.45, 0.41, 0.5])
    found = trend("year", x, y)
    line = stats.linregress(x, y)
    assert (found.slope, found.r, found.p) == pytest.approx((line.slope, line.rvalue, line.pvalue))
    half = stats.t.ppf(0.975, 6) * line.stderr
    assert found.ci95 == pytest.approx((line.slope - half, line.slope + half))
    assert found.rho == pytest.approx(stats.spearmanr(x, y).statistic)
    assert trend("year", [1, 2], [0.1, 0.2]) is None
    assert trend("year", [1, 1, 1], [0.1, 0.2, 0.3]) is None


def test_trends_exclude_models_without_a_date_or_size() -> None:
    accuracy = {"a": 0.40, "b": 0.44, "c": 0.43, "d": 0.47, "huge": 0.9}
    models = {
        "a": ModelFacts(date(2024, 1, 1), 2.0),
        "b": ModelFacts(date(2024, 7, 1), 7.0),
        "c": ModelFacts(date(2025, 1, 1), None),
        "d": ModelFacts(None, 70.0),
        "huge": ModelFacts(None, 400.0),
    }
    by_date, by_size = trends(accuracy, models)
    assert (by_date.of, by_date.n, by_date.n_left_out) == ("year of release", 3, 2)
    assert by_date.slope == pytest.approx(0.03, abs=0.001)
    assert (by_size.of, by_size.n, by_size.n_left_out) == ("billions of parameters", 3, 2)


def test_read_models_parses_a_valid_file_and_reports_all_problems_of_an_invalid_file(tmp_path: Path) -> None:
    path = tmp_path / "models.csv"
    path.write_text("respondent,released,parameters\na,2024-05-01,7\nb,,\n", encoding="utf-8")
    assert read_models(path) == {"a": ModelFacts(date(2024, 5, 1), 7.0), "b": ModelFacts(None, None)}
    path.write_text("respondent,released,parameters\na,May,7\nb,,-1\nb,,\n,,\n", encoding="utf-8")
    with pytest.raises(InputError) as error:
        read_models(path)
    assert [problem.field for problem in error.value.problems] == ["released", "respondent", "respondent"]
    assert error.value.total == 4


def test_compare_two_uses_only_photos_of_both_respondents_and_raises_option_error_without_any() -> None:
    def numbered(name: str, right: int) -> list[dict[str, object]]:
        answers = photo(0, times=right) + photo(1, times=100 - right)
        return [row | {"respondent": name, "stimulus_id": str(k)} for k, row in enumerate(answers)]

    low, high = numbered("low", 39), numbered("high", 52)
    extra = photo(1, respondent="high", stimulus_id="more")
    found = compare_two(table(low, high, extra), "low", "high")
    assert (found.n_a, found.n_b, found.accuracy_b) == (100, 100, 0.52)
    chi2 = stats.chi2_contingency([[39, 61], [52, 48]], correction=False)
    assert found.p == pytest.approx(chi2.pvalue)
    with raises(OptionError, "no-data"):
        compare_two(table(low), "low", "x")
    with raises(OptionError, "no-data"):
        compare_two(table(low, extra), "low", "high")

"""Test the reported limits of the decision tree: chance, equality and stability."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from spotball_core.gaze.analysis import GazeOptions, analyze
from spotball_core.gaze.battery.chance import MARGIN, at_chance
from spotball_core.gaze.battery.eyes import Pair, coin_flipping, notes, supported
from spotball_core.gaze.battery.findings import QUESTIONS, Finding, Key, Supports
from spotball_core.gaze.battery.run import Battery, TestPolicy, refined
from spotball_core.gaze.battery.stability import resampled_scenes, stability
from spotball_core.gaze.data.trials import together
from spotball_core.gaze.measures import with_measures
from spotball_core.gaze.plain_tests import equivalence_p
from spotball_core.gaze.power.observers import Observer, factorial_design, simulate

DESIGN = factorial_design()
SMALL = [one for one in DESIGN if one.view == "front"]
FINDINGS: dict[Key, Finding] = {key: Finding(verdict=False, question="", says="") for key in QUESTIONS}


def test_equivalence_p_equals_the_larger_p_value_of_two_one_sided_t_tests() -> None:
    x = np.random.default_rng(0).normal(0.05, 1.0, 60)
    se = float(x.std(ddof=1) / np.sqrt(60))
    below = stats.ttest_1samp(x, 0.4, alternative="less").pvalue
    above = stats.ttest_1samp(x, -0.4, alternative="greater").pvalue
    assert equivalence_p(float(x.mean()), se, 0.4, 59) == pytest.approx(max(below, above))
    assert equivalence_p(0.1, 0.0, 0.2) == 0
    assert equivalence_p(0.3, 0.0, 0.2) == 1


def test_at_chance_is_true_only_for_guessing_with_enough_trials() -> None:
    guess = with_measures(simulate(Observer("guess"), DESIGN, prompts=2).frame)
    found = at_chance(guess)
    assert found.verdict
    assert abs(found.accuracy) < MARGIN
    few = at_chance(guess.filter(objects=guess["objects"][0], view="front"))
    assert not few.verdict
    eyes = at_chance(with_measures(simulate(Observer("eye", noise=1.0, lapse=0.5), DESIGN, prompts=2).frame))
    assert not eyes.verdict
    assert refined("gap without head bias", FINDINGS.__getitem__, guess, TestPolicy()) == "at chance"
    assert refined("gap without head bias", FINDINGS.__getitem__, guess, TestPolicy(name="paper")) != "at chance"
    assert refined("head-only", FINDINGS.__getitem__, guess, TestPolicy()) == "head-only"


@pytest.mark.parametrize(
    ("p_margin", "head_first", "expected"),
    [(0.01, False, "human-level"), (0.3, False, "no gap shown"), (0.01, True, "head-only")],
)
def test_refined_keeps_human_level_only_if_a_gap_above_the_margin_is_excluded_and_the_head_is_not_preferred(
    p_margin: float, head_first: bool, expected: str
) -> None:
    rows = with_measures(simulate(Observer("eye"), SMALL, prompts=1).frame)
    findings = {**FINDINGS, "1": FINDINGS["1"].model_copy(update={"numbers": {"p_margin": p_margin}})}
    if head_first:
        of_bias: dict[Key, Finding] = {
            key: FINDINGS[key].model_copy(update={"verdict": True}) for key in ("2.1", "2.2", "2.3", "2.4")
        }
        findings |= of_bias
    assert refined("human-level", findings.__getitem__, rows, TestPolicy()) == expected
    assert refined("human-level", findings.__getitem__, rows, TestPolicy(name="paper")) == "human-level"


def test_type_of_a_head_follower_that_is_right_on_natural_photos_is_not_human_level() -> None:
    rows = simulate(Observer("head", noise=0.2, stimulus_noise=0.1, lapse=0), SMALL, prompts=1).frame
    natural = rows["condition"] == "natural"
    rows = with_measures(rows.with_columns(choice=rows["choice"].zip_with(~natural, rows["gaze"])))
    assert Battery(rows).type() == "head-only"
    assert Battery(rows, TestPolicy(name="paper")).type() == "human-level"


def test_type_of_a_respondent_that_always_names_the_first_object_is_constant() -> None:
    rows = with_measures(simulate(Observer("eye"), SMALL, prompts=1).frame.with_columns(choice=pl.lit(0, pl.Int64)))
    assert Battery(rows).type() == "constant"


def test_policy_paper_fits_the_models_without_the_factor_place() -> None:
    rows = with_measures(simulate(Observer("head", noise=0.5), SMALL, prompts=2).frame)
    for key in ("2.4", "3", "4"):
        standard, paper = (Battery(rows, TestPolicy(name=name))[key] for name in ("standard", "paper"))  # type: ignore[arg-type, index]
        assert all("place" in model.formula for model in standard.models)
        assert paper.models
        assert not any("place" in model.formula for model in paper.models)


def test_coin_flipping_of_an_eye_observer_does_not_support_head_dominant() -> None:
    """Check an observer who chooses objects near the gaze target, and so chooses a distant head target less often."""
    rows = with_measures(simulate(Observer("eye", noise=0.5, stimulus_noise=0.2), DESIGN, prompts=2, seed=1).frame)
    found = coin_flipping(rows)
    pairs = [
        Pair(int(n), pair["near"], pair["far"], pair["drop"], pair["p_adjusted"])
        for n, by_size in found.numbers["by_objects"].items()
        for pair in by_size["pairs"]
    ]
    assert any(supported([pair for pair in pairs if pair.n_objects == n], 0.05) == "head-dominant" for n in (3, 4))
    assert found.supports == "neither"


def test_coin_flipping_of_a_coin_observer_with_little_noise_shows_equality_and_has_no_notes() -> None:
    coin = Observer("coin", noise=0.08, stimulus_noise=0.08, lapse=0.2)
    many = coin_flipping(with_measures(simulate(coin, DESIGN, prompts=8, seed=1).frame))
    assert many.supports == "eye-head ambivalent"
    assert many.notes == ()
    pairs = many.numbers["by_objects"]["3"]["pairs"]
    assert all(pair["p_equal"] < 0.05 for pair in pairs if pair["near"] > 0)
    assert all(pair["p_equal"] > 0.9 for pair in pairs if pair["near"] == 0)


def test_notes_state_whether_rates_at_different_distances_are_shown_to_be_equal() -> None:
    """Check clear differences of distances 1 and 2 from 0, and no significant difference between 1 and 2."""

    def note(verdict: Supports, p_equal: float) -> str:
        pairs = [Pair(3, 0, 1, 2.0, 0.01), Pair(3, 0, 2, 2.1, 0.01), Pair(3, 1, 2, 0.1, 0.6, p_equal)]
        return " ".join(notes(verdict, pairs, 0.05))

    assert "does not show that they are equal" in note("eye-head ambivalent", 0.4)
    assert note("eye-head ambivalent", 0.01) == ""
    assert "are equal within the margin" in note("head-dominant", 0.01)
    assert note("head-dominant", 0.4) == ""


def test_resampled_scenes_have_all_their_photos_and_copies_count_as_separate_scenes() -> None:
    rows = with_measures(simulate(Observer("head"), SMALL, prompts=2).frame)
    sample = resampled_scenes(rows, np.random.default_rng(1))
    assert sample.columns == rows.columns
    scenes = dict(iter(rows.group_by("objects", "proximity", "view")))
    n_scenes = 0.0
    for key, group in sample.group_by("objects", "proximity", "view"):
        copies = len(group) / len(scenes[key])
        assert copies == int(copies)
        assert group["stimulus_id"].n_unique() == copies * scenes[key]["stimulus_id"].n_unique()
        n_scenes += copies
    assert n_scenes == len(scenes)


def test_stability_of_a_respondent_with_a_clear_type_is_1_and_reproducible() -> None:
    rows = with_measures(simulate(Observer("eye", noise=0.1, stimulus_noise=0.05, lapse=0.0), SMALL, prompts=1).frame)
    found = stability(rows, "human-level", resamples=5)
    assert (found.resamples, found.types, found.share) == (5, {"human-level": 5}, 1.0)
    assert found == stability(rows, "human-level", resamples=5)


@pytest.mark.slow
def test_analyze_warns_if_human_level_is_based_only_on_natural_photos() -> None:
    sharp = {"noise": 0.05, "stimulus_noise": 0.05, "lapse": 0.0}
    observers = {"coin": Observer("coin", weight=0.5, **sharp), "eye": Observer("eye", **sharp)}
    trials = together([simulate(one, SMALL, prompts=2, respondent=name, seed=2) for name, one in observers.items()])
    # On natural photos, both respondents choose the gaze target.
    natural = trials.frame["condition"] == "natural"
    frame = trials.frame.with_columns(choice=trials.frame["choice"].zip_with(~natural, trials.frame["gaze"]))
    report = analyze(type(trials)(frame), GazeOptions(bootstrap=0))
    assert [one.type for one in report.respondents] == ["human-level", "human-level"]
    (warning,) = [text for text in report.warnings if "human-level" in text]
    assert warning.startswith(
        "coin: the test for the type human-level uses only natural photos; accuracy is 100% on congruent photos and 5"
    )

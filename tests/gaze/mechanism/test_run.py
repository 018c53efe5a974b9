"""Test the cue model on complete simulated respondents, and the weights of several respondents."""

from __future__ import annotations

import json
from collections import Counter

import polars as pl
import pytest

from spotball_core.errors import OptionError
from spotball_core.gaze.data.trials import Trials, together
from spotball_core.gaze.mechanism.constant import constant_choice
from spotball_core.gaze.mechanism.records import Kind
from spotball_core.gaze.mechanism.run import fit_mechanism
from spotball_core.gaze.power.observers import Cue, Observer, factorial_design, simulate
from spotball_core.gaze.weights import estimate_weights, mechanism_table, weights_as_markdown, weights_as_text
from tests.conftest import ROOT
from tests.failures import raises


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.1, 0.5, 1.1])
@pytest.mark.parametrize("cue", ["eye", "head", "compromise", "coin", "guess"])
def test_fit_mechanism_identifies_each_kind_of_observer_over_a_wide_range_of_noise(cue: Cue, noise: float) -> None:
    observer = Observer(cue, weight=0.55, noise=noise, stimulus_noise=noise / 3, lapse=0.1)
    found = fit_mechanism(simulate(observer, factorial_design(), prompts=1, seed=5).frame)
    assert found.kind == cue
    assert found.fits
    if cue in ("compromise", "coin"):
        assert found.w.value == pytest.approx(0.55, abs=0.15)
        assert found.w.ci95[0] < found.w.value < found.w.ci95[1]
        assert found.q.value == pytest.approx(float(cue == "coin"), abs=0.4)
    else:
        assert found.q.value is None
        assert found.q.reason


def test_fit_mechanism_gives_kind_none_for_other_behavior_and_raises_option_error_for_a_single_scene() -> None:
    rows = simulate(Observer("shift", weight=0.6, noise=0.1, stimulus_noise=0.05), factorial_design(), prompts=1).frame
    found = fit_mechanism(rows)
    assert (found.kind, found.fits) == ("none", False)
    assert found.says.startswith("No mechanism fits")
    assert found.w.value is found.noise.value is found.lapse.value is None
    # One scene is too little data.
    with raises(OptionError, "cannot-estimate"):
        fit_mechanism(rows.filter(objects=rows["objects"][0], proximity=1))


@pytest.mark.slow
def test_fit_mechanism_of_16_prompts_estimates_photo_noise_and_prompt_variation() -> None:
    observer = Observer("coin", weight=0.3, noise=0.5, stimulus_noise=0.25, closeness=0.2, lapse=0.1, prompt_spread=1.0)
    found = fit_mechanism(simulate(observer, factorial_design(), prompts=16, seed=2).frame)
    assert found.kind == "coin"
    assert found.w.value == pytest.approx(0.3, abs=0.03)
    assert found.noise.value == pytest.approx(0.5, abs=0.05)
    assert found.photo_noise.value == pytest.approx(0.25, abs=0.05)
    assert found.closeness.value == pytest.approx(1.2, abs=0.05)
    assert 0.6 < found.lapse_over_prompts.spread < 1.6
    assert found.w_over_prompts.spread < 0.3


@pytest.mark.slow
def test_fit_mechanism_does_not_depend_on_the_order_of_trials() -> None:
    rows = simulate(Observer("compromise", noise=0.4), factorial_design(), prompts=1).frame
    a, b = fit_mechanism(rows), fit_mechanism(rows.sample(fraction=1.0, shuffle=True, seed=1))
    assert a.kind == b.kind
    assert a.w.value == pytest.approx(b.w.value, abs=1e-3)


def test_documented_mechanism_benchmark_identifies_each_kind_in_at_least_95_percent_of_cases() -> None:
    """Check the stored results of benchmarks/gaze_mechanism.py, whose noise has other shapes than the kernels."""
    kept = json.loads((ROOT / "docs/assets/gaze-mechanism.json").read_text(encoding="utf-8"))
    for prompts, n in (("1", 100), ("16", 24)):
        for kind in ("eye", "head", "compromise", "coin", "guess"):
            measured = kept[prompts][kind]
            assert measured["n"] >= n
            assert measured["kinds"][kind] / measured["n"] >= 0.95, (prompts, kind)


def two_objects(observer: Observer, copies: int = 1) -> pl.DataFrame:
    """Return trials of photos with two objects, in several scenes each."""
    design = [one for one in factorial_design() if len(one.objects) == 2]
    frames = [
        simulate(observer, design, prompts=1, seed=seed).frame.with_columns(
            scene=pl.lit(str(seed)), stimulus_id=pl.format("{}-{}", "stimulus_id", pl.lit(seed))
        )
        for seed in range(copies)
    ]
    return pl.concat(frames)


@pytest.mark.parametrize("copies", [1, 3])
@pytest.mark.parametrize("cue", ["compromise", "coin"])
def test_fit_mechanism_does_not_distinguish_coin_from_compromise_with_two_objects(cue: Cue, copies: int) -> None:
    found = fit_mechanism(two_objects(Observer(cue, weight=0.4, noise=0.3), copies))
    assert (found.kind, found.fits) == ("coin or compromise", True)
    assert found.w.value is found.w.ci95 is None
    assert found.q.ci95 is not None
    assert found.lapse.ci95 is not None


@pytest.mark.parametrize(("weight", "kind"), [(0.3, "eye or both"), (0.7, "head or both")])
def test_fit_mechanism_does_not_name_one_cue_if_the_other_may_count_more_than_a_third(
    weight: float, kind: Kind
) -> None:
    """With two objects, a compromise with little noise chooses like a respondent that follows one cue."""
    found = fit_mechanism(two_objects(Observer("compromise", weight=weight, noise=0.05, stimulus_noise=0.0)))
    assert found.kind == kind
    assert found.w.ci95[0] <= weight <= found.w.ci95[1]
    assert found.q.value is found.q.ci95 is None


def test_fit_mechanism_does_not_give_guess_for_72_photos_that_are_answered_far_above_chance() -> None:
    rows = two_objects(Observer("coin", weight=0.4), 1).filter(view="front")
    assert fit_mechanism(rows).kind != "guess"
    assert fit_mechanism(two_objects(Observer("guess"), 1).filter(view="front")).kind == "guess"


def test_fit_mechanism_raises_option_error_for_constant_choices_and_for_congruent_photos_only() -> None:
    rows = simulate(Observer("head"), factorial_design(), prompts=1).frame
    with raises(OptionError, "cannot-estimate"):
        fit_mechanism(rows.filter(condition="congruent"))
    for choice in (pl.lit(0, pl.Int64), pl.col("n_objects") - 1):
        with raises(OptionError, "cannot-estimate"):
            fit_mechanism(rows.with_columns(choice=choice))


def test_constant_choice_finds_positions_and_objects_but_not_guesses_or_choices_that_the_targets_explain() -> None:
    rows = simulate(Observer("guess"), factorial_design(), prompts=1).frame
    assert constant_choice(rows) is None
    assert constant_choice(rows.head(10).with_columns(choice=pl.lit(0, pl.Int64))) is None
    last = constant_choice(rows.with_columns(choice=pl.col("n_objects") - 1))
    assert (last.pattern, last.share) == ("last", 1.0)
    # The objects of each set are in two orders, and the choice is always the object that is first in the alphabet.
    turned = pl.col("proximity") == 3
    names = pl.col("objects").str.split("+")
    names = pl.when(turned).then(names.list.reverse()).otherwise(names)
    objects = rows.with_columns(objects=names.list.join("+")).with_columns(
        choice=pl.col("objects").str.split("+").list.arg_min().cast(pl.Int64)
    )
    assert constant_choice(objects).pattern == "object"
    # The choice is right on all photos of a design whose gaze target is always the first object.
    first = rows.filter(gaze=0).with_columns(choice=pl.lit(0, pl.Int64))
    assert constant_choice(first) is None


def test_fit_mechanism_marks_noise_at_its_bound_and_the_sentence_has_the_intervals_of_the_table() -> None:
    sharp = Observer("eye", noise=0.0, stimulus_noise=0.0, lapse=0.0)
    found = fit_mechanism(simulate(sharp, factorial_design(), prompts=1).frame)
    assert found.kind == "eye"
    assert found.noise.at_bound
    assert not found.lapse.at_bound
    _, _, _, ((_, _, _, _, _, lapse),) = mechanism_table([("sharp", found)])
    assert lapse.replace("\n", " ") in found.says.replace("%", "")


def test_documented_designs_name_a_wrong_mechanism_in_at_most_2_percent_and_none_for_congruent_photos() -> None:
    """Check the stored results of benchmarks/gaze_designs.py."""
    designs = json.loads((ROOT / "docs/assets/gaze-designs.json").read_text(encoding="utf-8"))["designs"]
    for by_kind in designs["congruent only"].values():
        assert all(list(kinds) == ["no answer"] for kinds in by_kind.values())
    named, wrong, n = {"eye", "head", "coin", "compromise"}, Counter[str](), Counter[str]()
    for design, by_photos in designs.items():
        for by_kind in by_photos.values():
            for true, kinds in by_kind.items():
                n[design] += sum(kinds.values())
                wrong[design] += sum(kinds.get(name, 0) for name in named - {true})
    assert wrong["2 objects"] == 0
    assert wrong.total() <= 0.02 * n.total()


def test_documented_intervals_contain_the_true_value_in_at_least_90_percent_of_data_sets() -> None:
    """Check the stored results of benchmarks/gaze_designs.py."""
    measured = json.loads((ROOT / "docs/assets/gaze-designs.json").read_text(encoding="utf-8"))["coverage"]
    assert measured.keys() == {"eye", "head", "compromise", "coin"}
    for kind, result in measured.items():
        for name, (hits, n) in result["coverage"].items():
            assert hits >= 0.9 * n, (kind, name)


def test_documented_null_tests_reject_in_at_most_10_percent_of_2000_data_sets() -> None:
    """Check the stored results of benchmarks/gaze_null.py."""
    nulls = json.loads((ROOT / "docs/assets/gaze-null.json").read_text(encoding="utf-8"))
    for rates in nulls.values():
        for key, rate in rates.items():
            assert rate["n"] == 2000
            assert rate["ci95"][1] < 0.1, key


DESIGN = [one for one in factorial_design() if one.view != "left"]


def test_estimate_weights_gives_each_respondent_a_mechanism_or_reason_and_without_trials_is_an_error() -> None:
    natural = [one for one in DESIGN if one.head_target is None]
    trials = together(
        [
            simulate(Observer("coin", weight=0.6, noise=0.2), DESIGN, prompts=1, respondent="flips"),
            simulate(Observer("eye"), natural, prompts=1, respondent="natural only"),
        ]
    )
    found = estimate_weights(trials)
    flips, natural_only = found.respondents
    assert flips.mechanism.kind == "coin"
    assert flips.mechanism.n_trials < flips.n_trials
    assert natural_only.mechanism is None
    assert natural_only.reason
    assert found.warnings == (f"natural only: {natural_only.reason}",)
    text = weights_as_text(found)
    assert "coin" in text
    assert f"flips: {flips.mechanism.says}" in text
    assert weights_as_markdown(found).rstrip().endswith(found.signature)
    with raises(OptionError, "no-data"):
        estimate_weights(Trials(trials.frame.clear()))


@pytest.mark.slow
def test_estimate_weights_does_not_depend_on_jobs() -> None:
    trials = together([simulate(Observer(cue), DESIGN, prompts=1) for cue in ("eye", "head")])
    assert estimate_weights(trials, jobs=2) == estimate_weights(trials)


@pytest.mark.slow
def test_estimate_weights_curve_of_a_coin_observer_equals_its_weight_at_each_distance() -> None:
    """Check that a coin observer with little noise chooses the head target equally often at each distance."""
    trials = simulate(Observer("coin", weight=0.6, noise=0.1, stimulus_noise=0.05, lapse=0.0), DESIGN, prompts=4)
    (found,) = estimate_weights(trials).respondents
    curve = {(point.n_objects, point.offset): point.head for point in found.mechanism.curve}
    assert set(curve) == {(n, step) for n in (2, 3, 4) for step in range(1 - n, n)}
    assert all(share == pytest.approx(1.0 if step == 0 else 0.6, abs=0.06) for (_, step), share in curve.items())

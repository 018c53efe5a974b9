"""Test the cue model on complete simulated respondents."""

from __future__ import annotations

import json

import polars as pl
import pytest

from spotball_core.errors import OptionError
from spotball_core.gaze.mechanism.run import fit_mechanism
from spotball_core.gaze.power.observers import Cue, Observer, factorial_design, simulate
from tests.conftest import ROOT
from tests.failures import raises


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.1, 0.5, 1.1])
@pytest.mark.parametrize("cue", ["eye", "head", "compromise", "coin", "guess"])
def test_fit_mechanism_identifies_each_kind_over_a_wide_range_of_noise(cue: Cue, noise: float) -> None:
    observer = Observer(cue, weight=0.55, noise=noise, stimulus_noise=noise / 3, lapse=0.1)
    found = fit_mechanism(simulate(observer, factorial_design(), prompts=1, seed=5).frame)
    assert found.kind == cue
    assert found.fits
    if cue in ("compromise", "coin"):
        assert found.w.value == pytest.approx(0.55, abs=0.15)
        assert found.w.ci95 is not None
        assert found.w.ci95[0] < found.w.value < found.w.ci95[1]
        assert found.q.value == pytest.approx(float(cue == "coin"), abs=0.4)
    else:
        assert found.q.value is None
        assert found.q.reason


def test_fit_mechanism_of_other_behavior_has_kind_none() -> None:
    rows = simulate(Observer("shift", weight=0.6, noise=0.1, stimulus_noise=0.05), factorial_design(), prompts=1).frame
    found = fit_mechanism(rows)
    assert (found.kind, found.fits) == ("none", False)
    assert found.says.startswith("No mechanism fits")
    first = fit_mechanism(rows.with_columns(choice=pl.lit(0, pl.Int64)))
    assert first.kind == "none"


@pytest.mark.slow
def test_fit_mechanism_of_16_prompts_estimates_photo_noise_and_prompt_variation() -> None:
    observer = Observer("coin", weight=0.3, noise=0.5, stimulus_noise=0.25, closeness=0.2, lapse=0.1, prompt_spread=1.0)
    found = fit_mechanism(simulate(observer, factorial_design(), prompts=16, seed=2).frame)
    assert found.kind == "coin"
    assert found.w.value == pytest.approx(0.3, abs=0.03)
    assert found.noise.value == pytest.approx(0.5, abs=0.05)
    assert found.photo_noise.value == pytest.approx(0.25, abs=0.05)
    assert found.closeness.value == pytest.approx(1.2, abs=0.05)
    assert found.lapse_over_prompts is not None
    assert 0.6 < found.lapse_over_prompts.spread < 1.6
    assert found.w_over_prompts is not None
    assert found.w_over_prompts.spread < 0.3


@pytest.mark.slow
def test_fit_mechanism_does_not_depend_on_the_order_of_trials() -> None:
    rows = simulate(Observer("compromise", noise=0.4), factorial_design(), prompts=1).frame
    a, b = fit_mechanism(rows), fit_mechanism(rows.sample(fraction=1.0, shuffle=True, seed=1))
    assert a.kind == b.kind
    assert a.w.value == pytest.approx(b.w.value, abs=1e-3)


def test_fit_mechanism_of_too_few_scenes_is_an_error() -> None:
    rows = simulate(Observer("eye"), factorial_design(), prompts=1).frame
    with raises(OptionError, "cannot-estimate"):
        fit_mechanism(rows.filter(objects=rows["objects"][0], proximity=1))


def test_documented_benchmark_identifies_each_mechanism_in_95_percent_of_cases() -> None:
    """Check the results of benchmarks/gaze_mechanism.py, whose noise has shapes that the kernels do not have."""
    kept = json.loads((ROOT / "docs/assets/gaze-mechanism.json").read_text(encoding="utf-8"))
    for prompts, n in (("1", 100), ("16", 24)):
        for kind in ("eye", "head", "compromise", "coin", "guess"):
            measured = kept[prompts][kind]
            assert measured["n"] >= n
            assert measured["kinds"][kind] / measured["n"] >= 0.95, (prompts, kind)

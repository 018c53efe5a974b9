"""Test the parts of the cue model: kernels, counts, likelihood, intervals, and the goodness-of-fit check."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.integrate import quad

from spotball_core.errors import OptionError
from spotball_core.gaze.mechanism.checking import check_fit
from spotball_core.gaze.mechanism.counts import ChoiceCounts, count_choices
from spotball_core.gaze.mechanism.fitting import MIXED, STRUCTURES, fit, fit_kernels, fit_structures
from spotball_core.gaze.mechanism.intervals import profile_interval
from spotball_core.gaze.mechanism.kernels import KERNELS, Kernel, functions
from spotball_core.gaze.mechanism.likelihood import LAPSE, LOG_NOISE, PARAMETERS, CueLikelihood, Q, W
from spotball_core.gaze.mechanism.prompts import prompt_spread
from spotball_core.gaze.power.observers import Observer, factorial_design, simulate
from spotball_core.typing import FloatArray
from tests.failures import raises

POINT = np.array([0.4, 0.7, np.log(0.5), 0.1, -0.1, np.log(0.3), 0.1])


def counted(observer: Observer, prompts: int = 1, seed: int = 0) -> ChoiceCounts:
    return count_choices(simulate(observer, factorial_design(), prompts=prompts, seed=seed).frame)


@pytest.mark.parametrize("kernel", KERNELS[:5], ids=str)
def test_kernel_shape_has_mean_0_and_standard_deviation_1(kernel: Kernel) -> None:
    distribution, density = functions(kernel.shape)

    def moment(power: int) -> float:
        return float(quad(lambda u: u**power * density(np.array([u]))[0], -np.inf, np.inf, limit=500)[0])

    assert moment(0) == pytest.approx(1, abs=1e-6)
    assert moment(1) == pytest.approx(0, abs=1e-6)
    assert moment(2) == pytest.approx(1, abs=1e-4)
    at = np.linspace(-4, 4, 9)
    h = 1e-6
    assert np.allclose((distribution(at + h) - distribution(at - h)) / (2 * h), density(at), atol=1e-5)


def test_count_choices_equals_counts_by_hand() -> None:
    rows = pl.DataFrame(
        {
            "stimulus_id": ["a", "a", "a", "b", "c"],
            "objects": ["x+y", "x+y", "x+y", "x+y", "u+v+w"],
            "n_objects": [2, 2, 2, 2, 3],
            "proximity": [1, 1, 1, 1, 3],
            "view": ["front", "front", "front", "front", "left"],
            "actor": [None] * 5,
            "scene": [None] * 5,
            "gaze": [0, 0, 0, 0, 2],
            "head": [1, 1, 1, 1, None],
            "choice": [0, 1, None, 1, 2],
        },
        schema_overrides={"actor": pl.String, "scene": pl.String},
    )
    data = count_choices(rows)
    assert data.counts.tolist() == [[1, 1], [0, 1]]
    assert data.configuration.tolist() == [0, 0]
    assert data.scene.tolist() == [0, 0]
    assert (data.gaze.tolist(), data.head.tolist(), data.n_objects.tolist()) == ([0], [1], [2])
    assert data.n_trials == 3
    assert data.repeated
    with raises(OptionError, "cannot-estimate"):
        count_choices(rows.filter(pl.col("head").is_null()))


@pytest.mark.parametrize("prompts", [1, 3])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_cue_likelihood_gradient_equals_numeric_derivatives(kernel: Kernel, prompts: int) -> None:
    model = CueLikelihood(counted(Observer("coin", noise=0.4), prompts), kernel)
    value, gradient = model.value_and_gradient(POINT)
    assert value == pytest.approx(-model.per_photo(POINT).sum())
    h = 1e-5
    steps = h * np.eye(len(PARAMETERS))
    numeric = [
        (model.value_and_gradient(POINT + step)[0] - model.value_and_gradient(POINT - step)[0]) / (2 * h)
        for step in steps
    ]
    assert np.allclose(gradient, numeric, atol=1e-6 * np.abs(gradient).max())


def test_predicted_shares_with_little_noise_equal_values_by_hand() -> None:
    """Check four objects with the eyes on the first and the head on the last, where little noise makes shares exact."""
    data = ChoiceCounts(
        counts=np.ones((1, 4)),
        configuration=np.array([0]),
        n_objects=np.array([4]),
        gaze=np.array([0]),
        head=np.array([3]),
        closeness=np.zeros(1),
        side=np.zeros(1),
        scene=np.array([0]),
    )
    model = CueLikelihood(data, KERNELS[0])

    def shares(w: float, q: float, lapse: float = 0.0) -> FloatArray:
        return model.predicted(np.array([w, q, np.log(0.05), 0, 0, np.log(0.03), lapse]))[0]

    assert np.allclose(shares(0.25, 1), [0.75, 0, 0, 0.25])
    assert np.allclose(shares(1 / 3, 0), [0, 1, 0, 0])
    assert np.allclose(shares(1 / 3, 0.6), [0.4, 0.4, 0, 0.2])
    assert np.allclose(shares(1 / 3, 0, 0.2), [0.05, 0.85, 0.05, 0.05])


def test_cue_likelihood_weights_select_photos() -> None:
    data = counted(Observer("eye", noise=0.5), 2)
    model = CueLikelihood(data, KERNELS[0])
    used = (np.arange(len(data.counts)) % 3 == 0).astype(float)
    assert model.value_and_gradient(POINT, used)[0] == pytest.approx(-(model.per_photo(POINT) * used).sum())


def test_fit_reaches_a_maximum_and_recovers_the_true_parameters() -> None:
    data = counted(Observer("compromise", weight=0.6, noise=0.5, stimulus_noise=0.2, lapse=0.1), 4)
    best = fit(CueLikelihood(data, KERNELS[0]), MIXED, POINT)
    gradient = best.model.value_and_gradient(best.parameters)[1]
    assert np.abs(gradient[[W, LOG_NOISE, LAPSE]]).max() < 2
    assert best.parameters[W] == pytest.approx(0.6, abs=0.04)
    assert best.parameters[Q] < 0.1
    assert np.exp(best.parameters[LOG_NOISE]) == pytest.approx(0.5, abs=0.08)


def test_restricted_structures_are_not_more_likely_than_the_full_model() -> None:
    fits = fit_structures(fit_kernels(counted(Observer("coin", noise=0.4)))[0])
    assert list(fits) == [structure.name for structure in STRUCTURES]
    assert all(one.log_likelihood <= fits["mixed"].log_likelihood + 1e-6 for one in fits.values())


def test_profile_interval_ends_where_the_likelihood_ratio_test_rejects() -> None:
    by_kernel = fit_kernels(counted(Observer("coin", weight=0.6, noise=0.5)))[:1]
    low, high = profile_interval(by_kernel, W)
    assert low < by_kernel[0].parameters[W] < high
    for end in (low, high):
        fixed = fit(by_kernel[0].model, type(MIXED)("mixed", {W: end}, 3), by_kernel[0].parameters)
        assert 2 * (by_kernel[0].log_likelihood - fixed.log_likelihood) == pytest.approx(3.84, abs=0.2)
    assert profile_interval(by_kernel, Q)[1] == 1.0


def test_check_fit_detects_choices_that_no_structure_describes() -> None:
    fitting = fit_structures(fit_kernels(counted(Observer("coin", noise=0.2)))[0])
    assert check_fit(fitting["coin"]).fits
    other = fit_structures(fit_kernels(counted(Observer("shift", noise=0.1, stimulus_noise=0.05)))[0])
    check = check_fit(other["mixed"])
    assert not check.fits
    assert check.excess > 0.05
    assert check.p < 0.01


@pytest.mark.slow
def test_prompt_spread_pools_equal_prompts_and_finds_a_different_one() -> None:
    rows = simulate(Observer("eye", noise=0.3, lapse=0.2, prompt_spread=0.0), factorial_design(), prompts=6).frame
    fitted = fit_kernels(count_choices(rows))[0]
    same = prompt_spread(rows, fitted, LAPSE)
    assert same is not None
    assert same.spread < 0.3
    # Half of the responses to one prompt are random.
    generator = np.random.default_rng(0)
    at_random = pl.Series(generator.integers(0, rows["n_objects"].to_numpy()))
    half = pl.Series(generator.random(len(rows)) < 0.5) & (rows["prompt_id"] == "3")
    mixed = rows.with_columns(choice=pl.when(half).then(at_random).otherwise("choice"))
    differs = prompt_spread(mixed, fit_kernels(count_choices(mixed))[0], LAPSE)
    assert differs is not None
    assert differs.spread > same.spread
    assert max(differs.by_prompt, key=lambda prompt: differs.by_prompt[prompt]) == "3"
    assert differs.by_prompt["3"] == pytest.approx(0.6, abs=0.12)
    assert prompt_spread(rows.filter(pl.col("prompt_id").is_in(["1", "2"])), fitted, LAPSE) is None

"""Test the parts of the cue model: kernels, counts, likelihood, intervals, the check of the fit, and angles."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.integrate import quad

from spotball_core.errors import OptionError
from spotball_core.gaze.mechanism.angles import AngleLikelihood, AngleMechanism, Directions, fit_angles
from spotball_core.gaze.mechanism.checking import check_fit
from spotball_core.gaze.mechanism.counts import ChoiceCounts, count_choices
from spotball_core.gaze.mechanism.fitting import MIXED, STRUCTURES, fit, fit_kernels, fit_structures
from spotball_core.gaze.mechanism.intervals import profile_interval
from spotball_core.gaze.mechanism.kernels import KERNELS, Kernel, Shape, functions
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


def test_count_choices_equals_values_counted_by_hand() -> None:
    of_photo = {"objects": "x+y", "n_objects": 2, "proximity": 1, "view": "front", "gaze": 0, "head": 1}
    other = {"objects": "u+v+w", "n_objects": 3, "proximity": 3, "view": "left", "gaze": 2, "head": None}
    choices = [("a", of_photo, 0), ("a", of_photo, 1), ("a", of_photo, None), ("b", of_photo, 1), ("c", other, 2)]
    photos = [{"stimulus_id": name, **photo, "choice": choice} for name, photo, choice in choices]
    missing = pl.lit(None, pl.String)
    rows = pl.DataFrame(photos).with_columns(actor=missing, scene=missing)
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
def test_cue_likelihood_gradient_of_each_photo_equals_finite_differences(kernel: Kernel, prompts: int) -> None:
    data = counted(Observer("coin", noise=0.4), prompts)
    model = CueLikelihood(data, kernel)
    values, scores = model.scores(POINT)
    assert np.allclose(values, model.per_photo(POINT))
    h = 1e-5
    steps = h * np.eye(len(PARAMETERS))
    numeric = [(model.per_photo(POINT + step) - model.per_photo(POINT - step)) / (2 * h) for step in steps]
    assert np.allclose(scores.T, numeric, atol=1e-6 * np.abs(scores).max())


def test_cue_likelihood_predicts_shares_computed_by_hand_if_there_is_little_noise() -> None:
    """Check four objects with the eyes on the first and the head on the last, where little noise makes shares exact."""
    photo = {"configuration": 0, "n_objects": 4, "gaze": 0, "head": 3, "closeness": 0.0, "side": 0.0, "scene": 0}
    data = ChoiceCounts(counts=np.ones((1, 4)), **{name: np.array([value]) for name, value in photo.items()})
    model = CueLikelihood(data, KERNELS[0])

    def shares(w: float, q: float, lapse: float = 0.0) -> FloatArray:
        return model.predicted(np.array([w, q, np.log(0.05), 0, 0, np.log(0.03), lapse]))[0]

    assert np.allclose(shares(0.25, 1), [0.75, 0, 0, 0.25])
    assert np.allclose(shares(1 / 3, 0), [0, 1, 0, 0])
    assert np.allclose(shares(1 / 3, 0.6), [0.4, 0.4, 0, 0.2])
    assert np.allclose(shares(1 / 3, 0, 0.2), [0.05, 0.85, 0.05, 0.05])


def test_fit_reaches_a_likelihood_maximum_and_recovers_the_true_parameters() -> None:
    data = counted(Observer("compromise", weight=0.6, noise=0.5, stimulus_noise=0.2, lapse=0.1), 4)
    best = fit(CueLikelihood(data, KERNELS[0]), MIXED, POINT)
    gradient = best.model.scores(best.parameters)[1].sum(axis=0)
    assert np.abs(gradient[[W, LOG_NOISE, LAPSE]]).max() < 2
    assert best.parameters[W] == pytest.approx(0.6, abs=0.04)
    assert best.parameters[Q] < 0.1
    assert np.exp(best.parameters[LOG_NOISE]) == pytest.approx(0.5, abs=0.08)


def test_profile_interval_ends_where_the_likelihood_ratio_test_rejects() -> None:
    by_kernel = fit_kernels(counted(Observer("coin", weight=0.6, noise=0.5)))[:1]
    low, high = profile_interval(by_kernel, W)
    assert low < by_kernel[0].parameters[W] < high
    for end in (low, high):
        fixed = fit(by_kernel[0].model, type(MIXED)("mixed", {W: end}, 3), by_kernel[0].parameters)
        assert 2 * (by_kernel[0].log_likelihood - fixed.log_likelihood) == pytest.approx(3.84, abs=0.2)
    assert profile_interval(by_kernel, Q)[1] == 1.0


def test_fit_structures_are_at_most_as_likely_as_the_full_model_and_check_fit_rejects_a_shift_observer() -> None:
    fitting = fit_structures(fit_kernels(counted(Observer("coin", noise=0.2)))[0])
    assert list(fitting) == [structure.name for structure in STRUCTURES]
    assert all(one.log_likelihood <= fitting["mixed"].log_likelihood + 1e-6 for one in fitting.values())
    assert check_fit(fitting["coin"]).fits
    other = fit_structures(fit_kernels(counted(Observer("shift", noise=0.1, stimulus_noise=0.05)))[0])
    check = check_fit(other["mixed"])
    assert not check.fits
    assert check.excess > 0.05
    assert check.p < 0.01


@pytest.mark.slow
def test_prompt_spread_is_small_for_equal_prompts_and_identifies_a_prompt_with_random_responses() -> None:
    rows = simulate(Observer("eye", noise=0.3, lapse=0.2, prompt_spread=0.0), factorial_design(), prompts=6).frame
    fitted = fit_kernels(count_choices(rows))[0]
    same = prompt_spread(rows, fitted, LAPSE)
    assert same.spread < 0.3
    # Half of the responses to one prompt are random.
    generator = np.random.default_rng(0)
    at_random = pl.Series(generator.integers(0, rows["n_objects"].to_numpy()))
    half = pl.Series(generator.random(len(rows)) < 0.5) & (rows["prompt_id"] == "3")
    mixed = rows.with_columns(choice=pl.when(half).then(at_random).otherwise("choice"))
    differs = prompt_spread(mixed, fit_kernels(count_choices(mixed))[0], LAPSE)
    assert differs.spread > same.spread
    assert max(differs.by_prompt, key=lambda prompt: differs.by_prompt[prompt]) == "3"
    assert differs.by_prompt["3"] == pytest.approx(0.6, abs=0.12)
    assert prompt_spread(rows.filter(pl.col("prompt_id").is_in(["1", "2"])), fitted, LAPSE) is None


SHAPES = [kernel.shape for kernel in KERNELS[:5]]


@pytest.mark.parametrize("shape", SHAPES)
def test_angle_likelihood_sums_to_1_over_directions_and_its_gradient_equals_finite_differences(shape: Shape) -> None:
    # These are all 360 directions, in steps of one degree.
    response = (np.arange(-180, 180) + 0.5) / 30
    model = AngleLikelihood(Directions(response, np.full(360, 2.0), np.arange(360)), shape)
    at = np.array([0.4, 0.6, np.log(0.7), 0.0, 0.0, 0.0, 0.2])
    assert np.exp(model.per_photo(at)).sum() == pytest.approx(1, abs=0.01)
    generator = np.random.default_rng(0)
    data = Directions(generator.uniform(-6, 6, 50), generator.uniform(-6, 6, 50), np.arange(50))
    model = AngleLikelihood(data, shape)
    at = np.array([0.4, 0.6, np.log(0.8), 0.0, 0.0, 0.0, 0.2])
    values, scores = model.scores(at)
    assert np.allclose(values, model.per_photo(at))
    h = 1e-6
    for index in (W, Q, LOG_NOISE, LAPSE):
        step = h * np.eye(len(PARAMETERS))[index]
        numeric = (model.per_photo(at + step) - model.per_photo(at - step)) / (2 * h)
        assert np.allclose(scores[:, index], numeric, rtol=1e-3, atol=1e-3)


def responses(kind: str, noise: float, seed: int = 0, n: int = 400) -> AngleMechanism:
    """Fit simulated responses whose noise is uniform or a contaminated normal, which no kernel matches exactly."""
    draw = np.random.default_rng(seed)
    gaze = draw.uniform(-180, 180, n)
    head = gaze + draw.choice([-75, -45, -20, 0, 20, 45, 75], n)
    follows = draw.random(n) < 0.4
    at = {
        "eye": gaze,
        "head": head,
        "compromise": gaze + 0.4 * (head - gaze),
        "coin": np.where(follows, head, gaze),
        "guess": draw.uniform(-180, 180, n),
        "opposite": gaze - (head - gaze),
    }[kind]
    wide = draw.uniform(-1.7, 1.7, n) if seed % 2 else draw.normal(0, 0.75, n) * np.where(draw.random(n) < 0.1, 3, 1)
    return fit_angles(at + noise * wide, gaze, head)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [5, 25])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kind", ["eye", "head", "compromise", "coin", "guess"])
def test_fit_angles_identifies_each_kind_of_respondent(kind: str, noise: float, seed: int) -> None:
    found = responses(kind, noise, seed)
    assert found.kind == kind
    assert found.fits
    if kind in ("compromise", "coin"):
        assert found.w.value == pytest.approx(0.4, abs=0.1)
        assert found.noise.value == pytest.approx(noise, rel=0.4)
    if kind in ("eye", "head"):
        assert found.q.value is None


def test_fit_angles_gives_kind_none_for_opposite_responses_and_raises_option_error_for_invalid_angles() -> None:
    found = responses("opposite", 5)
    assert (found.kind, found.fits, found.w.value) == ("none", False, None)
    some = np.zeros(30)
    for angles, code in (
        ((some[:5], some[:5], some[:5]), "cannot-estimate"),
        ((some, some[:5], some), "wrong-shape"),
        ((some * np.nan, some, some), "invalid-value"),
        ((some, some, some + 360), "cannot-estimate"),
    ):
        with raises(OptionError, code):
            fit_angles(*angles)

"""Test the conditional logit against values computed by hand, plain loops, a general optimizer and simulations."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import optimize

from spotball_core.cues.logit import ChoiceData, fit_logit, held_out_likelihood, log_probabilities
from spotball_core.errors import OptionError
from spotball_core.stats.bootstrap import expanded
from spotball_core.typing import FloatArray
from tests.conftest import THOROUGH
from tests.failures import raises


def simulated(
    n_images: int, n_cells: int, weights: FloatArray, guesses: int, seed: int, own: float = 0.0
) -> ChoiceData:
    """Simulate guesses from the model; the weights vary between images with the standard deviation `own`."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_images, n_cells, len(weights)))
    mine = weights + own * rng.normal(size=(n_images, 1, len(weights)))
    utility = (scores * mine).sum(axis=-1)
    p = np.exp(utility) / np.exp(utility).sum(axis=-1, keepdims=True)
    return ChoiceData(scores, rng.multinomial(guesses, p).astype(float))


def by_loops(data: ChoiceData, weights: FloatArray, image: int) -> float:
    """Return the log likelihood of the guesses on an image, computed with loops."""
    utility = [sum(w * s for w, s in zip(weights, row, strict=True)) for row in data.scores[image]]
    total = math.log(sum(math.exp(u) for u in utility))
    return sum(n * (u - total) for n, u in zip(data.counts[image], utility, strict=True))


def test_fit_logit_of_two_cells_equals_values_computed_by_hand() -> None:
    # 30 of 40 guesses name the cell with the higher score: P = e^w / (1 + e^w) = 3/4.
    data = ChoiceData(np.array([[[1.0], [0.0]]] * 4), np.array([[10.0, 0.0], [8.0, 2.0], [7.0, 3.0], [5.0, 5.0]]))
    fit = fit_logit(data, ridge=0.0)
    assert fit.weights == pytest.approx([math.log(3)])
    assert fit.log_likelihood == pytest.approx([a * math.log(0.75) + b * math.log(0.25) for a, b in data.counts])
    # Gradients are 10 - 7.5, 8 - 7.5, 7 - 7.5 and 5 - 7.5; the Hessian is 40 * 3/4 * 1/4 = 7.5; the factor is 4/3.
    variance = (2.5**2 + 0.5**2 + 0.5**2 + 2.5**2) / 7.5**2 * 4 / 3
    assert fit.standard_errors == pytest.approx([math.sqrt(variance)])
    assert fit.covariance == pytest.approx(np.array([[variance]]))


@pytest.mark.parametrize("ridge", [0.0, 0.02])
def test_fit_logit_agrees_with_a_general_optimizer(ridge: float) -> None:
    data = simulated(12, 7, np.array([0.8, -0.4, 0.0]), 20, seed=1)

    def loss(weights: FloatArray) -> float:
        likelihood = sum(by_loops(data, weights, image) for image in range(12))
        return float(-likelihood / data.counts.sum() + ridge / 2 * weights @ weights)

    found = optimize.minimize(loss, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14})
    fit = fit_logit(data, ridge=ridge)
    assert fit.weights == pytest.approx(found.x, abs=1e-5)
    assert fit.log_likelihood == pytest.approx([by_loops(data, fit.weights, image) for image in range(12)])


def test_fit_logit_influence_equals_the_change_of_weights_without_an_image() -> None:
    data = simulated(400, 8, np.array([0.6, -0.3]), 10, seed=2, own=0.5)
    fit = fit_logit(data)
    for image in (0, 1, 2):
        rest = np.arange(400) != image
        without = fit_logit(ChoiceData(data.scores[rest], data.counts[rest])).weights
        assert fit.weights - without == pytest.approx(fit.influence[image], abs=2e-4)


@pytest.mark.parametrize("folds", [12, 5, 2])
def test_held_out_likelihood_uses_weights_fitted_without_the_image(folds: int) -> None:
    data = simulated(12, 9, np.array([1.0, -0.5, 0.2]), 15, seed=3)
    fold = np.arange(12) % folds
    found = held_out_likelihood(data, fold, ridge=0.01)
    for image in range(12):
        rest = fold != fold[image]
        weights = fit_logit(ChoiceData(data.scores[rest], data.counts[rest]), ridge=0.01).weights
        assert found[image] == pytest.approx(by_loops(data, weights, image), abs=1e-5)


def test_held_out_likelihood_is_accurate_without_the_most_influential_image() -> None:
    # Nearly all information of the common fit comes from one image, and one fold excludes that image.
    data = simulated(5, 9, np.array([2.0, -2.0]), 3, seed=5)
    counts = data.counts.copy()
    counts[0] *= 1e6
    data = ChoiceData(data.scores * np.array([8.0, 1, 1, 1, 1])[:, None, None], counts)
    found = held_out_likelihood(data, np.arange(5))
    rest = ChoiceData(data.scores[1:], data.counts[1:])
    assert found[0] == pytest.approx(by_loops(data, fit_logit(rest).weights, 0), rel=1e-5)


def test_logit_without_cues_predicts_uniform_probabilities() -> None:
    data = simulated(3, 4, np.zeros(0), 5, seed=0)
    assert held_out_likelihood(data, np.arange(3)) == pytest.approx(np.full(3, -5 * math.log(4)))
    assert len(fit_logit(data).weights) == 0


@given(st.integers(0, 10**6), st.floats(-3, 3), st.floats(0.1, 10))
def test_fit_logit_is_invariant_to_shifts_and_scales_of_scores(seed: int, shift: float, scale: float) -> None:
    data = simulated(6, 5, np.array([0.5]), 4, seed=seed)
    shifts = shift * np.arange(6)[:, None, None]
    moved = fit_logit(ChoiceData(scale * data.scores + shifts, data.counts), ridge=1e-3 * scale**2)
    assert scale * moved.weights == pytest.approx(fit_logit(data, ridge=1e-3).weights, abs=1e-5)


@given(st.integers(0, 10**6))
def test_fit_logit_gives_identical_cues_equal_weights(seed: int) -> None:
    data = simulated(6, 5, np.array([1.0]), 20, seed=seed)
    both = ChoiceData(np.repeat(data.scores, 2, axis=-1), data.counts)
    first, second = fit_logit(both, ridge=1e-3).weights
    assert first == pytest.approx(second, abs=1e-6)


def test_log_probabilities_of_several_weights_are_normalized() -> None:
    data = simulated(3, 4, np.array([1.0, 2.0]), 5, seed=0)
    weights = np.array([[0.0, 0.0], [1.0, -500.0]])
    found = np.exp(log_probabilities(data.scores, weights))
    assert found.shape == (2, 3, 4)
    assert found.sum(axis=-1) == pytest.approx(np.ones((2, 3)))
    assert found[0] == pytest.approx(np.full((3, 4), 0.25))


@pytest.mark.parametrize(
    ("scores", "counts", "message"),
    [
        (np.zeros((2, 3, 1)), np.ones((2, 4)), "wrong-shape"),
        (np.full((1, 3, 1), np.nan), np.ones((1, 3)), "invalid-value"),
        (np.zeros((1, 3, 1)), -np.ones((1, 3)), "invalid-value"),
        (np.zeros((1, 3, 1)), np.zeros((1, 3)), "cannot-estimate"),
        (np.zeros((0, 3, 1)), np.zeros((0, 3)), "cannot-estimate"),
    ],
)
def test_choice_data_with_invalid_arrays_is_an_error(scores: FloatArray, counts: FloatArray, message: str) -> None:
    with raises(OptionError, message):
        ChoiceData(scores, counts)


def test_logit_with_an_invalid_ridge_or_a_single_fold_is_an_error() -> None:
    data = simulated(3, 4, np.array([1.0]), 5, seed=0)
    with raises(OptionError, "invalid-option:ridge"):
        fit_logit(data, ridge=-1)
    with raises(OptionError, "invalid-option:fold"):
        held_out_likelihood(data, np.zeros(3, dtype=int))


@pytest.mark.slow
@pytest.mark.parametrize("own", [0.0, 0.4])
def test_logit_intervals_cover_the_weights_at_the_nominal_rate(own: float) -> None:
    """Check 50 images with 150 guesses; if weights differ by image, standard errors per guess would be too small."""
    weights, runs = np.array([0.8, 0.3, 0.0, -0.5]), 2000 if THOROUGH else 400
    if own:
        # The fit estimates the weights that fit all images best, which differ from the mean of the weights per image.
        weights = fit_logit(simulated(4000, 60, weights, 150, seed=10**6, own=own)).weights
    covered = np.zeros((runs, 4))
    for seed in range(runs):
        fit = fit_logit(simulated(50, 60, np.array([0.8, 0.3, 0.0, -0.5]), 150, seed=seed, own=own))
        covered[seed] = np.abs(fit.weights - weights) <= expanded(1.959964, 50) * fit.standard_errors
    # The tolerance is 3.5 standard errors of a proportion, plus 1% because 50 images are not an infinite sample.
    assert abs(covered.mean() - 0.95) < 3.5 * math.sqrt(0.95 * 0.05 / runs / 4) + 0.01

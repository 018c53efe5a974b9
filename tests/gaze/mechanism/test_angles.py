from __future__ import annotations

import numpy as np
import pytest

from spotball_core.errors import OptionError
from spotball_core.gaze.mechanism.angles import AngleLikelihood, AngleMechanism, Directions, fit_angles
from spotball_core.gaze.mechanism.kernels import KERNELS, Shape
from spotball_core.gaze.mechanism.likelihood import LAPSE, LOG_NOISE, PARAMETERS, Q, W
from tests.failures import raises

SHAPES = [kernel.shape for kernel in KERNELS[:5]]


@pytest.mark.parametrize("shape", SHAPES)
def test_angle_likelihood_gradient_equals_numeric_derivatives(shape: Shape) -> None:
    generator = np.random.default_rng(0)
    data = Directions(generator.uniform(-6, 6, 50), generator.uniform(-6, 6, 50), np.arange(50))
    model = AngleLikelihood(data, shape)
    at = np.array([0.4, 0.6, np.log(0.8), 0.0, 0.0, 0.0, 0.2])
    used = generator.random(50)
    gradient = model.value_and_gradient(at, used)[1]
    h = 1e-6
    for index in (W, Q, LOG_NOISE, LAPSE):
        step = h * np.eye(len(PARAMETERS))[index]
        numeric = (model.value_and_gradient(at + step, used)[0] - model.value_and_gradient(at - step, used)[0]) / (
            2 * h
        )
        assert gradient[index] == pytest.approx(numeric, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("shape", SHAPES)
def test_angle_likelihood_sums_to_1_over_all_directions(shape: Shape) -> None:
    """Check with all 360 directions in steps of one degree."""
    response = (np.arange(-180, 180) + 0.5) / 30
    model = AngleLikelihood(Directions(response, np.full(360, 2.0), np.arange(360)), shape)
    at = np.array([0.4, 0.6, np.log(0.7), 0.0, 0.0, 0.0, 0.2])
    assert np.exp(model.per_photo(at)).sum() == pytest.approx(1, abs=0.01)


def responses(kind: str, noise: float, seed: int = 0, n: int = 400) -> AngleMechanism:
    """Fit simulated responses whose noise is uniform or contaminated, which no kernel matches exactly."""
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


def test_fit_angles_of_opposite_responses_has_kind_none() -> None:
    found = responses("opposite", 5)
    assert (found.kind, found.fits) == ("none", False)


def test_fit_angles_of_invalid_angles_is_an_error() -> None:
    some = np.zeros(30)
    with raises(OptionError, "cannot-estimate"):
        fit_angles(some[:5], some[:5], some[:5])
    with raises(OptionError, "wrong-shape"):
        fit_angles(some, some[:5], some)
    with raises(OptionError, "invalid-value"):
        fit_angles(some * np.nan, some, some)
    with raises(OptionError, "cannot-estimate"):
        fit_angles(some, some, some + 360)

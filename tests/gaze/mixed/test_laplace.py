"""Test the Laplace likelihood against its definition and exact integrals, and its gradient against differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import approx_fprime
from scipy.special import expit

from spotball_core.gaze.mixed.laplace import Data, Likelihood
from tests.conftest import examples
from tests.gaze.mixed import plain
from tests.gaze.mixed.plain import Array


def drawn(seed: int, *, rows: int = 60, sizes: tuple[int, ...] = (7, 4), columns: int = 2, most: int = 3) -> Data:
    """Simulate answers of a small model in which every level of every group occurs."""
    draw = np.random.default_rng(seed)
    codes = [np.concatenate([np.arange(size), draw.integers(size, size=rows - size)]) for size in sizes]
    matrix = np.column_stack([np.ones(rows), draw.normal(size=(rows, columns - 1))])
    trials = draw.integers(1, most + 1, rows).astype(float)
    eta = matrix @ draw.normal(size=columns) + sum(draw.normal(size=max(sizes))[code] for code in codes)
    return Data(
        successes=draw.binomial(trials.astype(int), expit(eta)).astype(float),
        trials=trials,
        matrix=matrix,
        offset=draw.normal(size=rows) / 2,
        names=tuple("abc"[: len(sizes)]),
        codes=tuple(codes),
        levels=tuple(tuple(range(size)) for size in sizes),
    )


SIZES = st.sampled_from([(5,), (7, 4), (6, 6), (9, 5, 3)])
SDS = st.lists(st.floats(0, 3), min_size=3, max_size=3)


@given(seed=st.integers(0, 10**6), sizes=SIZES, sds=SDS)
@settings(max_examples=examples(30), deadline=None)
def test_likelihood_equals_its_definition(seed: int, sizes: tuple[int, ...], sds: list[float]) -> None:
    data = drawn(seed, sizes=sizes)
    theta, beta = np.array(sds[: len(sizes)]), np.array([0.3, -0.5])
    value, _ = Likelihood(data)(theta, beta)
    fixed = data.offset + data.matrix @ beta
    assert value == pytest.approx(plain.laplace(data.successes, data.trials, fixed, data.codes, theta), abs=1e-6)


@given(seed=st.integers(0, 10**6), sizes=SIZES, sds=st.lists(st.floats(0.05, 3), min_size=3, max_size=3))
@settings(max_examples=examples(30), deadline=None)
def test_likelihood_gradient_equals_finite_differences(seed: int, sizes: tuple[int, ...], sds: list[float]) -> None:
    data = drawn(seed, sizes=sizes)
    k = len(sizes)
    at = np.array([*sds[:k], 0.3, -0.5])

    def value(x: Array) -> float:
        return Likelihood(data)(x[:k], x[k:])[0]

    _, slope = Likelihood(data)(at[:k], at[k:])
    central = (approx_fprime(at, value, 1e-5) + approx_fprime(at, value, -1e-5)) / 2
    np.testing.assert_allclose(slope, central, atol=1e-4)


def test_likelihood_is_even_and_flat_at_zero_group_variance() -> None:
    data = drawn(3)
    beta = np.array([0.2, 0.1])
    value, slope = Likelihood(data)(np.array([0.8, 0.0]), beta)
    assert slope[1] == 0
    assert value == pytest.approx(
        plain.laplace(data.successes, data.trials, data.offset + data.matrix @ beta, data.codes[:1], [0.8])
    )
    there, back = (Likelihood(data)(np.array([0.8, sd]), beta)[0] for sd in (0.6, -0.6))
    assert there == pytest.approx(back, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("sd", [0.3, 1.0, 2.0])
def test_likelihood_is_close_to_the_exact_integral(sd: float) -> None:
    """Check that the error per level is small and shrinks as the number of answers per level grows."""
    errors = []
    for repeats in (4, 16, 64):
        draw = np.random.default_rng(1)
        code = np.arange(8).repeat(repeats)
        eta = 0.4 + sd * draw.normal(size=8)[code]
        yes = (draw.random(len(code)) < expit(eta)).astype(float)
        ones = np.ones(len(code))
        data = Data(yes, ones, ones[:, None], 0 * ones, ("a",), (code,), (tuple(range(8)),))
        value, _ = Likelihood(data)(np.array([sd]), np.array([0.4]))
        errors.append(abs(value - plain.exact(yes, ones, 0.4 * ones, code, sd)) / 8)
    assert errors[0] < 0.03
    assert errors[1] < 0.022
    assert errors[2] < 0.008
    assert sd < 1 or errors[2] < errors[0] / 2


def test_information_equals_that_of_the_weighted_linear_model() -> None:
    data = drawn(5)
    theta, beta = np.array([0.7, 0.4]), np.array([0.1, 0.2])
    likelihood = Likelihood(data)
    found = likelihood.information(theta, beta)
    u = likelihood.mode
    eta = data.offset + data.matrix @ beta + 0.7 * u[:7][data.codes[0]] + 0.4 * u[7:][data.codes[1]]
    w = data.trials * expit(eta) * expit(-eta)
    a = np.column_stack(
        [
            sd * (code == level)
            for sd, code, size in zip(theta, data.codes, (7, 4), strict=True)
            for level in range(size)
        ]
    )
    # A linear model with these weights has this covariance, and the information is based on its inverse.
    covariance = np.diag(1 / w) + a @ a.T
    np.testing.assert_allclose(found, data.matrix.T @ np.linalg.solve(covariance, data.matrix), rtol=1e-8)

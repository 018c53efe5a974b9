"""Test that mixture weights maximize the likelihood."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import optimize

from spotball_core.cues.mixture_weights import fit_weights
from spotball_core.errors import OptionError
from spotball_core.typing import FloatArray
from tests.failures import raises


def problem(seed: int, n: int = 200, m: int = 5) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    parts = rng.dirichlet(np.full(n, 0.2), m).T
    parts[:, 0] = 1 / n
    counts = rng.multinomial(500, parts @ rng.dirichlet(np.full(m, 0.5))).astype(float)
    return counts, parts


def log_likelihood(counts: FloatArray, parts: FloatArray, weights: FloatArray) -> float:
    total = 0.0
    for n, row in zip(counts, parts, strict=True):
        if n:
            total += n * float(np.log(np.dot(row, weights)))
    return total


def test_fit_weights_agrees_with_a_general_optimizer() -> None:
    for seed in range(6):
        counts, parts = problem(seed)
        weights, likelihood = fit_weights(counts[None], parts, np.ones((1, 5), dtype=bool))
        theirs = optimize.minimize(
            lambda w, c=counts, p=parts: -np.sum(c[c > 0] * np.log(p[c > 0] @ w + 1e-300)),
            np.full(5, 0.2),
            method="SLSQP",
            bounds=[(0, 1)] * 5,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
            options={"maxiter": 1000, "ftol": 1e-12},
        )
        assert likelihood[0] >= -theirs.fun - 500 * 1e-8
        np.testing.assert_allclose(weights[0], theirs.x, atol=2e-3)
        assert likelihood[0] == pytest.approx(log_likelihood(counts, parts, weights[0]))


@given(st.integers(0, 10_000), st.integers(2, 60), st.integers(1, 6), st.sampled_from([1, 3, 50, 5000]))
def test_fit_weights_satisfies_the_optimality_conditions(seed: int, n: int, m: int, answers: int) -> None:
    """Check with loops that the gradient is at most 1, and 1 for used parts, even with equal parts or few counts."""
    rng = np.random.default_rng(seed)
    parts = rng.dirichlet(np.full(n, rng.choice([0.02, 0.2, 2.0])), m).T
    parts[:, 0] = 1 / n
    if seed % 3 == 0:
        parts[:, -1] = parts[:, 0]
    counts = rng.multinomial(answers, parts @ rng.dirichlet(np.full(m, 0.4))).astype(float)
    allowed = rng.random((1, m)) < 0.8
    allowed[0, 0] = True
    weights, likelihood = fit_weights(counts[None], parts, allowed)
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1.0)
    assert likelihood[0] == pytest.approx(log_likelihood(counts, parts, weights[0]))
    for part in np.flatnonzero(allowed[0]):
        share = sum(c * row[part] / float(np.dot(row, weights[0])) for c, row in zip(counts, parts, strict=True) if c)
        assert share / answers <= 1 + 1e-6
        assert weights[0, part] * (1 - share / answers) == pytest.approx(0.0, abs=1e-6)


def test_fit_weights_equals_weights_computed_by_hand() -> None:
    """Check with 3 responses in a cell of both parts and 1 in a cell of the uniform part only: 3/4 = (1 + w) / 2."""
    parts = np.array([[0.5, 1.0], [0.5, 0.0]])
    weights, likelihood = fit_weights(np.array([[3.0, 1.0]]), parts, np.ones((1, 2), dtype=bool))
    np.testing.assert_allclose(weights, [[0.5, 0.5]], atol=1e-6)
    assert likelihood[0] == pytest.approx(3 * np.log(0.75) + np.log(0.25))


def test_fit_weights_of_many_rows_equals_separate_fits() -> None:
    rng = np.random.default_rng(3)
    _, parts = problem(3)
    counts = rng.multinomial(80, parts @ np.full(5, 0.2), size=120).astype(float)
    weights, _ = fit_weights(counts, parts, np.ones((120, 5), dtype=bool))
    for row in (0, 49, 50, 119):
        alone, _ = fit_weights(counts[row : row + 1], parts, np.ones((1, 5), dtype=bool))
        np.testing.assert_allclose(weights[row], alone[0], atol=1e-5)


@given(st.integers(0, 10_000), st.sampled_from([3, 50, 5000]))
def test_fit_weights_of_resamples_reaches_the_same_maximum_from_a_warm_start(seed: int, answers: int) -> None:
    """Check with a start that contains zero weights, some of which must become positive."""
    rng = np.random.default_rng(seed)
    _, parts = problem(seed % 100)
    counts = rng.multinomial(answers, parts @ rng.dirichlet(np.full(5, 0.4))).astype(float)
    (start,), _ = fit_weights(counts[None], parts, np.ones((1, 5), dtype=bool))
    resampled = rng.multinomial(answers, counts / answers, size=20).astype(float)
    allowed = np.ones((20, 5), dtype=bool)
    weights, likelihood = fit_weights(resampled, parts, allowed, start)
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0)
    np.testing.assert_allclose(likelihood, fit_weights(resampled, parts, allowed)[1], rtol=0, atol=2e-8 * answers)


def test_fit_weights_gives_weight_0_to_parts_that_are_not_allowed() -> None:
    counts, parts = problem(8)
    allowed = np.array([[True, False, True, False, False], [True] * 5, [True, False, False, False, False]])
    weights, likelihood = fit_weights(np.tile(counts, (3, 1)), parts, allowed)
    assert (weights[~allowed] == 0).all()
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0)
    assert likelihood[1] >= likelihood[0] >= likelihood[2]
    assert likelihood[2] == pytest.approx(500 * np.log(1 / 200))
    alone, _ = fit_weights(counts[None], parts[:, [0, 2]], np.ones((1, 2), dtype=bool))
    np.testing.assert_allclose(weights[0, [0, 2]], alone[0], atol=1e-6)


def test_fit_weights_of_two_equal_parts_sum_to_the_weight_of_one() -> None:
    """Check the sum of the weights of two equal parts, because any split of it is a maximum."""
    counts, parts = problem(9)
    twice = np.concatenate([parts, parts[:, 2:3]], axis=1)
    one, likelihood = fit_weights(counts[None], parts, np.ones((1, 5), dtype=bool))
    other, same = fit_weights(counts[None], twice, np.ones((1, 6), dtype=bool))
    assert same[0] == pytest.approx(likelihood[0], abs=1e-3)
    assert other[0, 2] + other[0, 5] == pytest.approx(one[0, 2], abs=2e-3)


def test_fit_weights_with_an_impossible_response_is_an_error() -> None:
    with raises(OptionError, "cannot-estimate"):
        fit_weights(np.array([[1.0, 1.0]]), np.array([[1.0, 0.5], [0.0, 0.5]]), np.array([[True, False]]))

"""Expectation-maximization: what it climbs, where it ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import optimize

from spotball_core.cues import em
from spotball_core.cues.em import Outcomes, em_step, fit_weights
from spotball_core.errors import OptionError
from spotball_core.typing import FloatArray


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


@given(st.integers(0, 10_000))
def test_a_step_never_lowers_the_likelihood(seed: int) -> None:
    counts, parts = problem(seed, n=30, m=4)
    rng = np.random.default_rng(seed + 1)
    weights = rng.dirichlet(np.ones(4), 3)
    before = None
    for _ in range(8):
        weights_after, likelihood, _ = em_step(weights, Outcomes.of(np.tile(counts, (3, 1))), parts)
        np.testing.assert_allclose(likelihood, [log_likelihood(counts, parts, row) for row in weights])
        np.testing.assert_allclose(weights_after.sum(axis=-1), 1.0)
        if before is not None:
            assert (likelihood >= before - 1e-9 * np.abs(before)).all()
        weights, before = weights_after, likelihood


def test_the_maximum_is_that_of_a_general_optimizer() -> None:
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
        assert likelihood[0] >= -theirs.fun - 500 * 1e-6
        np.testing.assert_allclose(weights[0], theirs.x, atol=2e-3)
        assert likelihood[0] == pytest.approx(log_likelihood(counts, parts, weights[0]))


def test_the_gradient_certifies_the_maximum() -> None:
    counts, parts = problem(7)
    weights, _ = fit_weights(counts[None], parts, np.ones((1, 5), dtype=bool))
    _, _, gradient = em_step(weights, Outcomes.of(counts[None]), parts)
    assert gradient.max() <= 1 + 1e-6
    assert (weights * (gradient - 1)).sum() == pytest.approx(0.0, abs=1e-6)


def test_extrapolating_never_lowers_the_likelihood(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cycle steps from where it starts, from there, and from an extrapolation; it starts no lower than the last."""
    seen: list[float] = []

    def recorded(
        weights: FloatArray, outcomes: Outcomes, parts: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        found = em_step(weights, outcomes, parts)
        seen.append(float(found[1][0]))
        return found

    monkeypatch.setattr(em, "em_step", recorded)
    refused = 0
    for seed in range(60):
        seen.clear()
        counts, parts = problem(seed, n=40, m=6)
        fit_weights(counts[None], parts, np.ones((1, 6), dtype=bool))
        assert (np.diff(seen[::3]) >= -1e-9 * abs(seen[0])).all()
        refused += sum(extrapolated < first for first, extrapolated in zip(seen[1::3], seen[2::3], strict=True))
    assert refused > 0


def test_parts_that_are_not_allowed_get_nothing() -> None:
    counts, parts = problem(8)
    allowed = np.array([[True, False, True, False, False], [True] * 5, [True, False, False, False, False]])
    weights, likelihood = fit_weights(np.tile(counts, (3, 1)), parts, allowed)
    assert (weights[~allowed] == 0).all()
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0)
    assert likelihood[1] >= likelihood[0] >= likelihood[2]
    assert likelihood[2] == pytest.approx(500 * np.log(1 / 200))
    alone, _ = fit_weights(counts[None], parts[:, [0, 2]], np.ones((1, 2), dtype=bool))
    np.testing.assert_allclose(weights[0, [0, 2]], alone[0], atol=1e-6)


def test_equal_parts_share() -> None:
    """Where two parts are the same, any split is a maximum; the sum is what is fitted."""
    counts, parts = problem(9)
    twice = np.concatenate([parts, parts[:, 2:3]], axis=1)
    one, likelihood = fit_weights(counts[None], parts, np.ones((1, 5), dtype=bool))
    other, same = fit_weights(counts[None], twice, np.ones((1, 6), dtype=bool))
    assert same[0] == pytest.approx(likelihood[0], abs=1e-3)
    assert other[0, 2] + other[0, 5] == pytest.approx(one[0, 2], abs=2e-3)


def test_an_impossible_answer_is_refused() -> None:
    with pytest.raises(OptionError, match="no probability"):
        fit_weights(np.array([[1.0, 1.0]]), np.array([[1.0, 0.5], [0.0, 0.5]]), np.array([[True, False]]))

"""Test the correction of metrics for the number of responses against formulas, loops and simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from spotball_core.metrics import sampling
from spotball_core.metrics.inputs import ratio
from spotball_core.typing import FloatArray

some_counts = st.lists(st.lists(st.integers(0, 9), min_size=5, max_size=5), min_size=1, max_size=4).map(
    lambda rows: np.array(rows, dtype=float)
)
ONE_RESPONSE = np.array([[1.0, 0.0], [0.0, 0.0]])


@given(some_counts, st.integers(0, 99), st.sampled_from([1.0, 1000.0, 1e9]))
def test_drawn_responses_are_a_subset_of_the_given_size(mass: FloatArray, seed: int, times: float) -> None:
    rng = np.random.default_rng(seed)
    mass = mass * times
    n = rng.integers(0, mass.sum(axis=-1) + 1)
    drawn = sampling.drawn(mass, n, rng, draws=3)
    assert drawn.shape == (3, *mass.shape)
    assert (drawn.sum(axis=-1) == n).all()
    assert ((drawn >= 0) & (drawn <= mass)).all()


@pytest.mark.parametrize(("total", "n"), [(10, 4), (10, 9), (1000, 300), (4 * 10**9, 10**9)])
def test_drawn_counts_have_hypergeometric_mean_and_variance(total: int, n: int) -> None:
    share, draws = np.array([0.6, 0.3, 0.1]), 20_000
    drawn = sampling.drawn(total * share, np.asarray(n), np.random.default_rng(0), draws=draws)
    variance = n * share * (1 - share) * (total - n) / (total - 1)
    # Five standard errors of the mean and of the variance.
    assert (np.abs(drawn.mean(axis=0) - n * share) < 5 * np.sqrt(variance / draws)).all()
    assert (np.abs(drawn.var(axis=0) / variance - 1) < 5 * np.sqrt(2.5 / draws)).all()


def test_drawn_pairs_of_cells_have_the_probabilities_of_all_subsets() -> None:
    mass, draws = np.array([2.0, 2.0, 1.0]), 50_000
    drawn = sampling.drawn(mass, np.asarray(3), np.random.default_rng(1), draws=draws)
    ways = [np.bincount(way, minlength=3) for way in itertools.combinations([0, 0, 1, 1, 2], 3)]
    for way in np.unique(ways, axis=0):
        expected = np.mean([(each == way).all() for each in ways])
        assert (drawn == way).all(axis=-1).mean() == pytest.approx(expected, abs=0.01)


@given(some_counts, st.integers(0, 99))
def test_halves_are_disjoint_and_equally_large(mass: FloatArray, seed: int) -> None:
    first, second = sampling.halves(mass, np.random.default_rng(seed), draws=3)
    assert first.shape == second.shape == (3, *mass.shape)
    assert (np.minimum(first, second) >= 0).all()
    assert (first + second <= mass).all()
    assert (first.sum(axis=-1) == mass.sum(axis=-1) // 2).all()
    assert (second.sum(axis=-1) == mass.sum(axis=-1) // 2).all()


def test_halves_of_counts_have_equal_means_and_variances_and_halves_of_probabilities_are_unchanged() -> None:
    """Check 3 and 2 responses to two cells: a half has 2 responses, on average 1.2 and 0.8, and one is excluded."""
    for half in sampling.halves(np.array([3.0, 2.0]), np.random.default_rng(1), draws=20_000):
        np.testing.assert_allclose(half.mean(axis=0), [1.2, 0.8], atol=0.02)
        np.testing.assert_allclose(half.var(axis=0), 2 * 0.6 * 0.4 * 3 / 4, atol=0.02)
    mass = np.array([[0.5, 0.5], [1.0, 0.0]])
    for half in sampling.halves(mass, np.random.default_rng(0), draws=2):
        np.testing.assert_array_equal(half, np.broadcast_to(mass, (2, 2, 2)))


def test_splits_in_batches_return_all_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    mass = np.array([[4.0, 4.0], [5.0, 0.0]])
    monkeypatch.setattr(sampling, "_BATCH", 2 * mass.nbytes)
    assert list(sampling._in_batches(5, mass)) == [2, 2, 1]
    pairs = list(sampling.splits(mass, seed=0, draws=5))
    assert len(pairs) == 5
    assert {half.shape for pair in pairs for half in pair} == {(2, 2)}


def agreement(mass: FloatArray) -> FloatArray:
    """Return the probability that two responses drawn with replacement agree. Its bias is (1 - agreement) / n."""
    return np.asarray((ratio(mass, mass.sum(axis=-1, keepdims=True)) ** 2).sum(axis=-1))


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_extrapolated_is_unbiased_for_an_error_proportional_to_1_over_n(n: int) -> None:
    """Check that the mean over draws is the unbiased estimate: the fraction of pairs of responses that agree."""
    mass = np.random.default_rng(n).multinomial(n, [0.5, 0.3, 0.2]).astype(float)[None]
    cells = [cell for cell, times in enumerate(mass[0]) for _ in range(int(times))]
    pairs = list(itertools.combinations(cells, 2))
    expected = sum(a == b for a, b in pairs) / len(pairs)
    found = sampling.extrapolated(agreement, mass, draws=4000)
    assert found[0] == pytest.approx(expected, abs=0.03)
    assert np.isnan(sampling.extrapolated(agreement, ONE_RESPONSE)).all()


def test_of_few_equals_the_mean_over_all_subsets_of_the_responses() -> None:
    mass = np.array([[5.0, 3.0, 2.0]])
    cells = [0] * 5 + [1] * 3 + [2] * 2
    ways = [np.bincount(way, minlength=3) for way in itertools.combinations(cells, sampling.FEW)]
    expected = np.mean([agreement(way.astype(float)) for way in ways])
    assert sampling.of_few(agreement, mass, draws=1000)[0] == pytest.approx(expected, abs=0.003)
    # A row of counts is treated as counts even if another row has probabilities. All 8 of 8 responses are drawn each
    # time, so the result is not random.
    mass = np.array([[[4.0, 3.0, 1.0]], [[0.5, 0.25, 0.25]]])
    assert sampling.of_few(agreement, mass)[0, 0] == pytest.approx((4**2 + 3**2 + 1) / 8**2)


def test_of_few_does_not_depend_on_the_number_of_responses() -> None:
    rng, shares = np.random.default_rng(2), np.array([0.4, 0.3, 0.2, 0.1])
    drawn = [rng.multinomial(n, shares, size=4000).astype(float) for n in (8, 20, 150)]
    means = [sampling.of_few(agreement, mass).mean() for mass in (*drawn, np.broadcast_to(shares, (4000, 4)))]
    assert np.ptp(means) < 0.006
    assert np.isnan(sampling.of_few(agreement, np.array([[4.0, 3.0]]))[0])


def entropy_by_loops(row: list[int]) -> float:
    """Return the entropy by eq. 7 of Chao, Wang and Jost (2013), computed with plain loops."""
    n, once, twice = sum(row), row.count(1), row.count(2)
    value = sum(x / n * sum(1 / k for k in range(x, n)) for x in row if x)
    if twice:
        a = 2 * twice / ((n - 1) * once + 2 * twice)
    elif once:
        a = 2 / ((n - 1) * (once - 1) + 2)
    else:
        return value
    if once and a < 1:
        rest = -math.log(a) - sum((1 - a) ** r / r for r in range(1, n))
        value += once / n * (1 - a) ** (1 - n) * rest
    return value


@given(st.lists(st.integers(0, 6), min_size=2, max_size=12).filter(lambda row: 2 <= sum(row) <= 30))
def test_entropy_equals_the_chao_wang_jost_estimator_computed_with_loops(row: list[int]) -> None:
    found = float(sampling.entropy(np.array([row], dtype=float))[0])
    assert found == pytest.approx(entropy_by_loops(row), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    "row", [[1] + [2] * 30, [1, 1] + [2] * 25 + [7], [1, 2, 40], [1, 2, 2], [1] + [2] * 20 + [60_000], [1, 2, 200_000]]
)
def test_entropy_of_unseen_cells_is_not_lost_in_rounding(row: list[int]) -> None:
    """Compute the expected value as a sum from r = n on: the logarithm and the sum to n - 1 agree to 18 digits here."""
    n, once, twice = sum(row), row.count(1), row.count(2)
    named = sum(x / n * sum(1 / k for k in range(x, n)) for x in row)
    b = 1 - 2 * twice / ((n - 1) * once + 2 * twice)
    unseen = once / n * math.fsum(b ** (k + 1) / (n + k) for k in range(3000 + 20 * n))
    # The unseen part is compared separately, because it is small compared with the rest.
    assert sampling.entropy(np.array([row], dtype=float))[0] - named == pytest.approx(unseen, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize(("n", "most"), [(10, 0.25), (20, 0.12), (50, 0.06), (150, 0.02)])
def test_entropy_of_random_counts_has_a_small_bias(n: int, most: float) -> None:
    rng = np.random.default_rng(n)
    shares = rng.dirichlet(np.full(60, 0.2), 300)
    truth = -(shares * np.log(np.maximum(shares, 1e-300))).sum(axis=-1)
    found = sampling.entropy(np.stack([rng.multinomial(n, row) for row in shares]).astype(float))
    assert abs((found - truth).mean()) < most


def test_entropy_of_one_response_is_nan_and_of_millions_of_responses_is_close_to_the_true_entropy() -> None:
    assert np.isnan(sampling.entropy(ONE_RESPONSE)).all()
    for n in (2e6, 2e9):
        many = sampling.entropy(np.array([[n, n, 1.0]]))
        assert many[0] == pytest.approx(math.log(2), abs=1e-4)
    # Both sides of the limit between the table of harmonic numbers and their expansion.
    for row in ([9999, 1], [10_000, 1], [5000, 5001, 1]):
        assert sampling.entropy(np.array([row], dtype=float))[0] == pytest.approx(entropy_by_loops(row), rel=1e-9)


def test_distance_at_any_size_equals_values_computed_by_hand() -> None:
    """Check rho = 1.5 from reference distances 2 and 2 sqrt(1.5): with 5 (all) and 7 (halves), 25 - 24 / 0.5 = -23."""
    alone = np.array([5.0, 7.0, 2.0, 2.0 * math.sqrt(1.5), 0.1, 0.1, 1.0])
    assert sampling.distance_at_any_size(alone) == pytest.approx(-math.sqrt(23))
    far = np.array([10.0, 10.5, 2.0, 2.0 * math.sqrt(1.5), 0.1, 0.1, 1.0])
    assert sampling.distance_at_any_size(far) == pytest.approx(math.sqrt(100 - 10.25 / 0.5))
    # If 1/n + 1/k is half as large, the difference of rho from 2 is also half as large, so rho is 1.75.
    larger = np.array([10.0, 10.5, 2.0, 2.0 * math.sqrt(1.5), 0.05, 0.1, 1.0])
    assert sampling.distance_at_any_size(larger) == pytest.approx(math.sqrt(100 - 10.25 / 0.75))
    # Two equal images give the same value as one. No images give NaN. Without noise, there is no correction.
    assert sampling.distance_at_any_size(2 * far) == pytest.approx(sampling.distance_at_any_size(far))
    assert np.isnan(sampling.distance_at_any_size(np.zeros(7)))
    assert sampling.distance_at_any_size(np.array([3.0, 3.0, 0.0, 0.0, 0.0, 0.0, 1.0])) == 3.0


@given(some_counts, st.integers(0, 99))
def test_shared_draws_give_the_same_values_as_separate_draws(mass: FloatArray, seed: int) -> None:
    """Check that a second metric can reuse draws, and that other responses and seeds get different draws."""
    shared = sampling.SharedDraws()

    def gap(p: FloatArray, q: FloatArray) -> FloatArray:
        return np.asarray(np.abs(p / p.sum(axis=-1, keepdims=True) - q / q.sum(axis=-1, keepdims=True)).sum(axis=-1))

    for responses, of_seed in ((mass, seed), (mass, seed), (mass + 1, seed), (mass, seed + 1)):
        for estimate in (sampling.extrapolated, sampling.of_few):
            alone = estimate(agreement, responses, seed=of_seed)
            np.testing.assert_array_equal(estimate(agreement, responses, seed=of_seed, shared=shared), alone)
        sides, choices = (responses, mass[::-1]), {"seed": of_seed, "draws": 2}
        alone = sampling.distance_sums(gap, *sides, **choices)
        np.testing.assert_array_equal(sampling.distance_sums(gap, *sides, **choices, shared=shared), alone)


def test_shared_draws_are_computed_once_and_stored_up_to_the_memory_limit() -> None:
    shared, mass = sampling.SharedDraws(), np.full((2, 3), 4.0)
    first = shared.of(sampling.splits, mass, seed=0, draws=2)
    assert shared.of(sampling.splits, mass.copy(), seed=0, draws=2) is first
    assert shared.of(sampling.splits, mass, seed=0, draws=3) is not first
    # Two draws of two halves of 48 bytes each need 192 bytes.
    few, enough = sampling.SharedDraws(most=191), sampling.SharedDraws(most=192)
    stored = [draws.of(sampling.splits, mass, seed=0, draws=2) for draws in (few, enough)]
    assert isinstance(stored[1], list)
    assert not isinstance(stored[0], list)
    np.testing.assert_array_equal(list(stored[0]), stored[1])
    assert few.of(sampling.splits, mass, seed=0, draws=2) is not stored[0]


def test_extrapolated_and_of_few_have_the_default_seed_0() -> None:
    mass = np.random.default_rng(6).multinomial(9, np.full(5, 0.2), 4).astype(float)
    for function in (sampling.extrapolated, sampling.of_few):
        values = [function(agreement, mass, **seed) for seed in ({}, {"seed": 0}, {"seed": 1})]
        assert (values[0] == values[1]).all()
        assert (values[0] != values[2]).any()


def test_distance_sums_with_a_probability_reference_draw_as_many_responses_as_the_respondent_has() -> None:
    """Check 1/n + 1/k with infinite k: the respondent has 10 responses, and 10 are drawn from the reference."""

    def distance(p: FloatArray, q: FloatArray) -> FloatArray:
        return np.zeros(np.broadcast_shapes(p.shape, q.shape)[:-1])

    sums = sampling.distance_sums(distance, np.array([[6.0, 4.0]]), np.array([[0.5, 0.5]]), seed=0, draws=2)
    assert sums[0, 4:].tolist() == [0.1, 0.1, 1.0]

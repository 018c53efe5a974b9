"""Test adaptive answers: rounds, allocations, and that the estimate has no bias."""

from __future__ import annotations

import numpy as np
import pytest

from spotball_core.errors import OptionError
from spotball_core.metrics.registry import METRICS
from spotball_core.planning.adaptive import allocation, combined, round_sizes
from tests.failures import raises
from tests.planning.test_components import HIT, MISS, estimator_of, hits


@pytest.mark.parametrize(
    ("answers", "sizes"), [(6, (5, 1)), (20, (5, 5, 10)), (50, (5, 5, 10, 30)), (150, (5, 5, 10, 20, 40, 70))]
)
def test_all_answers_double_from_round_to_round(answers: int, sizes: tuple[int, ...]) -> None:
    assert round_sizes(answers) == sizes
    assert sum(sizes) == answers


def test_fewer_answers_than_the_first_round_are_an_error() -> None:
    with raises(OptionError, "invalid-option:--samples"):
        round_sizes(5)


def test_allocation_is_proportional_to_the_standard_deviation_of_the_answers() -> None:
    # The standard deviations of hits are 0.5, 0.3 and 0.
    found = allocation(estimator_of(hits((50_000, 50_000), (10_000, 90_000), (0, 100_000))), METRICS["accuracy"], 27)
    assert found.tolist() == [50, 30, 1]


def test_allocation_after_few_equal_answers_is_between_none_and_the_mean() -> None:
    found = allocation(estimator_of(hits((5, 0), (0, 5), (2, 3), (3, 2))), METRICS["accuracy"], 25)
    assert found.sum() == 100
    assert found[0] == found[1] > 5
    assert found[2] == found[3] > 25


@pytest.mark.parametrize("counts", [((0, 5),) * 3, ((1, 0),) * 3])
def test_allocation_is_even_if_no_answers_differ_or_no_image_has_two(counts: tuple[tuple[int, int], ...]) -> None:
    assert allocation(estimator_of(hits(*counts)), METRICS["accuracy"], 7).tolist() == [7, 7, 7]


@pytest.mark.parametrize("key", ["center_ratio", "image_entropy_matched"])
def test_allocation_for_other_metrics_is_an_error(key: str) -> None:
    with raises(OptionError, "invalid-option:--adaptive"):
        allocation(estimator_of(hits((3, 2), (1, 4))), METRICS[key], 5)


@pytest.mark.slow
def test_combined_estimate_is_unbiased_although_the_mean_of_all_answers_is_not() -> None:
    rng, p = np.random.default_rng(0), np.array([0.02, 0.05, 0.1, 0.2, 0.4, 0.6])
    sizes, estimates, plain = round_sizes(20), [], []
    for _ in range(500):
        right, n, means = np.zeros(6, dtype=int), np.zeros(6, dtype=int), []
        for size in sizes:
            new = np.full(6, size)
            if n.any():
                new = allocation(estimator_of(hits(*zip(right, n - right, strict=True))), METRICS["accuracy"], size)
            drawn = rng.binomial(new, p)
            means.append(drawn / new)
            right, n = right + drawn, n + new
        assert n.sum() == 6 * 20
        estimates.append(combined(means, sizes).mean())
        plain.append((right / n).mean())
    error = np.std(estimates) / np.sqrt(len(estimates))
    assert abs(np.mean(estimates) - p.mean()) < 4 * error
    bias = np.subtract(plain, estimates)
    assert bias.mean() < -4 * bias.std() / np.sqrt(len(bias))
    # Less noise than 20 answers for each image have.
    assert np.var(estimates) < 0.97 * (p * (1 - p)).mean() / 20 / 6


def test_unparsed_answers_count_as_answers() -> None:
    mass = np.zeros((2, 60))
    mass[:, HIT], mass[:, MISS] = [500, 500], [500, 0]
    found = allocation(estimator_of(mass, np.array([0.0, 500.0])), METRICS["accuracy"], 10)
    assert found.tolist() == [10, 10]

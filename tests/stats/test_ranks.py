"""Test ranks and their joint intervals: known ranks, missing values, and coverage."""

from __future__ import annotations

import numpy as np
import pytest

from spotball_core.stats.bootstrap import rank_intervals, resample_weights

FAR, NEAR = np.array([0.9, 0.1, 0.5]), np.array([0.50, 0.51, 0.1])


def drawn(values: np.ndarray, sd: float, seed: int = 0) -> np.ndarray:
    return values[:, None] + np.random.default_rng(seed).normal(0, sd, (len(values), 1000))


def ranks(values: np.ndarray, resampled: np.ndarray, *, highest_first: bool = True) -> tuple[list[int], ...]:
    found = rank_intervals(values, resampled, highest_first=highest_first, n_units=50)
    return found.rank.tolist(), found.low.tolist(), found.high.tolist()


def test_rank_intervals_of_distant_values_have_one_rank_each_and_those_of_close_values_overlap() -> None:
    assert ranks(FAR, drawn(FAR, 0.01)) == ([1, 3, 2],) * 3
    assert ranks(FAR, drawn(FAR, 0.01), highest_first=False) == ([3, 1, 2],) * 3
    assert ranks(NEAR, drawn(NEAR, 0.03)) == ([2, 1, 3], [1, 1, 3], [2, 2, 3])
    # Equal values share the best of their ranks.
    values = np.array([0.5, 0.5, 0.2])
    assert ranks(values, drawn(values, 0.01))[0] == [1, 1, 3]


def test_rank_intervals_are_not_widened_by_noise_that_all_values_share() -> None:
    values = np.array([0.4, 0.5])
    shared = np.random.default_rng(0).normal(0, 0.2, (1, 1000))
    own = np.random.default_rng(1).normal(0, 0.005, (2, 1000))
    assert ranks(values, values[:, None] + shared + own)[2] == [2, 1]


def test_rank_intervals_skip_nan_resamples_and_span_all_ranks_without_valid_resamples() -> None:
    for n_resamples in (0, 1):
        assert ranks(FAR, np.zeros((3, n_resamples)))[1:] == ([1, 1, 1], [3, 3, 3])
    resampled = drawn(FAR, 0.01)
    resampled[1, ::2] = np.nan
    assert ranks(FAR, resampled)[1:] == ranks(FAR, resampled[:, 1::2])[1:]


@pytest.mark.parametrize("truth", [[0.1] * 6, [0.1, 0.1, 0.2, 0.2, 0.4, 0.5]])
def test_rank_intervals_cover_all_true_ranks_in_95_percent_of_simulations(truth: list[float]) -> None:
    # The 200 simulated benchmarks have 50 images each, with the same difficulty for all respondents. If the true
    # coverage is 95%, fewer than 91% of 200 intervals cover the ranks in 1 of 100 runs.
    rng, share = np.random.default_rng(7), np.array(truth)
    best = 1 + (share[None] > share[:, None]).sum(axis=1)
    worst = len(share) - (share[None] < share[:, None]).sum(axis=1)
    weights = resample_weights(50, 300) / 50
    held = 0
    for _ in range(200):
        images = rng.binomial(20, np.clip(share + rng.normal(0, 0.1, (50, 1)), 0.01, 0.99)) / 20
        found = rank_intervals(images.mean(axis=0), (weights @ images).T, highest_first=True, n_units=50)
        held += bool(((found.low <= best) & (found.high >= worst)).all())
    assert held / 200 >= 0.91

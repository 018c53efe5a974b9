"""Test confidence sequences: coverage at every time, and against capital computed in a plain loop."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spotball_core.stats.sequences import confidence_sequence


def plain_capital(values: list[float], m: float, alpha: float) -> list[float]:
    """Return the larger capital of both gamblers after each value, each of whom starts with 1/2."""
    up = down = 0.5
    total, squares, found = 0.5, 0.25, []
    for n, x in enumerate(values, start=1):
        variance = squares / n
        bet = math.sqrt(2 * math.log(2 / alpha) / (variance * n * math.log(1 + n)))
        up *= 1 + min(bet, 0.5 / m) * (x - m)
        down *= 1 - min(bet, 0.5 / (1 - m)) * (x - m)
        total += x
        squares += (x - total / (n + 1)) ** 2
        found.append(max(up, down))
    return found


def test_interval_contains_the_candidates_whose_capital_stayed_below_the_limit() -> None:
    values = np.random.default_rng(0).beta(2, 5, 60)
    ends = confidence_sequence(values, low=0.0, high=1.0, alpha=0.1)
    for m in np.linspace(0.02, 0.98, 49):
        most = np.maximum.accumulate(plain_capital(values.tolist(), float(m), 0.1))
        for n in (5, 20, 60):
            low, high = ends[n - 1]
            # The ends are rounded outward by at most two candidates.
            if most[n - 1] < 10:
                assert low <= m <= high
            else:
                assert not low + 0.0015 < m < high - 0.0015


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "mean"), [("accuracy", 0.1), ("uniform", 0.5), ("rare", 0.02)])
def test_sequence_misses_the_mean_at_any_time_in_at_most_5_percent(kind: str, mean: float) -> None:
    rng, missed, runs = np.random.default_rng(0), 0, 300
    for _ in range(runs):
        if kind == "accuracy":
            values = rng.binomial(5, rng.beta(0.5, 4.5, 200)) / 5
        else:
            values = rng.random(200) if kind == "uniform" else (rng.random(200) < 0.02).astype(float)
        ends = confidence_sequence(values, low=0.0, high=1.0)
        missed += bool(((ends[:, 0] > mean) | (ends[:, 1] < mean)).any())
    assert missed / runs <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / runs)


def test_sequence_narrows_and_scales_with_the_bounds() -> None:
    values = np.random.default_rng(0).random(300)
    ends = confidence_sequence(values, low=0.0, high=1.0)
    width = ends[:, 1] - ends[:, 0]
    assert (np.diff(width) <= 1e-12).all()
    # About 1.5 times as wide as an interval for one look at the data.
    assert width[-1] < 2 * 2 * 1.96 * values.std() / math.sqrt(300)
    assert confidence_sequence(10 + 5 * values, low=10.0, high=15.0) == pytest.approx(10 + 5 * ends)


def test_sequence_of_no_values_is_empty() -> None:
    assert confidence_sequence(np.empty(0), low=0.0, high=1.0).shape == (0, 2)

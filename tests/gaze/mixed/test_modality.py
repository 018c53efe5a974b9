"""Test that two clusters of random intercepts are detected, and that one cluster is not reported as two."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from scipy.special import expit

from spotball_core.errors import OptionError
from spotball_core.gaze.mixed import Bimodality, bimodal, design, fit
from tests.failures import raises
from tests.gaze.mixed.plain import Array

Shape = Callable[[np.random.Generator, int], Array]

ONE: dict[str, Shape] = {
    "narrow": lambda draw, n: 0.5 * draw.normal(size=n),
    "wide": lambda draw, n: 3 * draw.normal(size=n),
    "uniform": lambda draw, n: draw.uniform(-2, 2, n),
    "skewed": lambda draw, n: draw.exponential(1.2, n) - 1.2,
    "heavy tails": lambda draw, n: draw.standard_t(3, n),
}
TWO: dict[str, Shape] = {
    "near": lambda draw, n: np.where(draw.random(n) < 0.5, 2.5, -2.5) + draw.normal(size=n),
    "far": lambda draw, n: np.where(draw.random(n) < 0.4, 4.0, -4.0) + draw.normal(size=n),
    "decided": lambda draw, n: np.where(draw.random(n) < 0.5, 40.0, -40.0),
}


def looked_at(shape: Shape, seed: int, *, stimuli: int = 400, answers: int = 16) -> Bimodality:
    draw = np.random.default_rng(seed)
    stimulus, prompt = (index.ravel() for index in np.mgrid[:stimuli, :answers])
    x = draw.integers(1, 4, stimuli)[stimulus]
    eta = 0.3 - 0.2 * x + shape(draw, stimuli)[stimulus] + 0.2 * draw.normal(size=answers)[prompt]
    y = (draw.random(eta.size) < expit(eta)).astype(float)
    return bimodal(fit(y, design(pl.DataFrame({"x": x}), ["x"]), {"stimulus": stimulus, "prompt": prompt}), "stimulus")


@pytest.mark.slow
@pytest.mark.parametrize("shape", ONE)
def test_bimodal_is_false_for_one_cluster(shape: str) -> None:
    assert not any(looked_at(ONE[shape], seed).bimodal for seed in range(4))


@pytest.mark.slow
@pytest.mark.parametrize("shape", TWO)
def test_bimodal_is_true_for_two_clusters(shape: str) -> None:
    assert all(looked_at(TWO[shape], seed).bimodal for seed in range(4))


def test_bimodal_estimates_the_positions_and_shares_of_two_clusters() -> None:
    found = looked_at(TWO["far"], 0, stimuli=800)
    assert found.group == "stimulus"
    assert found.evidence > 100
    assert found.modes[1] - found.modes[0] == pytest.approx(8, abs=1)
    assert found.shares[1] == pytest.approx(0.4, abs=0.06)
    assert sum(found.shares) == pytest.approx(1)
    assert found.sd == pytest.approx(1, abs=0.4)


def test_bimodal_counts_levels_with_identical_answers() -> None:
    """Check four stimuli, of which one is always right and two are never right."""
    y = np.concatenate([np.ones(8), np.zeros(16), np.tile([0.0, 1.0], 4)])
    stimulus = np.arange(4).repeat(8)
    found = bimodal(fit(y, design(pl.DataFrame({"x": y})), {"stimulus": stimulus}), "stimulus")
    assert (found.always, found.never) == (0.25, 0.5)


def test_bimodal_with_an_unknown_group_is_an_error() -> None:
    y = np.tile([0.0, 1.0, 1.0], 20)
    found = fit(y, design(pl.DataFrame({"x": y})), {"stimulus": np.arange(60) // 6})
    with raises(OptionError, "unknown-name"):
        bimodal(found, "prompt")

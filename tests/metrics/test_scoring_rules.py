"""Test scoring rules against cases computed by hand and plain loops, and test that they are proper."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from spotball_core import brier_score, energy_score, expected_error, log_score
from spotball_core.errors import OptionError
from spotball_core.grid import Grid
from tests.failures import raises

from .strategies import Array, ImageCounts, counts, distances, grids, items, masses

GRID = Grid(2, 3, 30, 40)  # cells of 10 x 20 pixels: A1 A2 A3 over B1 B2 B3


def probabilities(item: ImageCounts) -> tuple[list[float], list[float]]:
    total, n_true = sum(item.counts), sum(1 for ball in item.truth if ball)
    return [count / total for count in item.counts], [ball / n_true for ball in item.truth]


def test_log_score_equals_values_computed_by_hand() -> None:
    # Half of the answers are in the two cells of the ball, and the grid has six cells: 0.9 * 0.5 + 0.1 * 2 / 6.
    found = log_score([1, 1, 0, 0, 0, 2], GRID.mask(["A1", "A2"]), smoothing=0.1)
    assert found == pytest.approx(-math.log(0.9 * 0.5 + 0.1 * 2 / 6), rel=1e-14)
    # No answer is in the only cell of the ball, so its smoothed probability, with 60 cells, is 0.01 / 60.
    assert log_score(["A1"], ["D5"]) == pytest.approx(math.log(60 / 0.01), rel=1e-14)


@given(item=items(), smoothing=st.floats(1e-6, 1))
def test_log_score_equals_a_plain_loop(item: ImageCounts, smoothing: float) -> None:
    p, _ = probabilities(item)
    shares = [(1 - smoothing) * share + smoothing / len(p) for share, ball in zip(p, item.truth, strict=True) if ball]
    found = log_score(item.counts, item.truth, smoothing=smoothing)
    assert found == pytest.approx(-math.log(sum(shares)), rel=1e-9, abs=1e-12)
    assert 0 <= found <= math.log(len(p) / smoothing) + 1e-12
    assert math.copysign(1, found) == 1


def test_log_score_of_a_wrong_answer_is_finite_and_of_a_ball_in_all_cells_is_0_and_not_negative() -> None:
    assert math.isfinite(log_score("A1", "D5", smoothing=1e-300))
    # If the ball is in all cells, the score is 0. Rounding must not make it -0 or slightly negative.
    for n_cells in range(1, 100):
        found = log_score(np.arange(n_cells) + 1, np.ones(n_cells, dtype=bool), smoothing=0.1)
        assert 0 <= found <= 1e-15
        assert math.copysign(1, found) == 1


@pytest.mark.parametrize("smoothing", [0, -0.1, 1.1, math.nan])
def test_log_score_with_invalid_smoothing_raises_option_error(smoothing: float) -> None:
    with raises(OptionError, "invalid-option:smoothing"):
        log_score(["A1"], ["A1"], smoothing=smoothing)


def test_brier_score_equals_values_computed_by_hand() -> None:
    # p = (1/4, 1/4, 0, 0, 0, 1/2), q = (1/2, 1/2, 0, 0, 0, 0).
    assert brier_score([1, 1, 0, 0, 0, 2], GRID.mask(["A1", "A2"])) == (1 / 4) ** 2 + (1 / 4) ** 2 + (1 / 2) ** 2
    # All answers name one wrong cell: 1 + 1.
    assert brier_score(["A1", "A1"], "D5") == 2
    assert brier_score(["C2", "C3"], {"C3", "C2"}) == 0


def test_energy_score_equals_values_computed_by_hand() -> None:
    # p = (1/4, 0, 0, 3/4, 0, 0) and the ball is in A1: 3/4 * 20 minus half of 2 * 1/4 * 3/4 * 20.
    assert energy_score([1, 0, 0, 3, 0, 0], GRID.mask(["A1"]), grid=GRID) == 15 - 3.75
    # One answer in A1 and the ball in A2 and A3: (10 + 20) / 2, without spread.
    assert energy_score([1, 0, 0, 0, 0, 0], GRID.mask(["A2", "A3"]), grid=GRID) == 15
    assert energy_score(["D5"], ["D5"]) == 0


@given(item=items())
def test_brier_and_energy_scores_equal_plain_loops_and_are_lowest_for_the_distribution_of_the_ball(
    item: ImageCounts,
) -> None:
    p, q = probabilities(item)
    expected = sum((share - true) ** 2 for share, true in zip(p, q, strict=True))
    brier = brier_score(item.counts, item.truth)
    assert brier == pytest.approx(expected, rel=1e-12, abs=1e-15)
    assert 0 <= brier <= 2
    far, scale = distances(item.grid), item.grid.diagonal
    pairs = list(itertools.product(range(len(p)), repeat=2))
    to_ball = sum(p[j] * q[k] * far[j, k] for j, k in pairs)
    spread = sum(p[j] * p[k] * far[j, k] for j, k in pairs)
    found = energy_score(item.counts, item.truth, grid=item.grid)
    assert found == pytest.approx(to_ball - spread / 2, rel=1e-12, abs=1e-12 * scale)
    assert -1e-12 * scale <= found <= expected_error(item.counts, item.truth, grid=item.grid) + 1e-12 * scale
    # The best probabilities are uniform on the cells of the ball.
    ball = item.truth.astype(float)
    assert energy_score(ball, item.truth, grid=item.grid) <= found + 1e-12 * scale
    assert brier_score(ball, item.truth) <= brier + 1e-12


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Grid, Array, Array]:
    """Return a grid, the true chances of each cell, and other probabilities from a respondent."""
    grid = draw(grids(3, 3))
    return grid, draw(counts(grid.n_cells)), draw(masses(grid.n_cells))


@given(world=worlds())
def test_scoring_rules_are_proper_so_true_probabilities_score_best(world: tuple[Grid, Array, Array]) -> None:
    grid, chances, said = world
    chances = chances / chances.sum()
    outcomes = np.eye(grid.n_cells, dtype=bool)
    honest_and_other = np.stack([chances, said])[:, None]  # each is scored for every possible ball cell
    for scores, slack in (
        (energy_score(honest_and_other, outcomes, grid=grid), 1e-12 * grid.diagonal),
        (brier_score(honest_and_other, outcomes), 1e-12),
        # Smoothing with the uniform distribution weakens properness by at most -log(1 - smoothing).
        (log_score(honest_and_other, outcomes, smoothing=0.01), -math.log(0.99) + 1e-12),
    ):
        honest, other = (scores * chances).sum(axis=-1)
        assert honest <= other + slack

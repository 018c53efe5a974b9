"""Test that matched metrics do not depend on the number of responses and keep the order of true distances."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest

from benchmarks.matched_metrics import IMAGES, SIZES, at_distance, crowd, others, pairs_in_order, sampled
from spotball_core.errors import DistributionError, OptionError
from spotball_core.grid import Grid
from spotball_core.metrics import (
    brier_score_matched,
    energy_score_matched,
    image_entropy_matched,
    log_score_matched,
    normalized_entropy,
    normalized_entropy_matched,
    top_k_accuracy_matched,
    wasserstein,
    wasserstein_1d_matched,
    wasserstein_matched,
)
from spotball_core.schema import Scene
from tests.failures import raises


@pytest.mark.slow
def test_wasserstein_matched_orders_respondents_by_their_true_distances() -> None:
    """Simulate 16 benchmarks of respondents of one or several kinds, with 10 to 150 responses per image.

    In 400 benchmarks (docs/assets/matched-metrics.json), the three shares are 0.979, 0.98 and 0.93. For a distance that
    depends on the number of responses, such as `wasserstein`, they are 0.77, 0.71 and 0.63.
    """
    counted = [pairs_in_order(kinds, 8) for kinds in (1, 4)]

    def share(gap: str, sizes: Iterable[int]) -> float:
        right, pairs = np.sum([part[gap][str(size)] for part in counted for size in sizes], axis=0)
        return float(right / pairs)

    assert share("5 px or more", SIZES) >= 0.97
    assert share("exactly 5 px", SIZES[1:]) >= 0.95
    assert share("exactly 5 px", SIZES) >= 0.88


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["center", "uniform", "other images", "other images, sharper"])
@pytest.mark.parametrize("samples", SIZES)
def test_wasserstein_matched_does_not_depend_on_the_number_of_responses(kind: str, samples: int) -> None:
    rng = np.random.default_rng([samples, len(kind)])
    people = crowd(rng, IMAGES)
    shares = at_distance(people, others(rng, people)[kind], 40.0)
    found = [
        wasserstein_matched(sampled(rng, shares, samples), sampled(rng, people, 150), draws=4, seed=seed)
        for seed in range(4)
    ]
    assert np.mean(found) == pytest.approx(40.0, abs=6.0 if samples == 10 else 4.0)


def test_matched_metrics_of_probabilities_equal_the_corresponding_unmatched_metrics() -> None:
    rng = np.random.default_rng(1)
    p, q = crowd(rng, 30), crowd(rng, 30)
    assert wasserstein_matched(p, q) == pytest.approx(wasserstein(p, q).mean())
    assert image_entropy_matched(p) == pytest.approx(normalized_entropy(p).mean())
    assert normalized_entropy_matched(p) == pytest.approx(normalized_entropy(p.sum(axis=0)))
    # With few responses of the reference, only the noise of the reference is removed.
    few = wasserstein_matched(p, sampled(rng, q, 20))
    assert abs(few - wasserstein(p, q).mean()) < 0.5 * abs(wasserstein(p, sampled(rng, q, 20)).mean() - few) + 5


@pytest.mark.slow
def test_matched_scores_top_k_accuracy_and_wasserstein_1d_do_not_depend_on_the_number_of_responses() -> None:
    rng = np.random.default_rng(2)
    shares = np.tile(crowd(rng, 50), (20, 1))
    truth = np.zeros(shares.shape, dtype=bool)
    truth[np.arange(len(shares)), [rng.choice(60, p=row) for row in shares]] = True
    few, many = (sampled(rng, shares, n) for n in (10, 150))
    for function, close in (
        (lambda m: brier_score_matched(m, truth), 0.02),
        (lambda m: energy_score_matched(m, truth), 2.0),
        (lambda m: log_score_matched(m, truth), 0.2),
        (lambda m: top_k_accuracy_matched(m, truth), 0.03),
    ):
        assert np.mean(function(few)) == pytest.approx(np.mean(function(many)), abs=close)
    assert wasserstein_1d_matched(few, many) == pytest.approx(0.0, abs=8.0)


def test_matched_metrics_exclude_images_with_too_few_responses_and_are_nan_if_none_remains() -> None:
    one = np.eye(60)[:3]
    many = np.full((3, 60), 1.0)
    assert np.isnan(wasserstein_matched(one, many))
    assert np.isnan(wasserstein_matched(many, 3 * one))
    assert np.isnan(image_entropy_matched(one))
    assert np.isnan(normalized_entropy_matched(one))
    # The only image with enough responses gives the value.
    two = np.concatenate([one, 10 * np.eye(60)[5:6]])
    assert wasserstein_matched(two, np.concatenate([many, 40 * np.eye(60)[5:6]])) == 0.0
    assert image_entropy_matched([[20, 0], [1, 0]]) == 0
    assert normalized_entropy_matched([[20, 0], [0, 1]]) == 0


@pytest.mark.parametrize("function", [wasserstein_matched, wasserstein_1d_matched])
def test_wasserstein_matched_with_zero_draws_or_unequal_image_counts_raises_an_error(
    function: Callable[..., Any],
) -> None:
    with raises(OptionError, "invalid-option:draws"):
        function(["D5", "D5"], ["D5"] * 4, draws=0)
    with raises(DistributionError, "wrong-shape"):
        function(np.ones((2, 60)), np.ones((3, 60)))


def test_wasserstein_matched_depends_on_the_seed() -> None:
    rng = np.random.default_rng(3)
    p, q = sampled(rng, crowd(rng, 10), 20), sampled(rng, crowd(rng, 10), 40)
    assert wasserstein_matched(p, q) == wasserstein_matched(p, q, seed=0)
    assert wasserstein_matched(p, q) != wasserstein_matched(p, q, seed=1)


def test_matched_metrics_of_labels_on_a_small_grid_equal_values_computed_by_hand() -> None:
    """Use twelve equal answers to one image, so that values do not depend on the random split."""
    grid = Grid(2, 2, 60, 80)
    guesses, reference = ["A1"] * 12, ["B2"] * 12
    assert wasserstein_matched(guesses, reference, grid=grid) == pytest.approx(50)
    assert wasserstein_matched(guesses, reference, grid=grid, unit="diagonal") == pytest.approx(0.5)
    assert wasserstein_1d_matched(guesses, reference, grid=grid) == pytest.approx((30 + 40) / 2)
    assert normalized_entropy_matched(guesses, grid=grid) == 0
    assert image_entropy_matched(guesses, grid=grid) == 0
    assert top_k_accuracy_matched(guesses, "A1", k=1, grid=grid) == 1
    assert log_score_matched(guesses, "A1", smoothing=0.4, grid=grid) == pytest.approx(-np.log(0.6 + 0.4 / 4))
    # The squared errors of the two cells are 1 and 1.
    assert brier_score_matched(guesses, "B2", grid=grid) == pytest.approx(2)
    assert energy_score_matched(guesses, "B2", grid=grid) == pytest.approx(50)
    scene = Scene(sport="soccer", image="1", grid=grid, ball_cells=["B2"])
    assert energy_score_matched(guesses, scene) == pytest.approx(50)
    assert brier_score_matched(guesses, scene) == pytest.approx(2)


def test_matched_metrics_of_several_respondents_equal_those_of_each_respondent_alone() -> None:
    """Use probabilities, which are not split, so that each value equals that of the respondent alone."""
    rng = np.random.default_rng(4)
    grid, people, several = Grid(2, 3, 30, 40), rng.dirichlet(np.ones(6), 5), rng.dirichlet(np.ones(6), (3, 5))
    several[1, 2] = 0.0
    for function in (wasserstein_matched, wasserstein_1d_matched):
        alone = [float(function(each, people, grid=grid, draws=1)) for each in several]
        assert function(several, people, grid=grid, draws=1) == pytest.approx(alone)
    for function in (normalized_entropy_matched, image_entropy_matched):
        assert function(several) == pytest.approx([float(function(each)) for each in several])


def test_normalized_entropy_matched_equals_values_computed_by_hand() -> None:
    """Use two images with one answer A and one answer B each. In half of the splits, the answers of a half are equal.

    The entropy is 1 for all answers and 1/2 on average for halves, so the matched entropy is 1 + (2 / 2) (1 - 1/2).
    """
    mass = [[1, 1], [1, 1]]
    assert normalized_entropy_matched(mass, draws=400) == pytest.approx(1.5, abs=0.1)
    # With three answers to each of three images, a half has one answer per image: 3 of 9 answers, so the weight is
    # 3 / (9 - 3).
    thrice = [[3, 0], [0, 3], [2, 1]]
    ways = [(2 / 3, [2, 1]), (1 / 3, [1, 2])]
    half = sum(share * float(normalized_entropy(cells)) for share, cells in ways)
    whole = float(normalized_entropy([5, 4]))
    expected = whole + 3 / 6 * (whole - half)
    assert normalized_entropy_matched(thrice, draws=100) == pytest.approx(expected)
    # Constant responses need no correction.
    fixed = 20 * np.eye(60)[:30]
    assert normalized_entropy_matched(fixed) == pytest.approx(float(normalized_entropy(fixed.sum(axis=0))))

"""Test p values and intervals of one metric against SciPy, values computed by hand, and simulations."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from spotball_core.comparison.pairs import MetricPair, pair_of
from spotball_core.metrics.metric import Metric
from spotball_core.metrics.registry import METRICS
from spotball_core.schema import ScorePolicy
from spotball_core.scoring.estimates import Answers, Estimator, SceneArrays
from spotball_core.stats.bootstrap import percentile_interval, resample_weights
from spotball_core.stats.permutation import Swaps
from spotball_core.typing import FloatArray
from tests.conftest import THOROUGH
from tests.stats.build import drawn, scenes, varied_scenes


def pair_of_means(a: FloatArray, b: FloatArray) -> MetricPair:
    """Return the pair of a metric that is the mean over images, from the values of both respondents per image."""
    values = np.stack([a, b])
    sums = np.stack([values, np.ones_like(values)], axis=-1)
    return MetricPair(sums, sums[::-1], lambda s: s[..., 0] / s[..., 1], np.ones(len(a), dtype=bool), values)


def estimator_of(n: int, *, varied: bool = False, reference: FloatArray | None = None) -> Estimator:
    known = varied_scenes(n) if varied else scenes(n)
    policy = ScorePolicy.standard(reference="people" if reference is not None else None, bootstrap=0)
    nothing = np.zeros((n, 60))
    answers = Answers(nothing, nothing[:, 0], reference, False, np.ones(n, dtype=bool), None)
    return Estimator(SceneArrays(known, tau=0.08, theta=0.02), np.arange(n), answers, policy)


def test_exact_p_value_of_three_images_equals_the_value_computed_by_hand() -> None:
    # The differences 2, 3, -1 add up to 4. The eight sign patterns give absolute sums 4, 4, 6, 6, 2, 2, 0, 0, and
    # four of these are at least 4.
    pair = pair_of_means(np.array([3.0, 5.0, 4.0]), np.array([1.0, 2.0, 5.0]))
    assert pair.totals.tolist() == [4.0, pytest.approx(8 / 3)]
    assert pair.p_value(Swaps(3, 8)) == 0.5


def test_exact_p_value_equals_the_permutation_test_of_scipy() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        a, b = rng.normal(0.4, 1, 9), rng.normal(0, 1, 9)
        options = {"permutation_type": "samples", "n_resamples": np.inf}
        theirs = stats.permutation_test((a, b), lambda x, y: np.mean(x) - np.mean(y), **options)
        assert pair_of_means(a, b).p_value(Swaps(9, 512)) == pytest.approx(theirs.pvalue, abs=1e-12)


def test_p_value_of_random_swaps_is_close_to_that_of_the_paired_t_test() -> None:
    rng = np.random.default_rng(1)
    for shift in (0.0, 0.2, 0.35):
        a, b = rng.normal(shift, 1, 80), rng.normal(0, 1, 80)
        pair = pair_of_means(a, b)
        assert pair.p_value(Swaps(80, 20_000)) == pytest.approx(stats.ttest_rel(a, b).pvalue, abs=0.015)


def test_p_value_of_differences_equal_up_to_rounding_is_1() -> None:
    a = np.array([0.1, 0.2, 0.7, 0.3])
    assert pair_of_means(a, a).p_value(Swaps(4, 16)) == 1.0
    assert pair_of_means(a, a).p_value(Swaps(4, 10)) == 1.0
    # 0.1 + 0.2 is not 0.3 in floating point, but every swap has the same absolute difference in exact arithmetic.
    assert pair_of_means(np.array([0.1 + 0.2, 0.0]), np.array([0.0, 0.3])).p_value(Swaps(2, 4)) == 1.0


def test_p_values_are_uniform_under_the_null_hypothesis() -> None:
    """Check with skewed values that are exchangeable within images."""
    rng = np.random.default_rng(2)
    p_values = []
    for seed in range(400):
        level = rng.exponential(1, 25)
        a, b = level * rng.exponential(1, 25), level * rng.exponential(1, 25)
        p_values.append(pair_of_means(a, b).p_value(Swaps(25, 399, seed)))
    assert stats.kstest(p_values, "uniform").pvalue > 0.01
    assert np.mean(np.array(p_values) <= 0.05) == pytest.approx(0.05, abs=0.03)


@pytest.mark.parametrize("key", ["accuracy", "center_ratio"])
def test_p_values_are_uniform_if_one_respondent_has_more_responses(key: str) -> None:
    """Check with two equal respondents, 20 and 150 responses per image, on images of very different difficulty.

    If swaps exchanged the numbers of responses too, image weights would change and few p values would be small.
    """
    n, rng = 30, np.random.default_rng(3)
    estimator = estimator_of(n)
    p_values = []
    for seed in range(300):
        # Responses name either the ball's cell, which is in the center window, or a corner cell.
        shares = np.zeros((n, 60))
        shares[:, 22] = rng.beta(0.7, 1.5, n)
        shares[:, 0] = 1 - shares[:, 22]
        mass = np.stack([rng.multinomial(20, shares), rng.multinomial(150, shares)]).astype(float)
        pair = pair_of(estimator, METRICS[key], mass, np.zeros((2, n)))
        p_values.append(pair.p_value(Swaps(n, 199, seed)))
    assert stats.kstest(p_values, "uniform").pvalue > 0.01
    assert np.mean(np.array(p_values) <= 0.1) == pytest.approx(0.1, abs=0.05)


def test_accuracy_p_value_with_unequal_response_counts_equals_plain_loops() -> None:
    """Check that a swap exchanges the shares of correct responses but not the numbers of responses."""
    mass = np.zeros((2, 3, 60))
    truth = 22  # C3
    hits, answers = np.array([[3, 0, 2], [1, 4, 4]]), np.array([[4, 5, 2], [10, 8, 6]])
    mass[..., truth], mass[..., 0] = hits, answers - hits
    unparsed = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    total = answers + unparsed
    rates = hits / total
    observed = hits[0].sum() / total[0].sum() - hits[1].sum() / total[1].sum()
    count = 0
    for way in product([False, True], repeat=3):
        swapped = np.array([[rates[1 - side, i] if way[i] else rates[side, i] for i in range(3)] for side in (0, 1)])
        values = [(total[side] * swapped[side]).sum() / total[side].sum() for side in (0, 1)]
        count += abs(values[0] - values[1]) >= abs(observed) - 1e-12
    pair = pair_of(estimator_of(3), METRICS["accuracy"], mass, unparsed)
    a, b = pair.totals
    assert a - b == pytest.approx(observed)
    assert pair.p_value(Swaps(3, 8)) == count / 8


def test_center_ratio_p_value_with_unequal_response_counts_equals_plain_loops() -> None:
    rng, n = np.random.default_rng(4), 5
    estimator = estimator_of(n)
    mass = np.stack([drawn(rng, n, 7), drawn(rng, n, 19)])
    inside = np.zeros((6, 10), dtype=bool)
    inside[1:4, 2:7] = True
    inside = inside.ravel()
    truth = estimator.truth.sum(axis=0)
    q = truth[inside].sum() / truth.sum()

    def ratio(pooled: FloatArray) -> float:
        return float(pooled[inside].sum() / pooled.sum() / q)

    observed = ratio(mass[0].sum(axis=0)) - ratio(mass[1].sum(axis=0))
    count = 0
    for way in product([False, True], repeat=n):
        pooled = [np.zeros(60), np.zeros(60)]
        for i in range(n):
            for side, size in ((0, 7), (1, 19)):
                other = mass[1 - side, i] if way[i] else mass[side, i]
                pooled[side] += other / other.sum() * size
        count += abs(ratio(pooled[0]) - ratio(pooled[1])) >= abs(observed) - 1e-12
    pair = pair_of(estimator, METRICS["center_ratio"], mass, np.zeros((2, n)))
    assert pair.p_value(Swaps(n, 2**n)) == count / 2**n


def test_effect_size_is_the_t_statistic_divided_by_the_square_root_of_n() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(0.5, 1, 30), rng.normal(0, 1, 30)
    assert pair_of_means(a, b).effect_size == pytest.approx(stats.ttest_rel(a, b).statistic / np.sqrt(30))
    # It is undefined for constant differences.
    assert pair_of_means(a + 0.1, a).effect_size is None
    assert pair_of_means(a[:1] + 1, a[:1]).effect_size is None


def test_percentile_intervals_cover_the_true_difference_in_95_percent_of_simulations() -> None:
    """Check with skewed values on 50 images and a true mean difference of 0.25."""
    rng = np.random.default_rng(6)
    held, times = 0, resample_weights(50, 500, seed=0)
    for _ in range(600):
        level = rng.exponential(1, 50)
        a, b = level + rng.normal(0.25, 0.5, 50), level + rng.normal(0, 0.5, 50)
        draws = pair_of_means(a, b).drawn(times)
        low, high = percentile_interval(draws[0] - draws[1]) or (0.0, 0.0)
        held += low <= 0.25 <= high
    assert held / 600 == pytest.approx(0.95, abs=0.025)


def test_image_without_a_value_for_one_respondent_is_excluded_for_both() -> None:
    mass = np.zeros((2, 3, 60))
    mass[0, :, 22], mass[1, :2, 0] = 2.0, 3.0  # b has no parsed response to the third image
    unparsed = np.array([[0.0, 0, 0], [0, 0, 3]])
    for key in ("euclidean_error", "near_player_rate", "normalized_entropy"):
        pair = pair_of(estimator_of(3), METRICS[key], mass, unparsed)
        assert pair.enters.tolist() == [True, True, False]
    pair = pair_of(estimator_of(3), METRICS["accuracy"], mass, unparsed)
    assert pair.enters.all()
    assert pair.totals.tolist() == [1.0, 0.0]


@pytest.mark.slow
@pytest.mark.parametrize("metric", [metric for metric in METRICS.values() if metric.is_matched], ids=lambda m: m.key)
def test_p_values_of_matched_metrics_do_not_depend_on_response_counts(metric: Metric) -> None:
    """Check that p values are rarely small for two equal respondents with 150 and 20 responses per image."""
    n, rng, p_values = 30, np.random.default_rng(7), []
    shares = rng.dirichlet(np.full(60, 0.3), n)
    for _ in range(30 if THOROUGH else 12):
        estimator = estimator_of(n, varied=True, reference=rng.multinomial(150, shares[::-1]).astype(float))
        mass = np.stack([rng.multinomial(answers, shares).astype(float) for answers in (150, 20)])
        p_values.append(pair_of(estimator, metric, mass, np.zeros((2, n))).p_value(Swaps(n, 199)))
    # Binomial(30, 0.05) exceeds 6 with probability 1/500, and Binomial(12, 0.05) exceeds 3 with probability 1/450.
    assert sum(p <= 0.05 for p in p_values) <= (6 if THOROUGH else 3)


def test_metrics_have_a_matched_version_if_and_only_if_they_depend_on_the_number_of_responses() -> None:
    n, rng, times = 40, np.random.default_rng(9), 200
    estimator = estimator_of(n, varied=True, reference=drawn(rng, n, 50))
    shares = rng.dirichlet(np.full(60, 0.3), n)
    few, many = (rng.multinomial(answers, shares, size=(times, n)).astype(float) for answers in (8, 200))
    for key, metric in METRICS.items():
        if "wasserstein" in key or metric.is_matched:
            continue
        values = [estimator.statistic(metric, mass, np.zeros(mass.shape[:-1])).total() for mass in (few, many)]
        difference = values[0].mean() - values[1].mean()
        error = np.sqrt((values[0].var() + values[1].var()) / times)
        assert (abs(difference) > 6 * error) == metric.by_size, (key, difference / error)

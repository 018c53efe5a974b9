"""Test designs: their variances, the numbers of images they need, and the cheapest one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from spotball_core.planning.components import Answered
from spotball_core.planning.design import ANSWERS, Paired, Spread, cheapest, paired

SPREAD = Spread(between=0.03, first=0.12, second=0.0, people=0.0, step=0.0, least=1, alpha=0.05, power=0.8)


def test_variance_worked_out_by_hand() -> None:
    spread = Spread(0.03, 0.12, 0.4, 0.5, 0.0, 1, 0.05, 0.8)
    assert spread.variance(50, 4) == pytest.approx((0.03 + 0.12 / 4 + 0.4 / 16) / 50 + 0.5 / 4 * (1 - 1 / 50))


@given(st.floats(0.01, 0.3), st.sampled_from(ANSWERS), st.sampled_from([0.0, 1.0]))
@settings(max_examples=25, deadline=None)
def test_images_is_the_smallest_number_that_detects_the_effect(effect: float, answers: int, step: float) -> None:
    spread = replace(SPREAD, step=step)
    n = spread.images(effect, answers)
    assert n is not None
    # Rounded degrees of freedom move the power by at most this much.
    assert spread.power_at(effect, n, answers) >= 0.8 - 1e-3
    assert n == 6 or spread.power_at(effect, n - 1, answers) < 0.8 + 1e-3


def test_images_are_never_enough_if_people_differ_too_much() -> None:
    spread = replace(SPREAD, people=0.02)
    assert spread.images(0.05, 5) is None
    assert spread.images(0.05, 200) is not None
    assert spread.enough_answers is None


def test_too_few_images_for_a_permutation_test_detect_nothing() -> None:
    # With 5 images, the smallest two-sided p value is 2 / 2^5.
    assert SPREAD.smallest(5, 20) is None
    assert SPREAD.power_at(10.0, 5, 20) == 0.0
    assert SPREAD.smallest(6, 20) is not None


def test_fewer_answers_than_the_metric_needs_detect_nothing() -> None:
    spread = replace(SPREAD, least=8)
    assert spread.smallest(100, 7) is None
    assert spread.smallest(100, 8) is not None


def test_enough_answers_are_the_first_with_at_most_5_percent_to_gain() -> None:
    found = SPREAD.enough_answers
    assert found is not None
    ratios = {k: np.sqrt((0.03 + 0.12 / k) / 0.03) for k in ANSWERS}
    assert found == min(k for k, ratio in ratios.items() if ratio <= 1.05)


@pytest.mark.parametrize(("image", "answer"), [(1.0, 0.01), (0.0, 1.0), (5.0, 1.0), (1.0, 0.0)])
def test_cheapest_has_the_lowest_cost_of_all_designs(image: float, answer: float) -> None:
    goals = [(SPREAD, 0.05), (replace(SPREAD, between=0.5), 0.3)]
    found = cheapest(goals, price_answer=answer, price_image=image)
    assert found is not None
    costs = []
    for k in ANSWERS:
        n = max(spread.images(effect, k) or 0 for spread, effect in goals)
        costs.append(n * (image + k * answer))
    assert found.cost == pytest.approx(min(costs))
    assert all(spread.power_at(effect, found.images, found.answers) >= 0.799 for spread, effect in goals)


def test_paired_uses_images_with_values_of_both() -> None:
    a = Answered(np.array([1.0, 2.0, np.nan]), np.full(3, 4.0), np.full(3, 0.4), np.zeros(3))
    b = Answered(np.array([0.5, np.nan, 1.0]), np.full(3, 2.0), np.full(3, 0.2), np.zeros(3))
    found = paired(a, b)
    assert found.differences.tolist() == [0.5]
    assert found.noise == pytest.approx([0.1 + 0.1])
    assert found.first == pytest.approx([0.6])


def test_interval_of_the_variance_covers_it_in_about_95_percent_of_pilots() -> None:
    rng, hits = np.random.default_rng(0), 0
    for number in range(300):
        true, noise = rng.normal(0, 0.2, 80), rng.normal(0, 0.1, 80)
        pair = Paired(true + noise, np.full(80, 0.01), np.full(80, 0.1), np.zeros(80), None, 0.0)
        ends = pair.variance_interval(10, resamples=200, seed=number)
        assert ends is not None
        hits += ends[0] <= 0.04 + 0.01 <= ends[1]
    assert 0.88 <= hits / 300 <= 0.98

"""Test ranks and their intervals against cases computed by hand, a search, and simulated benchmarks."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import t

from spotball_core.leaderboard.ranks import Estimate, Goal, Rank, ranks
from spotball_core.stats.bootstrap import bootstrap_interval, resample_weights
from tests.conftest import THOROUGH

Span = tuple[int, int]

MANY = 10**9
"""A number of images for which Student's t equals the normal distribution."""


def exact(value: float) -> Estimate:
    return Estimate(value, (value, value), MANY)


def found(entries: list[Estimate], goal: Goal) -> list[tuple[int, Span | None]]:
    return [(rank.rank, rank.interval) for rank in ranks(entries, goal)]


class TestRanksByHand:
    def test_ranks_of_exact_values_are_certain_except_for_equal_values(self) -> None:
        entries = [exact(value) for value in (0.3, 0.1, 0.2)]
        assert found(entries, "higher") == [(1, (1, 1)), (3, (3, 3)), (2, (2, 2))]
        assert found(entries, "lower") == [(3, (3, 3)), (1, (1, 1)), (2, (2, 2))]
        entries = [exact(value) for value in (0.2, 0.2, 0.1)]
        assert found(entries, "higher") == [(1, (1, 2)), (1, (1, 2)), (3, (3, 3))]

    def test_ranks_widen_intervals_for_multiple_comparisons(self) -> None:
        # With three intervals, each tail has 2.5% / 3: 2.394 standard errors instead of 1.960, so 0.98 becomes 1.197.
        apart, overlap = 2 * 1.197 + 0.01, 2 * 1.197 - 0.01
        for gap, interval in ((apart, (1, 1)), (overlap, (1, 2))):
            values = (0.0, gap, 100.0)
            entries = [Estimate(value, (value - 0.98, value + 0.98), MANY) for value in values]
            assert found(entries, "lower")[0] == (1, interval)

    def test_ranks_widen_intervals_of_few_images_by_student_t(self) -> None:
        # With 10 images, Student's t has 9 degrees of freedom.
        factor = t.ppf(1 - 0.025 / 2, 9) / t.ppf(0.975, 9)
        for gap, interval in ((2 * factor + 0.02, (1, 1)), (2 * factor - 0.02, (1, 2))):
            entries = [Estimate(value, (value - 1, value + 1), 10) for value in (0.0, gap)]
            assert found(entries, "lower")[0] == (1, interval)

    def test_ranks_widen_the_interval_of_zero_hits_to_the_exact_bound(self) -> None:
        # With twenty intervals, the upper bound for no hit in 50 images is 1 - (0.025 / 20) ** (1 / 50) = 0.125.
        reach = 1 - 0.025 ** (1 / 50)
        for value, interval in ((0.127, (2, 20)), (0.123, (1, 20))):
            none = Estimate(0.0, (0.0, reach), 50, (0.0, 1.0))
            entries = [none, exact(value), *[none] * 18]
            assert found(entries, "higher")[0] == (2, interval)

    def test_ranks_mirror_a_one_sided_interval_except_at_a_bound_of_the_metric(self) -> None:
        one_sided = Estimate(5.0, (3.0, 5.0), MANY)
        assert found([one_sided, exact(6.0)], "lower") == [(1, (1, 2)), (2, (1, 2))]
        assert found([one_sided, exact(8.0)], "lower") == [(1, (1, 1)), (2, (2, 2))]
        # At a bound of the metric, the interval has no other side.
        assert found([Estimate(0.0, (0.0, 0.1), 50, (0.0, 1.0)), exact(-0.01)], "lower")[0] == (2, (2, 2))

    def test_ranks_with_a_target_as_goal_order_entries_by_distance_from_the_target(self) -> None:
        # The target is between 0.4 and 0.6, widened to 0.373 and 0.627. 0.5 is always nearer than 0.95. 0.3 is nearer
        # than 0.95 only if the target is below 0.625.
        target = Estimate(0.5, (0.4, 0.6), MANY)
        near, below, above = exact(0.5), exact(0.3), exact(0.95)
        assert found([near, below, above], target) == [(1, (1, 2)), (2, (1, 3)), (3, (2, 3))]
        sure = exact(0.5)
        assert found([near, below, above], sure) == [(1, (1, 1)), (2, (2, 2)), (3, (3, 3))]

    def test_ranks_of_an_entry_without_an_interval_may_be_any_rank(self) -> None:
        entries = [Estimate(0.5, None, 50), exact(0.1), exact(0.9)]
        assert found(entries, "higher") == [(2, (1, 3)), (3, (2, 3)), (1, (1, 2))]
        assert found(entries, exact(1.0)) == [(2, (1, 3)), (3, (2, 3)), (1, (1, 2))]
        # If no entry has an interval, no rank has one.
        assert found([Estimate(value, None, 50) for value in (0.5, 0.1)], "higher") == [(1, None), (2, None)]

    def test_ranks_of_no_entries_are_empty_and_the_rank_of_one_entry_is_1(self) -> None:
        assert ranks([], "higher") == []
        assert ranks([exact(1.0)], "lower") == [Rank(1, (1, 1))]


def searched(intervals: list[Span], target: Span | None) -> list[Span]:
    """Return the possible ranks, found by trying all values on a grid for each pair of entries."""

    def is_certain(first: Span, second: Span) -> bool:
        steps = [np.arange(2 * low, 2 * high + 1) / 2 for low, high in (first, second)]
        places = [math.inf] if target is None else np.arange(2 * target[0], 2 * target[1] + 1) / 2
        return all(
            a > b if place == math.inf else abs(a - place) < abs(b - place)
            for a, b, place in itertools.product(*steps, places)
        )

    n = range(len(intervals))
    return [
        (
            1 + sum(is_certain(intervals[j], intervals[i]) for j in n),
            len(intervals) - sum(is_certain(intervals[i], intervals[j]) for j in n),
        )
        for i in n
    ]


SPANS = st.tuples(st.integers(0, 12), st.integers(0, 3)).map(lambda span: (span[0], span[0] + span[1]))


@given(st.lists(SPANS, min_size=1, max_size=5), st.none() | SPANS)
def test_rank_intervals_lie_within_those_found_by_trying_all_values_on_a_grid(
    intervals: list[Span], target: Span | None
) -> None:
    # `ranks` widens intervals by this factor, so the intervals are divided by it first.
    n = len(intervals) + (target is not None)
    factor = t.ppf(1 - 0.025 / n, 10**6) / t.ppf(0.975, 10**6)

    def narrowed(low: float, high: float) -> Estimate:
        middle, half = (low + high) / 2, (high - low) / 2 / factor
        # The ends move inward by much less than half a grid step, so that rounding has no effect.
        spare = 1e-6 if high > low else 0.0
        return Estimate(middle, (middle - half + spare, middle + half - spare), MANY)

    goal: Goal = "higher" if target is None else narrowed(*target)
    possible = searched(intervals, target)
    for rank, (first, last) in zip(ranks([narrowed(*span) for span in intervals], goal), possible, strict=True):
        # The search also tries the exact ends of intervals, where two entries may be equal. Just inside, they differ.
        assert first <= rank.interval[0] <= rank.rank <= rank.interval[1] <= last


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.5), st.floats(0, 0.5)), min_size=1, max_size=8),
    st.sampled_from(["higher", "lower", "target"]),
)
def test_ranks_lie_in_their_intervals_and_do_not_depend_on_the_order_of_entries(
    spans: list[tuple[float, float, float]], kind: str
) -> None:
    entries = [Estimate(value, (value - below, value + above), 50) for value, below, above in spans]
    goal: Goal = Estimate(0.5, (0.3, 0.6), 50) if kind == "target" else "higher" if kind == "higher" else "lower"
    given_ranks = ranks(entries, goal)
    for rank in given_ranks:
        assert 1 <= rank.interval[0] <= rank.rank <= rank.interval[1] <= len(entries)
    assert ranks(entries[::-1], goal)[::-1] == given_ranks


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_rank_intervals_contain_all_true_ranks_in_95_percent_of_benchmarks(correlation: float) -> None:
    """Simulate entries, some of them equal, on the same images. A benchmark with any wrong interval counts as wrong."""
    rng = np.random.default_rng(3)
    truth, n_images, n_runs = np.array([0.0, 0.0, 0.1, 0.4, 0.4, 1.0]), 50, 1000 if THOROUGH else 250
    wrong, certain = 0, 0
    for _ in range(n_runs):
        shared = rng.normal(size=(n_images, 1)) * math.sqrt(correlation)
        own = rng.normal(size=(n_images, len(truth))) * math.sqrt(1 - correlation)
        values = truth + shared + own
        weights = resample_weights(n_images, 200, rng) / n_images
        without = (values.sum(axis=0) - values) / (n_images - 1)
        entries = [
            Estimate(
                float(values[:, i].mean()),
                bootstrap_interval(float(values[:, i].mean()), weights @ values[:, i], without[:, i]),
                n_images,
            )
            for i in range(len(truth))
        ]
        intervals = [rank.interval for rank in ranks(entries, "higher")]
        best = [1 + int((truth > own).sum()) for own in truth]
        worst = [len(truth) - int((truth < own).sum()) for own in truth]
        # Equal entries share several ranks. The interval must contain each of them.
        wrong += any(
            span is None or span[0] > first or span[1] < last
            for span, first, last in zip(intervals, best, worst, strict=True)
        )
        certain += intervals[-1] == (1, 1)
    # The limit is 0.05 plus four standard errors.
    assert wrong / n_runs <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / n_runs)
    # The intervals are informative: the entry that is far ahead is certainly first in some benchmarks.
    assert certain > 0

"""Test resample weights and bootstrap intervals."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import example, given, strategies as st

from spotball_core.errors import OptionError
from spotball_core.metrics import normalized_entropy
from spotball_core.stats.bootstrap import (
    _acceleration,
    bootstrap_interval,
    expanded,
    percentile_interval,
    resample_weights,
    weight_blocks,
)
from tests.failures import raises


class TestResampleWeights:
    @given(st.integers(1, 30), st.integers(0, 20), st.integers(0, 2**32))
    def test_resample_weights_of_each_resample_are_whole_numbers_that_sum_to_n(
        self, n: int, resamples: int, seed: int
    ) -> None:
        weights = resample_weights(n, resamples, seed)
        assert weights.shape == (resamples, n)
        assert weights.dtype == np.float64
        assert (weights >= 0).all()
        assert (weights == weights.round()).all()
        assert (weights.sum(axis=1) == n).all()

    def test_resample_weights_depend_only_on_the_seed_or_the_generator(self) -> None:
        before = np.random.get_state()[1].copy()  # noqa: NPY002
        first = resample_weights(20, 50)
        np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
        np.testing.assert_array_equal(next(weight_blocks(20, 50, block=50)), first)
        assert (resample_weights(20, 50, 1) != first).any()
        # Changing the returned weights does not change the next result.
        kept = first.copy()
        first += 1
        np.testing.assert_array_equal(resample_weights(20, 50, 0), kept)
        generator = np.random.default_rng(3)
        one, other = resample_weights(20, 50, generator), resample_weights(20, 50, generator)
        np.testing.assert_array_equal(one, resample_weights(20, 50, 3))
        assert (one != other).any()

    @given(st.integers(1, 9), st.integers(0, 30), st.integers(1, 40))
    def test_weight_blocks_have_the_rows_of_resample_weights(self, n: int, resamples: int, block: int) -> None:
        blocks = list(weight_blocks(n, resamples, 5, block=block))
        assert all(len(rows) == block for rows in blocks[:-1])
        assert all(0 < len(rows) <= block for rows in blocks)
        np.testing.assert_array_equal(np.concatenate([np.empty((0, n)), *blocks]), resample_weights(n, resamples, 5))

    @pytest.mark.parametrize("resamples", [20_000, 20_001], ids=["cached", "not cached"])
    def test_weight_blocks_equal_draws_of_a_numpy_generator_with_and_without_the_cache(self, resamples: int) -> None:
        expected = np.random.default_rng(5).multinomial(50, np.full(50, 1 / 50), size=resamples)
        for _ in range(2):
            blocks = list(weight_blocks(50, resamples, 5, block=7000))
            np.testing.assert_array_equal(np.concatenate(blocks), expected)

    def test_resample_weights_have_the_moments_of_drawing_with_replacement(self) -> None:
        # In n draws from n units, the count of a unit is binomial(n, 1/n): it has mean 1 and variance 1 - 1/n, and is 0
        # with probability (1 - 1/n) ** n.
        n, resamples = 10, 20_000
        weights = resample_weights(n, resamples, 1)
        assert weights.mean(axis=0) == pytest.approx(np.ones(n), abs=5 / math.sqrt(resamples))
        assert weights.var() == pytest.approx(1 - 1 / n, abs=0.02)
        assert (weights == 0).mean() == pytest.approx((1 - 1 / n) ** n, abs=0.01)
        # Counts of two units in one resample have a covariance of -1/n, because their sum is fixed.
        assert np.cov(weights.T)[0, 1] == pytest.approx(-1 / n, abs=0.03)

    @pytest.mark.parametrize(("n", "resamples", "field"), [(0, 5, "n"), (-1, 5, "n"), (5, -1, "resamples")])
    def test_resample_weights_with_invalid_numbers_raise_option_error(self, n: int, resamples: int, field: str) -> None:
        with raises(OptionError, f"invalid-option:{field}"):
            resample_weights(n, resamples)
        with raises(OptionError, f"invalid-option:{field}"):
            weight_blocks(n, resamples, block=1)


def quantile(values: list[float], q: float) -> float:
    """Return a quantile by linear interpolation between order statistics (Hyndman and Fan's type 7)."""
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low + (high - low) * (place - math.floor(place))


class TestPercentileInterval:
    @given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.sampled_from([0.5, 0.9, 0.95]))
    def test_percentile_interval_equals_interpolated_quantiles(self, values: list[float], confidence: float) -> None:
        interval = percentile_interval(values, confidence)
        assert interval[0] == pytest.approx(quantile(values, (1 - confidence) / 2), rel=1e-9, abs=1e-6)
        assert interval[1] == pytest.approx(quantile(values, (1 + confidence) / 2), rel=1e-9, abs=1e-6)
        assert interval[0] <= interval[1]

    def test_percentile_interval_excludes_undefined_resamples_and_returns_floats(self) -> None:
        assert percentile_interval(np.arange(1001)) == pytest.approx((25.0, 975.0), rel=1e-12)  # 95% by default
        assert percentile_interval([1.0, math.nan, 3.0, math.inf], 0.5) == (1.5, 2.5)
        assert percentile_interval([]) is None
        assert percentile_interval([math.nan, math.nan]) is None
        assert percentile_interval([True, False, True, True, False], 0.5) == (0.0, 1.0)
        interval = percentile_interval(np.array([1, 2, 3], dtype=np.int32))
        assert [type(end) for end in interval] == [float, float]


class TestBootstrapInterval:
    @pytest.mark.slow
    def test_bootstrap_interval_of_many_units_matches_scipy(self) -> None:
        rng = np.random.default_rng(0)
        units = rng.gamma(1.0, size=400)
        weights = resample_weights(len(units), 20_000, 1)
        left_out = (units.sum() - units) / (len(units) - 1)
        found = bootstrap_interval(float(units.mean()), weights @ units / len(units), left_out)
        theirs = scipy.stats.bootstrap((units,), np.mean, n_resamples=20_000, random_state=2).confidence_interval
        width = theirs.high - theirs.low
        # Student's t and the expansion make the interval 0.5% wider for 400 units.
        assert found[0] == pytest.approx(theirs.low, abs=0.03 * width)
        assert found[1] == pytest.approx(theirs.high, abs=0.03 * width)

    @example([0.0, 1.340518156596544e-157], 0)
    @given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.integers(0, 1000))
    def test_bootstrap_interval_contains_the_value_and_stays_in_its_bounds(self, units: list[float], seed: int) -> None:
        array = np.array(units)
        value = float(array.mean())
        drawn = resample_weights(len(array), 50, seed) @ array / len(array)
        left_out = (array.sum() - array) / (len(array) - 1)
        found = bootstrap_interval(value, drawn, left_out, bounds=(0.0, 1.0))
        assert 0 <= found[0] <= value <= found[1] <= 1

    def test_bootstrap_interval_corrects_the_bias_of_resampling(self) -> None:
        """Check a pooled entropy: a resample has fewer distinct images than the data, so its entropy is lower."""
        rng = np.random.default_rng(5)
        mass = rng.multinomial(5, rng.dirichlet(np.full(60, 0.2), 20)).astype(float)
        value = float(normalized_entropy(mass.sum(axis=0)))
        drawn = normalized_entropy(resample_weights(20, 1000) @ mass)
        left_out = normalized_entropy(mass.sum(axis=0) - mass)
        plain = percentile_interval(drawn)
        assert plain[1] < value
        found = bootstrap_interval(value, drawn, left_out, bounds=(0.0, 1.0))
        assert found[0] < value < found[1]

    @pytest.mark.parametrize(("value", "expected"), [(0.0, (0.0, 0.0711)), (1.0, (0.9289, 1.0)), (0.5, (0.5, 0.5))])
    def test_bootstrap_interval_of_equal_values_has_a_width_above_0_only_at_a_bound(
        self, value: float, expected: tuple[float, float]
    ) -> None:
        """Check that 0 hits on 50 images give a limit of 7.1%: a higher mean gives 0 hits less often than 1 in 40."""
        found = bootstrap_interval(value, np.full(9, value), np.full(50, value), bounds=(0.0, 1.0))
        assert found == pytest.approx(expected, abs=1e-4)

    @pytest.mark.parametrize(
        ("value", "drawn", "left_out"),
        [
            (2.0, [2.0, 1.0, 2.0, 2.0, 3.0, 5.0], [2.0, 2.0, 2.0, 2.0]),
            (2.0, [2.0, 2.0, 2.0, 1.0], [2.5, 2.0, 2.0, 1.5, 1.0]),
            (2.0, [3.0, 3.5, 4.0, 8.0], [2.0, 2.0, 2.0]),
            (2.0, [1.0, 1.5, 0.5, 0.25], [2.0, 2.0, 2.0]),
            (2.0, [3.0, 3.0, 3.0], [2.0, 2.0]),
            (2.0, [2.0, 3.0, 1.0, 7.0], []),
            (2e-6, [2e-6, 1e-6, 4e-6, 3e-6, 2e-6, 5e-6], [1e-6, 2e-6, 3e-6]),
        ],
    )
    def test_bootstrap_interval_with_ties_or_a_value_beyond_all_resamples_equals_a_plain_computation(
        self, value: float, drawn: list[float], left_out: list[float]
    ) -> None:
        """Check that half of the resamples tied with the value count as below, and that the share is never 0 or 1."""
        n, size, cdf = len(left_out), len(drawn), scipy.stats.norm.cdf
        shift = (n - 1) * (sum(left_out) / n - value) if n else 0.0
        shifted = [each - shift for each in drawn]
        below = sum(0.5 if math.isclose(each, value) else float(each < value) for each in shifted) / size
        middle = scipy.stats.norm.ppf(min(max(below, 0.5 / size), 1 - 0.5 / size))
        a = _acceleration(np.array(left_out))
        ends = []
        for tail in (0.1, 0.9):
            z = middle + expanded(scipy.stats.norm.ppf(tail), n)
            ends.append(quantile(shifted, cdf(middle + z / (1 - a * z))))
        expected = min(ends[0], value), max(ends[1], value)
        found = bootstrap_interval(value, drawn, left_out, confidence=0.8)
        assert found == pytest.approx(expected, rel=1e-9)

    def test_bootstrap_interval_of_constant_boolean_or_undefined_resamples_equals_values_computed_by_hand(self) -> None:
        for bounds in ((0.0, None), (None, 0.0), (None, None)):
            assert bootstrap_interval(0.0, [0.0, 0.0], [0.0] * 5, bounds=bounds) == (0.0, 0.0)
        # If the true mean is m, both of two units are at the bound 1 with a probability of ((3 - m) / 2) ** 2.
        assert bootstrap_interval(0.5, [0.5, 0.5], [math.nan], bounds=(0.0, 1.0)) is None  # one unit
        assert bootstrap_interval(1.0, [1.0], [1.0] * 2, bounds=(1.0, 3.0)) == pytest.approx((1, 3 - 2 * 0.025**0.5))
        assert bootstrap_interval(3.0, [3.0], [3.0] * 2, bounds=(1.0, 3.0)) == pytest.approx((1 + 2 * 0.025**0.5, 3))
        # Booleans count as 1 and 0. Without defined resamples, there is no interval.
        hits = [True, False, True, True]
        assert bootstrap_interval(0.75, hits) == bootstrap_interval(0.75, [1.0, 0.0, 1.0, 1.0])
        assert bootstrap_interval(1.0, [math.nan], [1.0, 1.0]) is None


class TestExpanded:
    # For many units, the first omitted term of the expansion is below 1e-10, and every included term is above 2e-10.
    @pytest.mark.parametrize(
        ("tail", "n", "most"),
        [
            *((tail, 5001, 1e-10) for tail in (0.005, 0.025, 0.3, 0.975)),
            *((0.975, n, most) for n, most in ((6, 0.026), (11, 0.003), (31, 0.0001))),
        ],
    )
    def test_expanded_quantile_is_close_to_the_t_quantile_of_scipy(self, tail: float, n: int, most: float) -> None:
        exact = scipy.stats.t.ppf(tail, n - 1) * math.sqrt(n / (n - 1))
        assert expanded(scipy.stats.norm.ppf(tail), n) == pytest.approx(exact, abs=most)

    def test_expanded_quantile_is_unchanged_below_three_units_and_equals_the_value_by_hand_for_three(self) -> None:
        assert [expanded(2.0, n) for n in (0, 1, 2)] == [2.0] * 3
        # With z = 2 and 2 degrees of freedom: 2 + 10 / 8 + 294 / 384, times sqrt(3 / 2).
        assert expanded(2.0, 3) == pytest.approx((2 + 10 / 8 + 294 / 384) * math.sqrt(1.5), rel=1e-12)


def test_acceleration_equals_values_computed_by_hand() -> None:
    # Changes of -1, -1 and 2: the cubes sum to 6 and the squares to 6, so 6 / (6 * 6 ** 1.5).
    assert _acceleration(np.array([5.0, 5.0, 2.0])) == pytest.approx(6**-1.5, rel=1e-12)
    assert _acceleration(np.array([3.0, 3.0, 6.0])) == pytest.approx(-(6**-1.5), rel=1e-12)
    assert _acceleration(np.array([4.0, 4.0])) == _acceleration(np.empty(0)) == 0.0

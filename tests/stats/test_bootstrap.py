"""Resample weights and percentile intervals."""

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


class TestWeights:
    @given(st.integers(1, 30), st.integers(0, 20), st.integers(0, 2**32))
    def test_every_resample_draws_as_many_as_there_are(self, n: int, resamples: int, seed: int) -> None:
        weights = resample_weights(n, resamples, seed)
        assert weights.shape == (resamples, n)
        assert weights.dtype == np.float64
        assert (weights >= 0).all()
        assert (weights == weights.round()).all()
        assert (weights.sum(axis=1) == n).all()

    def test_the_same_seed_draws_the_same(self) -> None:
        np.testing.assert_array_equal(resample_weights(20, 50, 7), resample_weights(20, 50, 7))

    def test_seed_0_is_a_seed_and_the_default(self) -> None:
        np.testing.assert_array_equal(resample_weights(20, 50), resample_weights(20, 50, 0))
        np.testing.assert_array_equal(next(weight_blocks(20, 50, block=50)), resample_weights(20, 50, 0))

    def test_another_seed_draws_otherwise(self) -> None:
        assert (resample_weights(20, 50, 0) != resample_weights(20, 50, 1)).any()

    def test_a_generator_is_drawn_from(self) -> None:
        generator = np.random.default_rng(3)
        first, second = resample_weights(20, 50, generator), resample_weights(20, 50, generator)
        np.testing.assert_array_equal(first, resample_weights(20, 50, 3))
        assert (first != second).any()

    @given(st.integers(1, 9), st.integers(0, 30), st.integers(1, 40))
    def test_blocks_are_the_same_rows(self, n: int, resamples: int, block: int) -> None:
        blocks = list(weight_blocks(n, resamples, 5, block=block))
        assert all(len(rows) == block for rows in blocks[:-1])
        assert all(0 < len(rows) <= block for rows in blocks)
        np.testing.assert_array_equal(np.concatenate([np.empty((0, n)), *blocks]), resample_weights(n, resamples, 5))

    @pytest.mark.parametrize("resamples", [20_000, 20_001], ids=["cached", "not cached"])
    def test_cached_weights_are_those_of_a_generator(self, resamples: int) -> None:
        expected = np.random.default_rng(5).multinomial(50, np.full(50, 1 / 50), size=resamples)
        for _ in range(2):
            blocks = list(weight_blocks(50, resamples, 5, block=7000))
            np.testing.assert_array_equal(np.concatenate(blocks), expected)

    def test_a_changed_result_does_not_change_the_next_one(self) -> None:
        weights = resample_weights(4, 3, 9)
        before = weights.copy()
        weights += 1
        np.testing.assert_array_equal(resample_weights(4, 3, 9), before)

    def test_nothing_global_is_drawn_from(self) -> None:
        before = np.random.get_state()[1].copy()  # noqa: NPY002
        resample_weights(20, 50, 0)
        np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002

    def test_draws_are_with_replacement_and_even(self) -> None:
        # A count of n draws among n is binomial(n, 1/n): mean 1, variance 1 - 1/n, never drawn (1 - 1/n) ** n.
        n, resamples = 10, 20_000
        weights = resample_weights(n, resamples, 1)
        assert weights.mean(axis=0) == pytest.approx(np.ones(n), abs=5 / math.sqrt(resamples))
        assert weights.var() == pytest.approx(1 - 1 / n, abs=0.02)
        assert (weights == 0).mean() == pytest.approx((1 - 1 / n) ** n, abs=0.01)
        # Counts of two units of one resample crowd each other out: covariance -1/n.
        assert np.cov(weights.T)[0, 1] == pytest.approx(-1 / n, abs=0.03)

    @pytest.mark.parametrize(
        ("n", "resamples", "message"),
        [
            (0, 5, "n: found 0, expected at least 1"),
            (-1, 5, "n: found -1, expected at least 1"),
            (5, -1, "resamples: found -1, expected at least 0"),
        ],
    )
    def test_what_cannot_be_drawn(self, n: int, resamples: int, message: str) -> None:
        with pytest.raises(OptionError, match=message):
            resample_weights(n, resamples)
        with pytest.raises(OptionError, match=message):
            weight_blocks(n, resamples, block=1)


def quantile(values: list[float], q: float) -> float:
    """By linear interpolation between order statistics (Hyndman and Fan's type 7)."""
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low + (high - low) * (place - math.floor(place))


class TestInterval:
    @given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.sampled_from([0.5, 0.9, 0.95]))
    def test_quantiles_by_hand(self, values: list[float], confidence: float) -> None:
        interval = percentile_interval(values, confidence)
        assert interval is not None
        assert interval[0] == pytest.approx(quantile(values, (1 - confidence) / 2), rel=1e-9, abs=1e-6)
        assert interval[1] == pytest.approx(quantile(values, (1 + confidence) / 2), rel=1e-9, abs=1e-6)
        assert interval[0] <= interval[1]

    def test_95_percent_unless_said_otherwise(self) -> None:
        assert percentile_interval(np.arange(1001)) == pytest.approx((25.0, 975.0), rel=1e-12)

    def test_undefined_resamples_are_left_out(self) -> None:
        assert percentile_interval([1.0, math.nan, 3.0, math.inf], 0.5) == (1.5, 2.5)

    @pytest.mark.parametrize("values", [[], [math.nan, math.nan]])
    def test_no_resample_with_a_value(self, values: list[float]) -> None:
        assert percentile_interval(values) is None

    def test_hits_and_misses_count_as_1_and_0(self) -> None:
        assert percentile_interval([True, False, True, True, False], 0.5) == (0.0, 1.0)

    def test_numbers_of_python(self) -> None:
        interval = percentile_interval(np.array([1, 2, 3], dtype=np.int32))
        assert interval is not None
        assert [type(end) for end in interval] == [float, float]


class TestBootstrapInterval:
    """The bias-corrected and accelerated interval, against Efron's formulas written out and SciPy's."""

    @pytest.mark.slow
    def test_as_scipy_has_it_for_many_units(self) -> None:
        rng = np.random.default_rng(0)
        units = rng.gamma(1.0, size=400)
        weights = resample_weights(len(units), 20_000, 1)
        left_out = (units.sum() - units) / (len(units) - 1)
        found = bootstrap_interval(float(units.mean()), weights @ units / len(units), left_out)
        theirs = scipy.stats.bootstrap(
            (units,), np.mean, method="BCa", n_resamples=20_000, random_state=2
        ).confidence_interval
        assert found is not None
        width = theirs.high - theirs.low
        # Student's t and the widening make it a little wider: 0.5% with 400 units.
        assert found[0] == pytest.approx(theirs.low, abs=0.03 * width)
        assert found[1] == pytest.approx(theirs.high, abs=0.03 * width)

    def test_by_the_formulas(self) -> None:
        rng = np.random.default_rng(3)
        drawn, left_out, value, n = rng.gamma(2.0, size=500), rng.normal(1.9, 0.1, 12), 1.9, 12
        shifted = drawn - 11 * (left_out.mean() - value)
        z0 = scipy.stats.norm.ppf((shifted < value).mean())
        change = left_out.mean() - left_out
        a = (change**3).sum() / (6 * (change**2).sum() ** 1.5)
        ends = []
        for tail in (0.025, 0.975):
            z = z0 + scipy.stats.t.ppf(tail, n - 1) * math.sqrt(n / (n - 1))
            ends.append(np.quantile(shifted, scipy.stats.norm.cdf(z0 + z / (1 - a * z))))
        assert bootstrap_interval(value, drawn, left_out) == pytest.approx(ends, abs=0.02)

    @example([0.0, 1.340518156596544e-157], 0)
    @given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.integers(0, 1000))
    def test_it_holds_the_value_and_stays_within_its_bounds(self, units: list[float], seed: int) -> None:
        array = np.array(units)
        value = float(array.mean())
        drawn = resample_weights(len(array), 50, seed) @ array / len(array)
        left_out = (array.sum() - array) / (len(array) - 1)
        found = bootstrap_interval(value, drawn, left_out, bounds=(0.0, 1.0))
        assert found is not None
        assert 0 <= found[0] <= value <= found[1] <= 1

    def test_the_bias_of_resampling_is_taken_back(self) -> None:
        """A pooled entropy: each resample has fewer different images than there are, so less entropy."""
        rng = np.random.default_rng(5)
        mass = rng.multinomial(5, rng.dirichlet(np.full(60, 0.2), 20)).astype(float)
        value = float(normalized_entropy(mass.sum(axis=0)))
        drawn = normalized_entropy(resample_weights(20, 1000) @ mass)
        left_out = normalized_entropy(mass.sum(axis=0) - mass)
        plain = percentile_interval(drawn)
        assert plain is not None
        assert plain[1] < value
        found = bootstrap_interval(value, drawn, left_out, bounds=(0.0, 1.0))
        assert found is not None
        assert found[0] < value < found[1]

    @pytest.mark.parametrize(("value", "expected"), [(0.0, (0.0, 0.0711)), (1.0, (0.9289, 1.0)), (0.5, (0.5, 0.5))])
    def test_without_spread_at_a_bound(self, value: float, expected: tuple[float, float]) -> None:
        """No hit on 50 images: with a mean of 7.1% or more, that happens less than once in 40."""
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
    def test_ties_and_values_beyond_all_resamples(
        self, value: float, drawn: list[float], left_out: list[float]
    ) -> None:
        """Resamples equal to the value are half below it. The value is never beyond all of them."""
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

    def test_without_spread_and_with_one_bound_or_bounds_other_than_0_and_1(self) -> None:
        for bounds in ((0.0, None), (None, 0.0), (None, None)):
            assert bootstrap_interval(0.0, [0.0, 0.0], [0.0] * 5, bounds=bounds) == (0.0, 0.0)
        # One resample, two units: with a mean of m, both are at the bound with a probability of ((3 - m) / 2) ** 2.
        assert bootstrap_interval(0.5, [0.5, 0.5], [math.nan], bounds=(0.0, 1.0)) is None  # one unit
        assert bootstrap_interval(1.0, [1.0], [1.0] * 2, bounds=(1.0, 3.0)) == pytest.approx((1, 3 - 2 * 0.025**0.5))
        assert bootstrap_interval(3.0, [3.0], [3.0] * 2, bounds=(1.0, 3.0)) == pytest.approx((1 + 2 * 0.025**0.5, 3))

    def test_resamples_of_hits_and_misses(self) -> None:
        hits = [True, False, True, True]
        assert bootstrap_interval(0.75, hits) == bootstrap_interval(0.75, [1.0, 0.0, 1.0, 1.0])

    def test_no_resample_with_a_value(self) -> None:
        assert bootstrap_interval(1.0, [math.nan], [1.0, 1.0]) is None


class TestExpanded:
    """Quantiles of Student's t, against SciPy's."""

    @pytest.mark.parametrize("tail", [0.005, 0.025, 0.3, 0.975])
    def test_for_many_units(self, tail: float) -> None:
        z, n = scipy.stats.norm.ppf(tail), 5001
        exact = scipy.stats.t.ppf(tail, n - 1) * math.sqrt(n / (n - 1))
        # The first term that the expansion omits is below 1e-10 here, and each of its own is above 2e-10.
        assert expanded(z, n) == pytest.approx(exact, abs=1e-10)

    @pytest.mark.parametrize(("n", "most"), [(6, 0.026), (11, 0.003), (31, 0.0001)])
    def test_for_few_units(self, n: int, most: float) -> None:
        exact = scipy.stats.t.ppf(0.975, n - 1) * math.sqrt(n / (n - 1))
        assert expanded(scipy.stats.norm.ppf(0.975), n) == pytest.approx(exact, abs=most)

    def test_from_three_units_on(self) -> None:
        assert [expanded(2.0, n) for n in (0, 1, 2)] == [2.0] * 3
        # With z = 2 and 2 degrees of freedom: 2 + 10 / 8 + 294 / 384, times sqrt(3 / 2).
        assert expanded(2.0, 3) == pytest.approx((2 + 10 / 8 + 294 / 384) * math.sqrt(1.5), rel=1e-12)


def test_acceleration_by_hand() -> None:
    # Changes of -1, -1 and 2: the cubes sum to 6 and the squares to 6, so 6 / (6 * 6 ** 1.5).
    assert _acceleration(np.array([5.0, 5.0, 2.0])) == pytest.approx(6**-1.5, rel=1e-12)
    assert _acceleration(np.array([3.0, 3.0, 6.0])) == pytest.approx(-(6**-1.5), rel=1e-12)
    assert _acceleration(np.array([4.0, 4.0])) == _acceleration(np.empty(0)) == 0.0

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from spotball_core.errors import OptionError
from spotball_core.gaze.plain_tests import (
    adjusted,
    exact_p,
    mean_share,
    one_sample,
    proportion_z,
    regression_slope,
    sum_of_chances,
    two_proportions,
    welch,
)

RNG = np.random.default_rng(3)
X, Y = RNG.normal(0.4, 1, 20), RNG.normal(0, 2, 31)


@pytest.mark.parametrize("sides", ["two-sided", "greater"])
def test_one_sample_equals_scipy_ttest_1samp(sides: str) -> None:
    theirs = stats.ttest_1samp(X, 0.1, alternative=sides)
    mine = one_sample(X, 0.1, sides)  # type: ignore[arg-type]
    assert (mine.t, mine.df, mine.p) == pytest.approx((theirs.statistic, 19, theirs.pvalue))
    both = stats.ttest_1samp(X, 0.1).confidence_interval()
    assert mine.ci95 == pytest.approx((both.low - 0.1, both.high - 0.1))


def test_welch_and_regression_slope_equal_scipy_ttest_ind_and_linregress() -> None:
    theirs = stats.ttest_ind(X, Y, equal_var=False)
    mine = welch(X, Y)
    assert (mine.t, mine.df, mine.p) == pytest.approx((theirs.statistic, theirs.df, theirs.pvalue))
    ends = theirs.confidence_interval()
    assert mine.ci95 == pytest.approx((ends.low, ends.high))
    x = RNG.normal(size=31)
    theirs, mine = stats.linregress(x, Y), regression_slope(x, Y)
    assert (mine.estimate, mine.se, mine.p) == pytest.approx((theirs.slope, theirs.stderr, theirs.pvalue))


def test_regression_slope_with_covariates_equals_least_squares() -> None:
    others = [RNG.normal(size=31), (np.arange(31) % 2).astype(float)]
    x = RNG.normal(size=31) + others[0]
    matrix = np.column_stack([np.ones(31), *others, x])
    beta, residual, *_ = np.linalg.lstsq(matrix, Y, rcond=None)
    se = np.sqrt(residual[0] / (31 - 4) * np.linalg.inv(matrix.T @ matrix)[-1, -1])
    # A collinear column does not change the degrees of freedom.
    mine = regression_slope(x, Y, [*others, others[0] + 2 * others[1]])
    assert (mine.estimate, mine.se, mine.df) == pytest.approx((beta[-1], se, 27))
    assert mine.p == pytest.approx(2 * stats.t.sf(abs(beta[-1] / se), 27))


def test_t_tests_and_slopes_return_p_0_or_1_for_constant_data_and_none_for_too_little_data() -> None:
    above, at, below = one_sample([1, 1, 1]), one_sample([0, 0]), one_sample([-1, -1], sides="greater")
    assert (above.p, above.t, above.ci95) == (0.0, None, None)
    assert at.p == below.p == 1.0
    exact = regression_slope([0, 0, 1, 1], [2, 2, 5, 5])
    assert (exact.estimate, exact.p) == (pytest.approx(3), 0.0)
    assert one_sample([1]) is None
    assert welch([1, 2], [1]) is None
    assert regression_slope([1, 2], [1, 2]) is None
    assert regression_slope([1, 1, 1, 1], [1, 2, 3, 4]) is None
    assert regression_slope([1, 2, 3, 4], [1, 2, 3, 4], [[2, 4, 6, 8]]) is None


def test_proportion_z_equals_a_hand_calculation_and_two_proportions_equals_scipy_chi2_contingency() -> None:
    # For 42 of 100 against 0.35, z is 0.07 / sqrt(0.35 * 0.65 / 100) = 1.4676.
    found = proportion_z(42, 100, 0.35)
    assert found.z == pytest.approx(0.07 / np.sqrt(0.35 * 0.65 / 100))
    assert found.p == pytest.approx(2 * stats.norm.sf(1.467599), abs=1e-6)
    # For two proportions, z squared is the chi-squared statistic of the table.
    chi2 = stats.chi2_contingency([[39, 61], [52, 48]], correction=False)
    both = two_proportions(39, 100, 52, 100)
    assert (both.z, both.p) == pytest.approx((-np.sqrt(chi2.statistic), chi2.pvalue))
    assert two_proportions(0, 5, 0, 9).p == two_proportions(5, 5, 9, 9).p == 1.0


def test_proportion_tests_without_trials_or_with_a_chance_of_1_raise_option_error() -> None:
    for test, counts in ((proportion_z, (0, 0, 0.5)), (proportion_z, (1, 2, 1.0)), (two_proportions, (0, 0, 1, 2))):
        with pytest.raises(OptionError):
            test(*counts)


@given(st.integers(1, 60), st.data())
def test_exact_p_with_one_chance_level_equals_scipy_binomtest(n: int, data: st.DataObject) -> None:
    successes, chance = data.draw(st.integers(0, n)), data.draw(st.sampled_from([0.25, 1 / 3, 0.5]))
    assert exact_p(successes, [(n, chance)]) == pytest.approx(stats.binomtest(successes, n, chance).pvalue)
    above = stats.binomtest(successes, n, chance, alternative="greater").pvalue
    assert exact_p(successes, [(n, chance)], "greater") == pytest.approx(above)


def test_exact_p_and_sum_of_chances_with_several_chance_levels_equal_enumeration_of_all_outcomes() -> None:
    groups = [(2, 0.5), (3, 1 / 3), (1, 0.25)]
    chances = [chance for n, chance in groups for _ in range(n)]
    expected = np.zeros(7)
    for hits in itertools.product([0, 1], repeat=6):
        expected[sum(hits)] += np.prod([c if hit else 1 - c for hit, c in zip(hits, chances, strict=True)])
    assert sum_of_chances(groups) == pytest.approx(expected, abs=1e-15)
    assert exact_p(5, groups, "greater") == pytest.approx(expected[5:].sum())
    # For many trials, check the total probability and the mean.
    found = sum_of_chances([(9000, 0.5), (6000, 1 / 3)])
    assert found.sum() == pytest.approx(1)
    assert found @ np.arange(15001) == pytest.approx(9000 / 2 + 6000 / 3)


def test_adjusted_with_none_keeps_all_p_values_and_with_holm_doubles_the_smaller_of_two() -> None:
    assert adjusted([0.01, 0.04], "none") == [0.01, 0.04]
    assert adjusted([0.01, 0.04], "holm") == [0.02, 0.04]
    assert adjusted([], "holm") == []


def test_mean_share_interval_stays_within_0_and_1() -> None:
    shares = [0.999, 0.9, 0.99, 0.995]
    plain, bounded = one_sample(shares), mean_share(shares)
    assert plain.ci95[1] > 1
    assert 0.5 < bounded[0] < np.mean(shares) < bounded[1] < 1
    assert mean_share([1.0, 0.9, 1.0]) == (pytest.approx(0.823, abs=1e-3), 1.0)
    assert mean_share([0.9]) is mean_share([0.9, 0.9]) is None

"""Test power: against published values, simulated t tests, and the search for the smallest difference."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from spotball_core.stats.power import power_of, smallest_difference


@pytest.mark.parametrize(
    ("size", "n", "alpha", "expected"),
    [(0.5, 34, 0.05, 0.8077775), (0.5, 33, 0.05, 0.7952956), (0.2, 199, 0.05, 0.8016911)],
)
def test_power_of_equals_that_of_gpower_for_one_sample(size: float, n: int, alpha: float, expected: float) -> None:
    assert power_of(size, 1 / np.sqrt(n), df=n - 1, alpha=alpha) == pytest.approx(expected, abs=2e-3)


def test_power_of_a_z_test_of_a_difference_of_0_is_its_level() -> None:
    assert power_of(0.0, 2.0, alpha=0.01) == pytest.approx(0.01)
    assert power_of(-2.0, 1.0) == pytest.approx(power_of(2.0, 1.0))


def test_power_of_equals_the_share_of_significant_simulated_t_tests() -> None:
    from scipy.stats import ttest_1samp

    values = np.random.default_rng(0).normal(0.6, 1.0, (20_000, 12))
    observed = (ttest_1samp(values, 0, axis=1).pvalue <= 0.02).mean()
    assert power_of(0.6, 1 / np.sqrt(12), df=11, alpha=0.02) == pytest.approx(observed, abs=0.012)


@given(
    st.floats(1e-6, 1e6),
    st.one_of(st.none(), st.integers(1, 100)),
    st.sampled_from([0.05, 0.003]),
    st.sampled_from([0.5, 0.8, 0.99]),
)
def test_smallest_difference_has_the_given_power(se: float, df: int | None, alpha: float, power: float) -> None:
    found = smallest_difference(se, df=df, alpha=alpha, power=power)
    assert power_of(found, se, df=df, alpha=alpha) == pytest.approx(power, abs=1e-6)


def test_smallest_difference_with_rounded_degrees_of_freedom_is_nearly_exact() -> None:
    found = smallest_difference(1.0, df=12_345, alpha=0.003)
    assert power_of(found, 1.0, df=12_345, alpha=0.003) == pytest.approx(0.8, abs=1e-4)

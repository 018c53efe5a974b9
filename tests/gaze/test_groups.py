"""Test the comparison of groups of participants, and the weights of participants by empirical Bayes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize
from scipy.stats import betabinom

from spotball_core.errors import OptionError
from spotball_core.gaze.data.trials import Trials, together
from spotball_core.gaze.groups import _GRID, _levels, compare_groups, difference, participant_weights
from spotball_core.gaze.mechanism.records import Estimate
from spotball_core.gaze.power.observers import Observer, factorial_design, simulate
from tests.failures import raises

DESIGN = [one for one in factorial_design() if one.head_target and len(one.objects) > 2 and one.view == "front"]


def test_difference_of_symmetric_intervals_has_the_root_of_the_sum_of_squares() -> None:
    a, b = Estimate(value=0.7, ci95=(0.4, 1.0)), Estimate(value=0.2, ci95=(-0.2, 0.6))
    assert difference(a, b) == (pytest.approx(0.5), pytest.approx((0.0, 1.0)))
    skewed = Estimate(value=0.9, ci95=(0.5, 0.93))
    value, (low, high) = difference(skewed, b) or (0, (0, 0))
    assert (value, low, high) == pytest.approx((0.7, 0.7 - np.hypot(0.4, 0.4), 0.7 + np.hypot(0.03, 0.4)))
    assert difference(a, Estimate(value=None, ci95=None)) is None


def test_weights_of_participants_equal_the_beta_binomial_model() -> None:
    rng = np.random.default_rng(3)
    n = rng.integers(3, 60, 40)
    k = rng.binomial(n, rng.beta(4, 8, 40))

    def loss(logs: np.ndarray) -> float:
        return -float(betabinom.logpmf(k, n, *np.exp(logs)).sum())

    a, b = np.exp(minimize(loss, [0.0, 0.0], method="Nelder-Mead").x)
    logs = {str(i): k[i] * np.log(_GRID) + (n[i] - k[i]) * np.log(1 - _GRID) for i in range(40)}
    found = participant_weights(logs)
    expected = (a + k) / (a + b + n)
    assert np.allclose([w for w, _, _ in found.values()], expected, atol=0.02)
    # The variance of the posterior beta distribution, divided by that of the prior.
    prior = a * b / ((a + b) ** 2 * (a + b + 1))
    posterior = expected * (1 - expected) / (a + b + n + 1)
    assert np.allclose([shrinkage for *_, shrinkage in found.values()], posterior / prior, atol=0.1)
    assert all(low < w < high for w, (low, high), _ in found.values())


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        (["a", "b", None, "a"], ["a", "b", None, "a"]),
        (["20", "30", "20", None], ["20", "30", "20", None]),
        (["18", "20", "25", "31", "40", "52", "60"], ["up to 31"] * 4 + ["above 31"] * 3),
        (["18", "20", "25", "31", "40", "52", "x"], ["18", "20", "25", "31", "40", "52", "x"]),
    ],
)
def test_many_numbers_are_split_at_the_median_and_other_values_are_groups(
    values: list[str | None], levels: list[str | None]
) -> None:
    assert _levels(pl.Series(values, dtype=pl.String)).to_list() == levels


def people(weight: float, group: str, seed: int) -> Trials:
    """Return the trials of ten participants with the same weight, a third of the design each."""
    parts = []
    for person in range(10):
        observer = Observer("compromise", weight=weight, noise=0.3, stimulus_noise=0.0, lapse=0.02)
        frame = simulate(observer, DESIGN[person % 3 :: 3], prompts=1, respondent="human", seed=seed + person).frame
        parts.append(frame.with_columns(participant=pl.lit(f"{group}{person}"), group=pl.lit(group)))
    return Trials(pl.concat(parts))


@pytest.mark.slow
def test_groups_differ_in_weight_and_not_in_noise_and_participants_have_the_weight_of_their_group() -> None:
    both = together([people(0.25, "old", 0), people(0.75, "young", 100)])
    result = compare_groups(both, "group", bootstrap=200)
    old, young = result.groups
    assert [old.group, young.group, old.n_participants] == ["old", "young", 10]
    for group, weight in ((old, 0.25), (young, 0.75)):
        assert group.w.ci95 is not None
        assert group.w.ci95[0] < weight < group.w.ci95[1]
        assert np.mean([one.w for one in group.participants]) == pytest.approx(group.w.value, abs=0.05)
        # All participants have the same weight, so their own trials count little.
        assert np.std([one.w for one in group.participants]) < 0.05
    by_quantity = {one.quantity: one for one in result.differences}
    assert by_quantity["w"].ci95[1] < -0.3
    assert by_quantity["noise"].ci95[0] < 0 < by_quantity["noise"].ci95[1]
    assert by_quantity["accuracy"].difference == pytest.approx((old.accuracy.value or 0) - (young.accuracy.value or 0))


def test_one_group_is_an_error() -> None:
    with raises(OptionError, "no-data:--by"):
        compare_groups(people(0.5, "old", 0), "group")

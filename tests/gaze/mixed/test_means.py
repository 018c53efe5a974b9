"""Test marginal means, contrasts and slopes against explicit loops over the grid."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
from scipy.special import expit
from scipy.stats import norm, tukey_hsd

from spotball_core.errors import OptionError
from spotball_core.gaze.mixed import Fit, MarginalMeans, design, fit, marginal_means, pairwise, slopes
from spotball_core.stats.permutation import holm
from tests.failures import raises
from tests.gaze.mixed.plain import Array

VIEWS = ("front", "left", "right")


@pytest.fixture(scope="module")
def found() -> Fit:
    """Return a fit to synthetic answers with factors, numeric variables and an offset."""
    draw = np.random.default_rng(4)
    n = 600
    stimulus = draw.integers(40, size=n)
    factors = {"view": np.array(VIEWS)[draw.integers(3, size=n)], "hint": draw.random(n) < 0.3}
    numbers = {"proximity": draw.integers(1, 4, n), "distance": draw.integers(0, 3, n).astype(float)}
    table = pl.DataFrame({**factors, **numbers, "age": draw.normal(size=n)})
    offset = draw.normal(size=n) / 3
    eta = offset + 0.3 * table["proximity"].to_numpy() - 0.5 * (table["view"] == "left").to_numpy()
    y = draw.random(n) < expit(eta + draw.normal(size=40)[stimulus])
    terms = ["view*proximity*distance", "hint", "age"]
    return fit(y, design(table, terms), {"stimulus": stimulus}, offset=offset)


def row(found: Fit, view: str, hint: bool, proximity: float, distance: float) -> Array:
    """Return the design row of one grid point, computed by hand with age at its mean."""
    by_name = {
        "intercept": 1.0,
        "view[left]": float(view == "left"),
        "view[right]": float(view == "right"),
        "proximity": proximity,
        "distance": distance,
        "hint[True]": float(hint),
        "age": found.design.variables["age"].mean,
    }
    return np.array([np.prod([by_name[part] for part in name.split(":")]) for name in found.design.names])


def means_of(found: Fit) -> tuple[float, float]:
    return found.design.variables["proximity"].mean, found.design.variables["distance"].mean


def test_marginal_means_of_a_factor_equal_averages_over_hand_computed_grid_rows(found: Fit) -> None:
    means = marginal_means(found, ["view"])
    proximity, distance = means_of(found)
    for i, view in enumerate(VIEWS):
        contrast = np.mean([row(found, view, hint, proximity, distance) for hint in (False, True)], axis=0)
        estimate = contrast @ found.coefficients + np.mean(found.data.offset)
        se = np.sqrt(contrast @ found.covariance @ contrast)
        assert means.table["view"][i] == view
        assert means.table["estimate"][i] == pytest.approx(estimate)
        assert means.table["se"][i] == pytest.approx(se)
        assert means.table["low"][i] == pytest.approx(estimate - 1.959964 * se)
        assert means.table["response_high"][i] == pytest.approx(expit(estimate + 1.959964 * se))
        assert means.table["response"][i] == pytest.approx(expit(estimate))


def test_marginal_means_of_a_factor_and_a_numeric_variable_equal_averages_for_each_combination(found: Fit) -> None:
    means = marginal_means(found, ["proximity", "view"], offset=0.0, level=0.9)
    _, distance = means_of(found)
    grid = list(itertools.product((1.0, 2.0, 3.0), VIEWS))
    rows = [[row(found, view, hint, proximity, distance) for hint in (False, True)] for proximity, view in grid]
    assert means.table.select("proximity", "view").rows() == grid
    np.testing.assert_allclose(means.table["estimate"], np.mean(rows, axis=1) @ found.coefficients)
    assert means.labels[:2] == ("1, front", "1, left")
    reach = means.table["high"] - means.table["estimate"]
    np.testing.assert_allclose(reach, norm.ppf(0.95) * means.table["se"])


def test_marginal_means_use_values_given_with_at_and_return_one_overall_mean_without_factors(found: Fit) -> None:
    means = marginal_means(found, ["age", "view"], at={"age": [0.0, 1.0], "proximity": [2.0]}, offset=0.0)
    assert means.table["age"].to_list() == [0.0] * 3 + [1.0] * 3
    rise = means.table["estimate"][3] - means.table["estimate"][0]
    assert rise == pytest.approx(found.coefficient("age"))
    means = marginal_means(found)
    by_view = marginal_means(found, ["view"]).table["estimate"]
    assert means.table.columns[0] == "estimate"
    assert means.table["estimate"].to_list() == [pytest.approx(by_view.mean())]
    assert means.labels == ("all",)


def test_pairwise_returns_differences_with_standard_errors_and_holm_adjusted_p_values(found: Fit) -> None:
    means = marginal_means(found, ["view"])
    differences = pairwise(means, adjust="none")
    assert differences.select("first", "second").rows() == list(itertools.combinations(VIEWS, 2))
    for i, (a, b) in enumerate(itertools.combinations(range(3), 2)):
        estimate = means.table["estimate"][a] - means.table["estimate"][b]
        se = np.sqrt(means.covariance[a, a] + means.covariance[b, b] - 2 * means.covariance[a, b])
        assert differences["estimate"][i] == pytest.approx(estimate)
        assert differences["se"][i] == pytest.approx(se)
        assert differences["p"][i] == pytest.approx(2 * norm.sf(abs(estimate / se)))
        assert differences["low"][i] == pytest.approx(estimate - 1.959964 * se)
    assert differences["p_adjusted"].equals(differences["p"].rename("p_adjusted"))
    assert pairwise(means)["p_adjusted"].to_list() == pytest.approx(holm(differences["p"].to_list()))


def test_pairwise_tukey_adjustment_equals_scipy_tukey_hsd() -> None:
    """Check independent means of equal variance, with samples so large that t is close to normal."""
    draw = np.random.default_rng(0)
    n = 20_000
    samples = [draw.normal(shift, size=n) for shift in (0.0, 0.02, 0.03)]
    expected = tukey_hsd(*samples)
    table = pl.DataFrame({"sample": ["a", "b", "c"], "estimate": np.mean(samples, axis=1)})
    covariance = np.eye(3) * np.mean(np.var(samples, axis=1, ddof=1)) / n
    adjusted = pairwise(MarginalMeans(table, ("sample",), covariance), adjust="tukey")
    for i, (a, b) in enumerate(itertools.combinations(range(3), 2)):
        assert adjusted["p_adjusted"][i] == pytest.approx(expected.pvalue[a, b], abs=2e-4)
        assert adjusted["low"][i] == pytest.approx(expected.confidence_interval().low[a, b], abs=2e-4)


def test_slopes_by_factor_equal_differences_of_design_rows_and_the_overall_slope_is_their_mean(found: Fit) -> None:
    _, distance = means_of(found)
    by_view = slopes(found, "proximity", ["view"])
    for i, view in enumerate(VIEWS):
        contrast = row(found, view, False, 1.0, distance) - row(found, view, False, 0.0, distance)
        se = np.sqrt(contrast @ found.covariance @ contrast)
        assert by_view["view"][i] == view
        assert by_view["estimate"][i] == pytest.approx(contrast @ found.coefficients)
        assert by_view["se"][i] == pytest.approx(se)
        assert by_view["p"][i] == pytest.approx(2 * norm.sf(abs(by_view["estimate"][i] / se)))
    overall = slopes(found, "proximity")
    assert overall["estimate"].to_list() == [pytest.approx(by_view["estimate"].mean())]
    there = slopes(found, "proximity", ["distance"], at={"distance": [0.0]})
    by_side = [found.coefficient(f"view[{side}]:proximity") for side in ("left", "right")]
    assert there["estimate"][0] == pytest.approx(found.coefficient("proximity") + sum(by_side) / 3)


@pytest.mark.parametrize(
    ("by", "at", "said"),
    [
        (["angle"], {}, "unknown-name"),
        (["age"], {}, "invalid-option"),
        (["view"], {"view": [1.0]}, "invalid-option:view"),
        (["view"], {"age": [1.0, 2.0]}, "invalid-option:age"),
        (["view"], {"age": []}, "invalid-option:age"),
    ],
)
def test_marginal_means_with_an_invalid_grid_is_an_error(
    found: Fit, by: list[str], at: dict[str, list[float]], said: str
) -> None:
    with raises(OptionError, said):
        marginal_means(found, by, at=at)


def test_slopes_and_pairwise_with_invalid_arguments_are_errors(found: Fit) -> None:
    for variable in ("view", "angle"):
        with raises(OptionError, "invalid-option"):
            slopes(found, variable)
    with raises(OptionError, "invalid-option"):
        slopes(found, "proximity", ["proximity"])
    with raises(OptionError, "cannot-estimate"):
        pairwise(marginal_means(found))
    with raises(OptionError, "invalid-option:adjust"):
        pairwise(marginal_means(found, ["view"]), adjust="scheffe")  # type: ignore[arg-type]


def test_marginal_means_with_cov_keep_2_give_both_values_of_a_binary_variable_equal_weight() -> None:
    """Check a variable that is 0 in 3 of 4 trials: its mean is 0.25, but emmeans by default weights 0 and 1 equally."""
    table = pl.DataFrame({"view": ["front", "left"] * 40, "hint": [0, 0, 0, 0, 0, 0, 1, 1] * 10})
    answers = np.random.default_rng(0).integers(0, 2, len(table))
    fitted = fit(answers, design(table, ["view*hint"]))
    b = fitted.coefficients
    at_mean, kept = marginal_means(fitted), marginal_means(fitted, cov_keep=2)
    assert (at_mean.cov_keep, kept.cov_keep) == (0, 2)
    for means, hint in ((at_mean, 0.25), (kept, 0.5)):
        assert means.table["estimate"][0] == pytest.approx(b[0] + b[1] / 2 + (b[2] + b[3] / 2) * hint)
    assert marginal_means(fitted, cov_keep=1).table.equals(at_mean.table)
    # The slope with respect to a variable does not average over values of the variable itself.
    assert slopes(fitted, "hint", cov_keep=2).equals(slopes(fitted, "hint"))

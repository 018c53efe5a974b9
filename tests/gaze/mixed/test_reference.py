"""Test our fits against the lme4 and emmeans results that reference.R computed from reference_data.py."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import chi2, norm

from spotball_core.gaze.mixed import Fit, choose, design, fit, likelihood_ratio, marginal_means, pairwise, slopes
from tests.gaze.mixed.reference_data import CASES, Array, Case

REFERENCE = {
    found["name"]: found for found in json.loads(Path(__file__).with_name("reference.json").read_text())["fits"]
}
"""The results of each case, unchanged from R."""


@functools.cache
def case(name: str) -> Case:
    return CASES[name]()


def arguments(name: str) -> dict[str, Any]:
    table = case(name).table
    return {
        "y": table["y"].to_numpy(),
        "design": design(table, case(name).terms),
        "groups": {group: table[group].to_numpy() for group in case(name).groups},
        "weights": table["trials"].to_numpy() if case(name).weights else None,
        "offset": table["chance"].to_numpy() if case(name).offset else None,
    }


@functools.cache
def ours(name: str) -> Fit:
    return fit(**arguments(name))


def array(values: object) -> Array:
    return np.atleast_1d(np.asarray(values, dtype=float))


def test_reference_json_has_results_for_all_cases_of_reference_data() -> None:
    assert REFERENCE.keys() == CASES.keys()


@pytest.mark.parametrize("name", CASES)
def test_fit_agrees_with_lme4(name: str) -> None:
    found, expected = ours(name), REFERENCE[name]
    # R used the same table.
    assert case(name).digest == expected["digest"]
    assert found.n == expected["n"] == len(case(name).table)
    assert len(found.design.names) == len(expected["coefficients"])
    np.testing.assert_allclose(found.coefficients, list(expected["coefficients"].values()), rtol=0, atol=1e-4)
    np.testing.assert_allclose(found.standard_errors, expected["standard_errors"], rtol=5e-3)
    assert found.sds == pytest.approx(expected["sds"], rel=1e-3, abs=1e-6)
    assert found.log_likelihood == pytest.approx(expected["log_likelihood"], abs=1e-3)
    assert (found.converged, found.message, found.singular) == (True, "", expected["singular"])


@pytest.mark.parametrize("name", [name for name, found in REFERENCE.items() if "means" in found])
class TestMarginalMeans:
    def test_marginal_means_agree_with_emmeans(self, name: str) -> None:
        given, expected = case(name), REFERENCE[name]["means"]
        means = marginal_means(ours(name), given.means, at=given.at).table
        rows = pl.DataFrame({factor: expected[factor] for factor in given.means}).with_row_index("place")
        casts = [pl.col(factor).cast(means[factor].dtype) for factor in given.means]
        places = means.join(rows.with_columns(casts), on=given.means, how="left", maintain_order="left")["place"]
        order = places.to_numpy()
        np.testing.assert_allclose(means["estimate"], array(expected["emmean"])[order], rtol=1e-4, atol=1e-4)
        for ours_, theirs in (("se", "SE"), ("low", "asymp.LCL"), ("high", "asymp.UCL")):
            np.testing.assert_allclose(means[ours_], array(expected[theirs])[order], rtol=2e-3, atol=2e-3)
        response = REFERENCE[name]["responses"]
        for ours_, theirs in (("response", "prob"), ("response_low", "asymp.LCL"), ("response_high", "asymp.UCL")):
            np.testing.assert_allclose(means[ours_], array(response[theirs])[order], atol=1e-3)

    @pytest.mark.parametrize("adjust", ["tukey", "holm"])
    def test_pairwise_contrasts_agree_with_emmeans(self, name: str, adjust: Any) -> None:
        given, expected = case(name), REFERENCE[name][adjust]
        found = pairwise(marginal_means(ours(name), given.means, at=given.at), adjust=adjust)
        assert len(found) == len(expected["contrast"])

        def sided(estimates: Array, *others: Array) -> Array:
            """Return rows with an order and sign that do not depend on which mean is first."""
            columns = np.column_stack([np.abs(estimates), *others])
            return columns[np.lexsort(np.round(columns, 3).T)]

        np.testing.assert_allclose(
            sided(found["estimate"].to_numpy(), found["se"].to_numpy(), found["p_adjusted"].to_numpy()),
            sided(*(array(expected[key]) for key in ("estimate", "SE", "p.value"))),
            atol=3e-3,
        )


@pytest.mark.parametrize("name", [name for name, found in REFERENCE.items() if "slopes" in found])
def test_slopes_agree_with_emmeans(name: str) -> None:
    given, expected = case(name), REFERENCE[name]["slopes"]
    found = slopes(ours(name), given.slope, [given.slope_by] if given.slope_by else [])
    if given.slope_by:
        assert found[given.slope_by].to_list() == expected[given.slope_by]
    np.testing.assert_allclose(found["estimate"], array(expected[f"{given.slope}.trend"]), atol=1e-4)
    np.testing.assert_allclose(found["se"], array(expected["SE"]), rtol=5e-3)
    np.testing.assert_allclose(found["low"], array(expected["asymp.LCL"]), atol=2e-3)
    np.testing.assert_allclose(found["high"], array(expected["asymp.UCL"]), atol=2e-3)


def test_likelihood_ratio_agrees_with_lme4() -> None:
    larger, smaller = (REFERENCE[name] for name in ("interaction", "no interaction"))
    test = likelihood_ratio(ours("no interaction"), ours("interaction"))
    expected = 2 * (larger["log_likelihood"] - smaller["log_likelihood"])
    assert test.df == len(larger["coefficients"]) - len(smaller["coefficients"]) == 3
    assert test.chi2 == pytest.approx(expected, abs=1e-4)
    assert test.p == pytest.approx(chi2.sf(expected, 3), abs=1e-4)


def test_choose_drops_a_group_with_zero_variance_and_keeps_groups_with_variance() -> None:
    chosen = choose(**arguments("singular"))
    assert chosen.groups == ("stimulus", "prompt")
    assert chosen.fit.log_likelihood == pytest.approx(REFERENCE["singular"]["log_likelihood"], abs=1e-3)
    assert [(one.groups, one.reason) for one in chosen.dropped] == [
        (("stimulus", "prompt", "objects"), "singular: objects has zero variance")
    ]
    assert chosen.full.singular
    kept = choose(**arguments("two groups"))
    assert kept.groups == ("stimulus", "prompt")
    assert kept.dropped == ()
    assert kept.fit is kept.full


def test_fit_wald_z_p_values_and_intervals_agree_with_lme4() -> None:
    found = ours("two groups")
    errors = np.array(REFERENCE["two groups"]["standard_errors"])
    z = np.array(list(REFERENCE["two groups"]["coefficients"].values())) / errors
    np.testing.assert_allclose(found.z, z, rtol=5e-3)
    np.testing.assert_allclose(found.p_values, 2 * norm.sf(np.abs(z)), atol=1e-3)
    np.testing.assert_allclose(np.diff(found.intervals(0.9)).ravel(), 2 * norm.ppf(0.95) * errors, rtol=5e-3)

"""Test that fits are maxima of the Laplace likelihood, do not depend on irrelevant changes, and report failures.

The likelihood is compared with its definition and with exact integrals, and its gradient with finite differences.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit

from spotball_core.errors import OptionError
from spotball_core.gaze.mixed import Fit, design, fit
from spotball_core.gaze.mixed.laplace import Data, Likelihood
from tests.conftest import examples
from tests.failures import raises
from tests.gaze.mixed import plain
from tests.gaze.mixed.plain import Array


def synthetic(seed: int, *, stimuli: int = 25, prompts: int = 6, sd: float = 1.0) -> tuple[pl.DataFrame, Array]:
    """Return a table of every stimulus with every prompt, and simulated answers."""
    draw = np.random.default_rng(seed)
    stimulus, prompt = (index.ravel() for index in np.mgrid[:stimuli, :prompts])
    x = draw.normal(size=stimuli)[stimulus] + draw.normal(size=stimulus.size) / 2
    eta = 0.3 + 0.5 * x + sd * draw.normal(size=stimuli)[stimulus] + 0.5 * draw.normal(size=prompts)[prompt]
    table = pl.DataFrame({"stimulus": stimulus, "prompt": prompt, "x": x})
    return table, (draw.random(stimulus.size) < expit(eta)).astype(float)


def fit_two(table: pl.DataFrame, y: Array, **more: Any) -> Fit:
    return fit(y, design(table, ["x"]), {name: table[name].to_numpy() for name in ("stimulus", "prompt")}, **more)


def plain_value(table: pl.DataFrame, y: Array, parameters: Array) -> float:
    fixed = parameters[2] + parameters[3] * table["x"].to_numpy()
    labels = [table["stimulus"].to_numpy(), table["prompt"].to_numpy()]
    return plain.laplace(y, np.ones(len(y)), fixed, labels, [abs(parameters[0]), abs(parameters[1])])


class TestFitMaximum:
    def test_fit_is_a_local_maximum_of_the_likelihood_and_its_covariance_is_the_inverse_hessian(self) -> None:
        table, y = synthetic(1, stimuli=12, prompts=4)
        found = fit_two(table, y)
        at = np.array([found.sds["stimulus"], found.sds["prompt"], *found.coefficients])
        value = plain_value(table, y, at)
        assert value == pytest.approx(found.log_likelihood, abs=1e-6)
        h = 0.02
        hessian = np.empty((4, 4))
        steps = np.eye(4) * h
        for i in range(4):
            assert plain_value(table, y, at + steps[i]) < value
            assert plain_value(table, y, at - steps[i]) < value
            for j in range(4):
                corners = [plain_value(table, y, at + a * steps[i] + b * steps[j]) for a, b in SIGNS]
                hessian[i, j] = -(corners[0] - corners[1] - corners[2] + corners[3]) / (4 * h * h)
        covariance = np.linalg.inv(hessian)[2:, 2:]
        np.testing.assert_allclose(found.covariance, covariance, rtol=0.01)

    def test_fit_without_groups_equals_logistic_regression(self) -> None:
        table, y = synthetic(3)
        weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
        offset = np.random.default_rng(1).normal(size=len(y))
        found = fit(y, design(table, ["x"]), weights=weights, offset=offset)
        x = np.column_stack([np.ones(len(y)), table["x"].to_numpy()])

        def minus(beta: Array) -> float:
            eta = offset + x @ beta
            return -float(weights @ (y * eta - np.logaddexp(0, eta)))

        other = minimize(minus, np.zeros(2), method="BFGS")
        np.testing.assert_allclose(found.coefficients, other.x, atol=1e-4)
        w = weights * expit(offset + x @ found.coefficients) * expit(-offset - x @ found.coefficients)
        np.testing.assert_allclose(found.covariance, np.linalg.inv(x.T @ (w[:, None] * x)), rtol=1e-6)
        expected = plain.log_probability(y * weights, weights, offset + x @ found.coefficients)
        assert found.log_likelihood == pytest.approx(expected)
        assert (found.sds, found.converged, found.singular) == ({}, True, False)

    def test_fit_effects_are_the_conditional_modes_of_the_random_effects(self) -> None:
        table, y = synthetic(4)
        found = fit_two(table, y)
        effects = {name: found.effects(name) for name in ("stimulus", "prompt")}
        intercept, slope = found.coefficients
        of_groups = [(effects["stimulus"][s], effects["prompt"][p], slope * x) for s, p, x in table.iter_rows()]
        eta = intercept + np.sum(of_groups, axis=1)
        np.testing.assert_allclose(found.linear_predictor, eta)
        for name, sd in found.sds.items():
            for level, mode in effects[name].items():
                residual = float(np.sum((y - expit(eta))[(table[name] == level).to_numpy()]))
                assert residual == pytest.approx(mode / sd**2, abs=1e-4)


SIGNS = [(1, 1), (1, -1), (-1, 1), (-1, -1)]


class TestFitInvariance:
    @given(seed=st.integers(0, 10**6), shift=st.floats(-2, 2))
    @settings(max_examples=15, deadline=None)
    def test_fit_ignores_row_order_and_an_offset_shifts_its_intercept_and_swapped_answers_flip_its_signs(
        self, seed: int, shift: float
    ) -> None:
        table, y = synthetic(seed, stimuli=15, prompts=4)
        usual = fit_two(table, y)
        order = np.random.default_rng(seed).permutation(len(y))
        renamed = table[order.tolist()].with_columns(pl.format("s{}", 99 - pl.col("stimulus")).alias("stimulus"))
        same_fit(usual, fit_two(renamed, y[order]))
        # A constant offset shifts only the intercept. Swapping yes and no flips the signs of the coefficients.
        moved, swapped = fit_two(table, y, offset=np.full(len(y), shift)), fit_two(table, 1 - y)
        assert moved.coefficients[0] == pytest.approx(usual.coefficients[0] - shift, abs=1e-4)
        np.testing.assert_allclose(swapped.coefficients, -usual.coefficients, atol=1e-4)
        for found in (moved, swapped):
            assert found.log_likelihood == pytest.approx(usual.log_likelihood, abs=1e-6)

    @given(seed=st.integers(0, 10**6))
    @settings(max_examples=15, deadline=None)
    def test_fit_of_aggregated_trials_equals_fit_of_single_trials(self, seed: int) -> None:
        table, y = synthetic(seed, stimuli=15, prompts=4)
        draw = np.random.default_rng(seed)
        trials = draw.integers(1, 4, len(y))
        successes = draw.binomial(trials, 0.2 + 0.6 * y)
        one = fit_two(table, successes / trials, weights=trials)
        several = table.select(pl.all().repeat_by(pl.Series(trials)).explode())
        each = np.concatenate([np.arange(m) < k for m, k in zip(trials, successes, strict=True)]).astype(float)
        same_fit(one, fit_two(several, each), but=one.data.constant)

    def test_fit_of_a_rescaled_and_shifted_variable_scales_its_coefficient_and_keeps_the_likelihood(self) -> None:
        table, y = synthetic(5)
        usual = fit_two(table, y)
        tiny = fit_two(table.with_columns(pl.col("x") * 1e-5 + 3), y)
        assert tiny.coefficient("x") * 1e-5 == pytest.approx(usual.coefficient("x"), abs=1e-5)
        assert tiny.standard_errors[1] * 1e-5 == pytest.approx(usual.standard_errors[1], rel=1e-3)
        assert tiny.log_likelihood == pytest.approx(usual.log_likelihood, abs=1e-6)


def same_fit(one: Fit, other: Fit, *, but: float = 0.0) -> None:
    assert one.log_likelihood == pytest.approx(other.log_likelihood + but, abs=1e-5)
    np.testing.assert_allclose(one.coefficients, other.coefficients, atol=1e-3)
    np.testing.assert_allclose(list(one.sds.values()), list(other.sds.values()), atol=1e-3)
    if one.converged:
        np.testing.assert_allclose(one.standard_errors, other.standard_errors, rtol=1e-2)


class TestFitFailures:
    def test_fit_of_a_group_without_variance_is_singular(self) -> None:
        """Check answers with as many yes as no per stimulus, so that the shares of yes vary less than by chance."""
        table, _ = synthetic(6, stimuli=40)
        found = fit_two(table, np.tile([0.0, 1.0, 0.0, 1.0, 0.0, 1.0], 40))
        assert found.sds["stimulus"] == 0
        assert found.singular

    def test_fit_with_a_perfectly_separating_column_does_not_converge(self) -> None:
        table, y = synthetic(7)
        found = fit_two(table.with_columns(x=pl.Series(y + 0.1)), y)
        assert not found.converged
        assert found.message
        alone = fit(y, design(table.with_columns(x=pl.Series(y + 0.1)), ["x"]))
        assert not alone.converged
        assert "x" in alone.message

    def test_fit_of_answers_that_are_identical_or_determined_by_group_levels_does_not_converge(self) -> None:
        table, _ = synthetic(8)
        for y in (np.zeros(150), np.ones(150)):
            for found in (fit_two(table, y), fit(y, design(table))):
                assert (found.converged, found.message) == (False, "all answers are the same")
        table, _ = synthetic(9, stimuli=40)
        found = fit_two(table, (table["stimulus"].to_numpy() % 2).astype(float))
        assert (found.converged, found.message) == (False, "the answers do not determine the intercepts of stimulus")

    @pytest.mark.parametrize(
        ("changed", "where"),
        [
            *(({"y": np.full(150, value)}, "invalid-value") for value in (0.5, 2.0, -1.0)),
            ({"y": np.zeros(149)}, "wrong-shape:y"),
            ({"y": np.full(150, np.nan)}, "invalid-value:y"),
            *(({"weights": np.full(150, value)}, "invalid-value") for value in (0.0, 1.5)),
            ({"offset": np.full(150, np.inf)}, "invalid-value:offset"),
            ({"groups": {"site": np.zeros(150)}}, "cannot-estimate"),
            ({"groups": {"site": np.zeros(3)}}, "wrong-shape"),
        ],
    )
    def test_fit_with_invalid_arguments_is_an_error(self, changed: dict[str, Any], where: str) -> None:
        table, y = synthetic(10)
        usual: dict[str, Any] = {"y": y, "design": design(table, ["x"]), "groups": {"prompt": table["prompt"]}}
        with raises(OptionError, where):
            fit(**usual | changed)

    def test_fit_effects_or_coefficient_of_an_unknown_name_is_an_error(self) -> None:
        found = fit_two(*synthetic(11))
        for get, name in ((found.effects, "objects"), (found.coefficient, "view")):
            with raises(OptionError, "unknown-name"):
                get(name)


def drawn(seed: int, *, rows: int = 60, sizes: tuple[int, ...] = (7, 4), columns: int = 2, most: int = 3) -> Data:
    """Simulate answers of a small model in which every level of every group occurs."""
    draw = np.random.default_rng(seed)
    codes = [np.concatenate([np.arange(size), draw.integers(size, size=rows - size)]) for size in sizes]
    matrix = np.column_stack([np.ones(rows), draw.normal(size=(rows, columns - 1))])
    trials = draw.integers(1, most + 1, rows).astype(float)
    eta = matrix @ draw.normal(size=columns) + sum(draw.normal(size=max(sizes))[code] for code in codes)
    return Data(
        successes=draw.binomial(trials.astype(int), expit(eta)).astype(float),
        trials=trials,
        matrix=matrix,
        offset=draw.normal(size=rows) / 2,
        names=tuple("abc"[: len(sizes)]),
        codes=tuple(codes),
        levels=tuple(tuple(range(size)) for size in sizes),
    )


SIZES = st.sampled_from([(5,), (7, 4), (6, 6), (9, 5, 3)])
SDS = st.lists(st.floats(0, 3), min_size=3, max_size=3)


@given(seed=st.integers(0, 10**6), sizes=SIZES, sds=SDS)
@settings(max_examples=examples(30), deadline=None)
def test_likelihood_equals_the_laplace_approximation_computed_with_dense_matrices(
    seed: int, sizes: tuple[int, ...], sds: list[float]
) -> None:
    data = drawn(seed, sizes=sizes)
    theta, beta = np.array(sds[: len(sizes)]), np.array([0.3, -0.5])
    value, _ = Likelihood(data)(theta, beta)
    fixed = data.offset + data.matrix @ beta
    assert value == pytest.approx(plain.laplace(data.successes, data.trials, fixed, data.codes, theta), abs=1e-6)


@given(seed=st.integers(0, 10**6), sizes=SIZES, sds=st.lists(st.floats(0.05, 3), min_size=3, max_size=3))
@settings(max_examples=examples(30), deadline=None)
def test_likelihood_gradient_equals_finite_differences(seed: int, sizes: tuple[int, ...], sds: list[float]) -> None:
    data = drawn(seed, sizes=sizes)
    k = len(sizes)
    at = np.array([*sds[:k], 0.3, -0.5])

    def value(x: Array) -> float:
        return Likelihood(data)(x[:k], x[k:])[0]

    _, slope = Likelihood(data)(at[:k], at[k:])
    central = (approx_fprime(at, value, 1e-5) + approx_fprime(at, value, -1e-5)) / 2
    np.testing.assert_allclose(slope, central, atol=1e-4)


def test_likelihood_is_symmetric_in_the_sign_of_a_group_sd_and_its_gradient_is_0_at_sd_0() -> None:
    data = drawn(3)
    beta = np.array([0.2, 0.1])
    value, slope = Likelihood(data)(np.array([0.8, 0.0]), beta)
    assert slope[1] == 0
    fixed = data.offset + data.matrix @ beta
    assert value == pytest.approx(plain.laplace(data.successes, data.trials, fixed, data.codes[:1], [0.8]))
    there, back = (Likelihood(data)(np.array([0.8, sd]), beta)[0] for sd in (0.6, -0.6))
    assert there == pytest.approx(back, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("sd", [0.3, 1.0, 2.0])
def test_laplace_likelihood_is_close_to_the_exact_integral(sd: float) -> None:
    """Check that the error per level is small and shrinks as the number of answers per level grows."""
    errors = []
    for repeats in (4, 16, 64):
        draw = np.random.default_rng(1)
        code = np.arange(8).repeat(repeats)
        eta = 0.4 + sd * draw.normal(size=8)[code]
        yes = (draw.random(len(code)) < expit(eta)).astype(float)
        ones = np.ones(len(code))
        data = Data(yes, ones, ones[:, None], 0 * ones, ("a",), (code,), (tuple(range(8)),))
        value, _ = Likelihood(data)(np.array([sd]), np.array([0.4]))
        errors.append(abs(value - plain.exact(yes, ones, 0.4 * ones, code, sd)) / 8)
    assert np.all(np.less(errors, (0.03, 0.022, 0.008))), errors
    assert sd < 1 or errors[2] < errors[0] / 2


def test_likelihood_information_equals_the_information_of_the_weighted_linear_model() -> None:
    data = drawn(5)
    theta, beta = np.array([0.7, 0.4]), np.array([0.1, 0.2])
    likelihood = Likelihood(data)
    found = likelihood.information(theta, beta)
    u = likelihood.mode
    eta = data.offset + data.matrix @ beta + 0.7 * u[:7][data.codes[0]] + 0.4 * u[7:][data.codes[1]]
    w = data.trials * expit(eta) * expit(-eta)
    levels = [(0, level) for level in range(7)] + [(1, level) for level in range(4)]
    a = np.column_stack([theta[group] * (data.codes[group] == level) for group, level in levels])
    # The linear mixed model with these weights has this covariance; the information uses the inverse of the covariance.
    covariance = np.diag(1 / w) + a @ a.T
    np.testing.assert_allclose(found, data.matrix.T @ np.linalg.solve(covariance, data.matrix), rtol=1e-8)

"""Test that fits are maxima, do not depend on irrelevant changes, and report failures."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize
from scipy.special import expit

from spotball_core.errors import OptionError
from spotball_core.gaze.mixed import Fit, design, fit
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


class TestMaximum:
    def test_fit_is_a_local_maximum_and_covariance_is_the_inverse_hessian(self) -> None:
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

    @pytest.mark.slow
    def test_fit_agrees_with_a_nelder_mead_search(self) -> None:
        table, y = synthetic(2, stimuli=12, prompts=4)
        found = fit_two(table, y)
        other = minimize(
            lambda parameters: -plain_value(table, y, parameters),
            np.array([0.5, 0.5, 0.0, 0.0]),
            method="Nelder-Mead",
            options={"xatol": 1e-5, "fatol": 1e-9, "maxiter": 3000, "maxfev": 3000},
        )
        assert -other.fun == pytest.approx(found.log_likelihood, abs=1e-5)
        np.testing.assert_allclose(np.abs(other.x[:2]), list(found.sds.values()), atol=5e-3)
        np.testing.assert_allclose(other.x[2:], found.coefficients, atol=5e-3)

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
        assert found.log_likelihood == pytest.approx(
            plain.log_probability(y * weights, weights, offset + x @ found.coefficients)
        )
        assert found.sds == {}
        assert found.converged
        assert not found.singular

    def test_effects_are_the_modes_of_the_integrand(self) -> None:
        table, y = synthetic(4)
        found = fit_two(table, y)
        effects = {name: found.effects(name) for name in ("stimulus", "prompt")}
        eta = np.array(
            [
                found.coefficients[0] + found.coefficients[1] * x + effects["stimulus"][s] + effects["prompt"][p]
                for s, p, x in table.iter_rows()
            ]
        )
        np.testing.assert_allclose(found.linear_predictor, eta)
        for name, sd in found.sds.items():
            for level, mode in effects[name].items():
                residual = float(np.sum((y - expit(eta))[(table[name] == level).to_numpy()]))
                assert residual == pytest.approx(mode / sd**2, abs=1e-4)


SIGNS = [(1, 1), (1, -1), (-1, 1), (-1, -1)]


class TestWhatDoesNotMatter:
    @given(seed=st.integers(0, 10**6))
    @settings(max_examples=15, deadline=None)
    def test_fit_does_not_depend_on_row_order_or_level_names(self, seed: int) -> None:
        table, y = synthetic(seed, stimuli=15, prompts=4)
        order = np.random.default_rng(seed).permutation(len(y))
        renamed = table[order.tolist()].with_columns(pl.format("s{}", 99 - pl.col("stimulus")).alias("stimulus"))
        same_fit(fit_two(table, y), fit_two(renamed, y[order]))

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

    @given(seed=st.integers(0, 10**6), shift=st.floats(-2, 2))
    @settings(max_examples=15, deadline=None)
    def test_constant_offset_shifts_only_the_intercept(self, seed: int, shift: float) -> None:
        table, y = synthetic(seed, stimuli=15, prompts=4)
        moved = fit_two(table, y, offset=np.full(len(y), shift))
        plain_fit = fit_two(table, y)
        assert moved.coefficients[0] == pytest.approx(plain_fit.coefficients[0] - shift, abs=1e-4)
        assert moved.log_likelihood == pytest.approx(plain_fit.log_likelihood, abs=1e-6)

    @given(seed=st.integers(0, 10**6))
    @settings(max_examples=15, deadline=None)
    def test_swapping_yes_and_no_flips_the_signs_of_the_coefficients(self, seed: int) -> None:
        table, y = synthetic(seed, stimuli=15, prompts=4)
        yes, no = fit_two(table, y), fit_two(table, 1 - y)
        np.testing.assert_allclose(no.coefficients, -yes.coefficients, atol=1e-4)
        assert no.log_likelihood == pytest.approx(yes.log_likelihood, abs=1e-6)

    def test_fit_scales_with_the_unit_of_a_numeric_variable(self) -> None:
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


class TestWhatGoesWrong:
    def test_fit_of_a_group_without_variance_is_singular(self) -> None:
        """Check answers with as many yes as no per stimulus, so that intercepts vary less than by chance."""
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

    @pytest.mark.parametrize("answer", [0.0, 1.0])
    def test_fit_of_identical_answers_does_not_converge(self, answer: float) -> None:
        table, _ = synthetic(8)
        for found in (fit_two(table, np.full(150, answer)), fit(np.full(150, answer), design(table))):
            assert not found.converged
            assert found.message == "all answers are the same"

    def test_fit_does_not_converge_if_group_levels_determine_all_answers(self) -> None:
        table, _ = synthetic(9, stimuli=40)
        found = fit_two(table, (table["stimulus"].to_numpy() % 2).astype(float))
        assert not found.converged
        assert found.message == "the answers do not determine the intercepts of stimulus"

    @pytest.mark.parametrize(
        ("changed", "said"),
        [
            ({"y": np.full(150, 0.5)}, "invalid-value"),
            ({"y": np.full(150, 2.0)}, "invalid-value"),
            ({"y": np.full(150, -1.0)}, "invalid-value"),
            ({"y": np.zeros(149)}, "wrong-shape:y"),
            ({"y": np.full(150, np.nan)}, "invalid-value:y"),
            ({"weights": np.full(150, 0.0)}, "invalid-value"),
            ({"weights": np.full(150, 1.5)}, "invalid-value"),
            ({"offset": np.full(150, np.inf)}, "invalid-value:offset"),
            ({"groups": {"site": np.zeros(150)}}, "cannot-estimate"),
            ({"groups": {"site": np.zeros(3)}}, "wrong-shape"),
        ],
    )
    def test_fit_with_invalid_arguments_is_an_error(self, changed: dict[str, Any], said: str) -> None:
        table, y = synthetic(10)
        usual: dict[str, Any] = {"y": y, "design": design(table, ["x"]), "groups": {"prompt": table["prompt"]}}
        with raises(OptionError, said):
            fit(**usual | changed)

    def test_unknown_group_or_column_of_a_fit_is_an_error(self) -> None:
        found = fit_two(*synthetic(11))
        with raises(OptionError, "unknown-name"):
            found.effects("objects")
        with raises(OptionError, "unknown-name"):
            found.coefficient("view")

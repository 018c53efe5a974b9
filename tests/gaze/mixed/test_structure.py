"""Test the choice of the random-effects structure, and likelihood-ratio tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import expit
from scipy.stats import kstest

from spotball_core.errors import OptionError
from spotball_core.gaze.mixed import choose, design, fit, likelihood_ratio
from tests.failures import raises


def crossed(seed: int, stimulus_sd: float, prompt_sd: float, answers: int = 8) -> dict[str, Any]:
    """Return simulated answers for 50 stimuli crossed with prompts, as arguments of `fit`."""
    draw = np.random.default_rng(seed)
    stimulus, prompt = (index.ravel() for index in np.mgrid[:50, :answers])
    x = draw.normal(size=50)[stimulus]
    eta = 0.2 + stimulus_sd * draw.normal(size=50)[stimulus] + prompt_sd * draw.normal(size=answers)[prompt]
    y = (draw.random(eta.size) < expit(eta)).astype(float)
    return {"y": y, "design": design(pl.DataFrame({"x": x}), ["x"]), "groups": {"prompt": prompt, "stimulus": stimulus}}


def balanced(arguments: dict[str, Any], period: int) -> dict[str, Any]:
    """Return the arguments with as many yes as no per stimulus, so that variance is lower than by chance."""
    return arguments | {"y": (np.arange(len(arguments["y"])) // period % 2).astype(float)}


def test_choose_keeps_all_groups_if_all_vary() -> None:
    chosen = choose(**crossed(0, 1.0, 0.8))
    assert chosen.groups == ("prompt", "stimulus")
    assert chosen.dropped == ()


def test_choose_drops_a_group_without_variance() -> None:
    arguments = crossed(1, 1.0, 0.0)
    arguments["groups"]["none"] = np.tile(np.arange(5), 80)
    chosen = choose(**arguments)
    assert "stimulus" in chosen.groups
    assert not chosen.fit.singular
    assert chosen.fit.converged
    for one in chosen.dropped:
        assert set(one.groups) > set(chosen.groups)
        assert one.reason.startswith("singular: ")
    without = {name: arguments["groups"][name] for name in chosen.groups}
    alone = fit(arguments["y"], arguments["design"], without)
    assert chosen.fit.log_likelihood == pytest.approx(alone.log_likelihood, abs=1e-8)


def test_choose_without_any_group_variance_returns_the_fit_without_groups() -> None:
    arguments = balanced(crossed(2, 0.0, 0.0), 1)
    arguments["groups"] = {"stimulus": arguments["groups"]["stimulus"]}
    chosen = choose(**arguments)
    assert chosen.groups == ()
    assert [one.reason for one in chosen.dropped] == ["singular: stimulus has zero variance"]
    plain = fit(arguments["y"], arguments["design"])
    np.testing.assert_array_equal(chosen.fit.coefficients, plain.coefficients)


def test_choose_drops_a_structure_that_does_not_converge_and_reports_the_reason() -> None:
    """Check answers that the stimulus determines, so that the likelihood has no maximum."""
    arguments = crossed(3, 0.0, 0.0)
    arguments["y"] = (arguments["groups"]["stimulus"] % 2).astype(float)
    chosen = choose(**arguments)
    assert not chosen.full.converged
    assert "stimulus" not in chosen.groups
    assert chosen.dropped[0].groups == ("prompt", "stimulus")
    assert chosen.dropped[0].reason.startswith("did not converge: the answers do not determine")


def test_choose_with_identical_answers_drops_all_structures() -> None:
    arguments = crossed(4, 1.0, 0.0) | {"y": np.zeros(400)}
    chosen = choose(**arguments)
    assert chosen.groups == ()
    assert not chosen.fit.converged
    assert chosen.fit.message == "all answers are the same"
    assert len(chosen.dropped) == 3


@pytest.mark.slow
def test_likelihood_ratio_p_is_uniform_under_the_null_hypothesis() -> None:
    values = []
    for seed in range(120):
        arguments = crossed(seed, 0.8, 0.5, answers=4)
        larger = fit(**arguments)
        smaller = fit(arguments["y"], design(pl.DataFrame({"x": [0] * 200})), arguments["groups"])
        test = likelihood_ratio(smaller, larger)
        assert test.df == 1
        values.append(test.p)
    assert kstest(values, "uniform").pvalue > 0.01


def test_likelihood_ratio_of_incomparable_fits_is_an_error() -> None:
    arguments = crossed(5, 1.0, 0.5)
    found = fit(**arguments)
    with raises(OptionError, "invalid-option"):
        likelihood_ratio(fit(**arguments | {"y": 1 - arguments["y"]}), found)
    with raises(OptionError, "invalid-option"):
        likelihood_ratio(found, found)

"""Test the choice of the random-effects structure, likelihood-ratio tests, and the detection of two clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import expit
from scipy.stats import kstest

from spotball_core.errors import OptionError
from spotball_core.gaze.mixed import Bimodality, bimodal, choose, design, fit, likelihood_ratio
from tests.failures import raises
from tests.gaze.mixed.plain import Array


def crossed(seed: int, stimulus_sd: float, prompt_sd: float, answers: int = 8) -> dict[str, Any]:
    """Return simulated answers for 50 stimuli crossed with prompts, as arguments of `fit`."""
    draw = np.random.default_rng(seed)
    stimulus, prompt = (index.ravel() for index in np.mgrid[:50, :answers])
    x = draw.normal(size=50)[stimulus]
    eta = 0.2 + stimulus_sd * draw.normal(size=50)[stimulus] + prompt_sd * draw.normal(size=answers)[prompt]
    y = (draw.random(eta.size) < expit(eta)).astype(float)
    return {"y": y, "design": design(pl.DataFrame({"x": x}), ["x"]), "groups": {"prompt": prompt, "stimulus": stimulus}}


def test_choose_drops_only_groups_without_variance() -> None:
    chosen = choose(**crossed(0, 1.0, 0.8))
    assert (chosen.groups, chosen.dropped) == (("prompt", "stimulus"), ())
    arguments = crossed(1, 1.0, 0.0)
    arguments["groups"]["none"] = np.tile(np.arange(5), 80)
    chosen = choose(**arguments)
    assert "stimulus" in chosen.groups
    assert (chosen.fit.singular, chosen.fit.converged) == (False, True)
    for one in chosen.dropped:
        assert set(one.groups) > set(chosen.groups)
        assert one.reason.startswith("singular: ")
    without = {name: arguments["groups"][name] for name in chosen.groups}
    alone = fit(arguments["y"], arguments["design"], without)
    assert chosen.fit.log_likelihood == pytest.approx(alone.log_likelihood, abs=1e-8)


def test_choose_without_any_group_variance_or_for_identical_answers_returns_the_fit_without_groups() -> None:
    # With as many yes as no for each stimulus, the shares of yes vary less than by chance.
    arguments = crossed(2, 0.0, 0.0) | {"y": np.tile([0.0, 1.0], 200)}
    arguments["groups"] = {"stimulus": arguments["groups"]["stimulus"]}
    chosen = choose(**arguments)
    assert chosen.groups == ()
    assert [one.reason for one in chosen.dropped] == ["singular: stimulus has zero variance"]
    plain = fit(arguments["y"], arguments["design"])
    np.testing.assert_array_equal(chosen.fit.coefficients, plain.coefficients)
    # If all answers are the same, all structures are dropped.
    chosen = choose(**crossed(4, 1.0, 0.0) | {"y": np.zeros(400)})
    assert (chosen.groups, len(chosen.dropped)) == ((), 3)
    assert (chosen.fit.converged, chosen.fit.message) == (False, "all answers are the same")


def test_choose_drops_a_structure_that_does_not_converge_and_reports_the_reason() -> None:
    """Check answers that the stimulus determines, so that the likelihood has no maximum."""
    arguments = crossed(3, 0.0, 0.0)
    arguments["y"] = (arguments["groups"]["stimulus"] % 2).astype(float)
    chosen = choose(**arguments)
    assert not chosen.full.converged
    assert "stimulus" not in chosen.groups
    assert chosen.dropped[0].groups == ("prompt", "stimulus")
    assert chosen.dropped[0].reason.startswith("did not converge: the answers do not determine")


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


def test_likelihood_ratio_of_fits_of_different_answers_or_of_the_same_fit_is_an_error() -> None:
    arguments = crossed(5, 1.0, 0.5)
    found = fit(**arguments)
    for smaller in (fit(**arguments | {"y": 1 - arguments["y"]}), found):
        with raises(OptionError, "invalid-option"):
            likelihood_ratio(smaller, found)


Shape = Callable[[np.random.Generator, int], Array]

ONE: dict[str, Shape] = {
    "narrow": lambda draw, n: 0.5 * draw.normal(size=n),
    "wide": lambda draw, n: 3 * draw.normal(size=n),
    "uniform": lambda draw, n: draw.uniform(-2, 2, n),
    "skewed": lambda draw, n: draw.exponential(1.2, n) - 1.2,
    "heavy tails": lambda draw, n: draw.standard_t(3, n),
}
TWO: dict[str, Shape] = {
    "near": lambda draw, n: np.where(draw.random(n) < 0.5, 2.5, -2.5) + draw.normal(size=n),
    "far": lambda draw, n: np.where(draw.random(n) < 0.4, 4.0, -4.0) + draw.normal(size=n),
    "decided": lambda draw, n: np.where(draw.random(n) < 0.5, 40.0, -40.0),
}


def looked_at(shape: Shape, seed: int, *, stimuli: int = 400, answers: int = 16) -> Bimodality:
    draw = np.random.default_rng(seed)
    stimulus, prompt = (index.ravel() for index in np.mgrid[:stimuli, :answers])
    x = draw.integers(1, 4, stimuli)[stimulus]
    eta = 0.3 - 0.2 * x + shape(draw, stimuli)[stimulus] + 0.2 * draw.normal(size=answers)[prompt]
    y = (draw.random(eta.size) < expit(eta)).astype(float)
    return bimodal(fit(y, design(pl.DataFrame({"x": x}), ["x"]), {"stimulus": stimulus, "prompt": prompt}), "stimulus")


@pytest.mark.slow
@pytest.mark.parametrize("shape", ONE)
def test_bimodal_is_false_for_one_cluster(shape: str) -> None:
    assert not any(looked_at(ONE[shape], seed).bimodal for seed in range(4))


@pytest.mark.slow
@pytest.mark.parametrize("shape", TWO)
def test_bimodal_is_true_for_two_clusters(shape: str) -> None:
    assert all(looked_at(TWO[shape], seed).bimodal for seed in range(4))


def test_bimodal_estimates_the_positions_and_shares_of_two_clusters() -> None:
    found = looked_at(TWO["far"], 0, stimuli=800)
    assert found.group == "stimulus"
    assert found.evidence > 100
    assert found.modes[1] - found.modes[0] == pytest.approx(8, abs=1)
    assert found.shares[1] == pytest.approx(0.4, abs=0.06)
    assert sum(found.shares) == pytest.approx(1)
    assert found.sd == pytest.approx(1, abs=0.4)


def test_bimodal_counts_levels_with_identical_answers_and_rejects_an_unknown_group() -> None:
    """Check four stimuli, of which one is always right and two are never right."""
    y = np.concatenate([np.ones(8), np.zeros(16), np.tile([0.0, 1.0], 4)])
    fitted = fit(y, design(pl.DataFrame({"x": y})), {"stimulus": np.arange(4).repeat(8)})
    found = bimodal(fitted, "stimulus")
    assert (found.always, found.never) == (0.25, 0.5)
    with raises(OptionError, "unknown-name"):
        bimodal(fitted, "prompt")

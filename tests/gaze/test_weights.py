from __future__ import annotations

import pytest

from spotball_core.errors import OptionError
from spotball_core.gaze.data.trials import Trials, together
from spotball_core.gaze.power.observers import Observer, factorial_design, simulate
from spotball_core.gaze.weights import estimate_weights, weights_as_markdown, weights_as_text
from tests.failures import raises

DESIGN = [one for one in factorial_design() if one.view != "left"]


def test_estimate_weights_gives_each_respondent_a_mechanism_or_a_reason() -> None:
    natural = [one for one in DESIGN if one.head_target is None]
    trials = together(
        [
            simulate(Observer("coin", weight=0.6, noise=0.2), DESIGN, prompts=1, respondent="flips"),
            simulate(Observer("eye"), natural, prompts=1, respondent="natural only"),
        ]
    )
    found = estimate_weights(trials)
    flips, natural_only = found.respondents
    assert flips.mechanism is not None
    assert flips.mechanism.kind == "coin"
    assert flips.mechanism.n_trials < flips.n_trials
    assert natural_only.mechanism is None
    assert natural_only.reason
    assert found.warnings == (f"natural only: {natural_only.reason}",)
    text = weights_as_text(found)
    assert "coin" in text
    assert f"flips: {flips.mechanism.says}" in text
    assert weights_as_markdown(found).rstrip().endswith(found.signature)


@pytest.mark.slow
def test_estimate_weights_does_not_depend_on_jobs() -> None:
    trials = together([simulate(Observer(cue), DESIGN, prompts=1) for cue in ("eye", "head")])
    assert estimate_weights(trials, jobs=2) == estimate_weights(trials)


@pytest.mark.slow
def test_weights_curve_of_a_coin_observer_is_flat_at_its_weight() -> None:
    """Check that a coin with little noise chooses the head with the same probability at each distance."""
    trials = simulate(Observer("coin", weight=0.6, noise=0.1, stimulus_noise=0.05, lapse=0.0), DESIGN, prompts=4)
    (found,) = estimate_weights(trials).respondents
    assert found.mechanism is not None
    curve = {(point.n_objects, point.offset): point.head for point in found.mechanism.curve}
    assert set(curve) == {(n, step) for n in (2, 3, 4) for step in range(1 - n, n)}
    assert all(share == pytest.approx(1.0 if step == 0 else 0.6, abs=0.06) for (_, step), share in curve.items())


def test_estimate_weights_without_trials_is_an_error() -> None:
    trials = simulate(Observer("eye"), DESIGN, prompts=1)
    with raises(OptionError, "no-data"):
        estimate_weights(Trials(trials.frame.clear()))

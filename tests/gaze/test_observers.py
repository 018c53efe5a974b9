from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from spotball_core.errors import OptionError
from spotball_core.gaze.measures import with_measures
from spotball_core.gaze.power.observers import Cue, Observer, factorial_design, simulate
from tests.failures import raises

DESIGN = factorial_design()


def exact(cue: Cue, weight: float = 0.5) -> pl.DataFrame:
    observer = Observer(cue, weight=weight, noise=0, stimulus_noise=0, lapse=0)
    return with_measures(simulate(observer, DESIGN).frame)


def test_eye_observer_without_noise_is_always_right() -> None:
    assert exact("eye")["correct"].mean() == 1


def test_head_observer_without_noise_always_chooses_the_head_target() -> None:
    trials = exact("head")
    assert trials["is_head"].drop_nulls().mean() == 1
    assert trials.filter(condition="congruent")["correct"].mean() == 1
    assert trials.filter(condition="incongruent")["correct"].mean() == 0


def test_coin_observer_chooses_head_or_eyes_independently_of_the_distance() -> None:
    trials = exact("coin", weight=0.3).filter(condition="incongruent")
    assert ((trials["is_head"] == 1) | (trials["correct"] == 1)).all()
    by = trials.group_by("dist_eye_head").agg(pl.col("is_head").mean(), n=pl.len())
    assert ((by["is_head"] - 0.3).abs() < 4 * 0.46 / by["n"].sqrt()).all()


def test_compromise_observer_chooses_between_head_and_eyes() -> None:
    trials = exact("compromise", weight=0.6).filter(condition="incongruent")
    shares = trials.group_by("dist_eye_head").agg(pl.col("is_head").mean()).sort("dist_eye_head")["is_head"].to_list()
    # The shift from the head is less than half an object at a distance of 1, and more at 2 and 3.
    assert shares == [1.0, 0.0, 0.0]
    low = trials.select(pl.min_horizontal("gaze", "head")).to_series()
    high = trials.select(pl.max_horizontal("gaze", "head")).to_series()
    assert trials["choice"].is_between(low, high).all()


def test_shift_observer_chooses_the_head_independently_of_the_eyes() -> None:
    trials = exact("shift", weight=0.7).filter(pl.col("condition") != "natural")
    by = trials.group_by("dist_eye_head").agg(pl.col("is_head").mean(), n=pl.len())
    assert len(by) == 4
    assert ((by["is_head"] - 0.7).abs() < 4 * 0.46 / by["n"].sqrt()).all()


def test_guess_observer_chooses_each_object_equally_often() -> None:
    trials = exact("guess")
    counts = trials.filter(n_objects=4)["choice"].value_counts()["count"]
    assert ((counts / counts.sum() - 0.25).abs() < 4 * 0.44 / np.sqrt(counts.sum())).all()


def test_observer_lapses_at_the_given_rate() -> None:
    observer = Observer("eye", noise=0, stimulus_noise=0, lapse=0.3, prompt_spread=0)
    trials = with_measures(simulate(observer, DESIGN).frame).filter(n_objects=2)
    # With two objects, half of the guesses are right.
    assert trials["correct"].mean() == pytest.approx(1 - 0.3 / 2, abs=4 * 0.36 / np.sqrt(len(trials)))


def test_observer_noise_grows_with_proximity_and_side_view() -> None:
    observer = Observer("eye", noise=0.3, closeness=0.6, side=0.6, lapse=0)
    trials = with_measures(simulate(observer, DESIGN).frame)
    near = trials.group_by("proximity").agg(pl.col("correct").mean()).sort("proximity")["correct"].to_list()
    assert near == sorted(near, reverse=True)
    front = trials.filter(view="front")["correct"].mean()
    assert all(trials.filter(view=view)["correct"].mean() < front for view in ("left", "right"))  # type: ignore[operator]


def test_stimulus_noise_is_shared_by_the_trials_of_a_photo() -> None:
    observer = Observer("eye", noise=0, stimulus_noise=0.6, lapse=0)
    each = simulate(observer, DESIGN).frame.group_by("stimulus_id").agg(pl.col("choice").n_unique())
    assert (each["choice"] == 1).all()


def test_simulate_with_the_same_seed_gives_the_same_trials() -> None:
    one, again, other = (simulate(Observer("coin"), DESIGN[:50], seed=seed).frame for seed in (3, 3, 4))
    assert one.equals(again)
    assert not one.equals(other)
    assert one["prompt_id"].n_unique() == 16


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"cue": "ear"}, "unknown-name"),
        ({"cue": "eye", "weight": 2}, "invalid-option:weight"),
        ({"cue": "eye", "noise": -1}, "invalid-option:noise"),
    ],
)
def test_invalid_observer_or_prompts_is_an_error(wrong: dict[str, object], said: str) -> None:
    with raises(OptionError, said):
        Observer(**wrong)  # type: ignore[arg-type]
    with raises(OptionError, "invalid-option:prompts"):
        simulate(Observer("eye"), DESIGN[:2], prompts=0)

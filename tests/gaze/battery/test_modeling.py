from __future__ import annotations

import polars as pl
import pytest

from spotball_core.gaze.battery.modeling import by_stimulus, indicators, model
from spotball_core.gaze.battery.run import Battery
from spotball_core.gaze.measures import with_measures
from spotball_core.gaze.power.observers import Observer, factorial_design, simulate
from tests.gaze.photos import photo, table

DESIGN = [one for one in factorial_design() if one.view == "front"]


def rows(observer: Observer, *, prompts: int = 6, seed: int = 0) -> pl.DataFrame:
    return with_measures(simulate(observer, DESIGN, prompts=prompts, seed=seed).frame)


@pytest.mark.slow
def test_who_answers_all_prompts_of_a_photo_alike_is_tested_over_photos() -> None:
    """Sixteen answers that are one: a model that took them for independent would find effects everywhere."""
    found = 0
    for seed in range(10):
        battery = Battery(rows(Observer("eye", noise=0, stimulus_noise=3, lapse=0), seed=seed), 0.05)
        for key in ("proximity", "2.3", "2.4"):
            assert battery[key].method == "t-test"
            assert battery[key].reason
            found += (battery[key].p or 0) < 0.05
    # 30 tests of nothing at 5%: more than 6 would be found in one of 1,500 such.
    assert found <= 6


def test_trials_with_a_photo_are_not_independent() -> None:
    noisy = rows(Observer("head", noise=0.5, stimulus_noise=0.5, lapse=0.05))
    fitted = model(noisy.filter(pl.col("n_objects") == 4), "correct", ("center(proximity)",))
    assert fitted.fit is not None
    assert fitted.problem == "" or "bimodal" in fitted.problem
    assert "stimulus_id" in fitted.fit.sds


def test_what_a_model_was_and_what_it_dropped_is_recorded() -> None:
    fitted = model(
        rows(Observer("guess")), "correct", ("view", "center(proximity)*center(n_objects)"), ("center(proximity)",)
    )
    record = fitted.record
    assert record is not None
    # One view alone is no factor.
    assert record.formula.startswith("correct ~ center(proximity) * center(n_objects)")
    assert record.n_rows == 6 * len(DESIGN)
    assert record.interactions is not None
    assert record.interactions.df == 2
    assert record.interactions.without.startswith("correct ~ center(proximity)")
    assert set(record.coefficients) >= {"intercept", "proximity"}


def test_a_group_without_variance_is_dropped_and_that_is_said() -> None:
    # Two prompts, answered alike on average; photos differ.
    answers = {"a": "0000", "b": "0001", "c": "1011", "d": "0111", "e": "1111", "f": "0010", "g": "1110", "h": "0100"}
    trials = table(
        *(
            photo(int(choice), stimulus_id=name, prompt_id=str(place % 2), sample=str(place))
            for name, choices in answers.items()
            for place, choice in enumerate(choices)
        )
    )
    record = model(trials, "correct", ()).record
    assert record is not None
    assert record.formula == "correct ~ (1 | stimulus_id)"
    assert record.dropped == ("stimulus_id, prompt_id: singular: prompt_id has zero variance",)


def test_missing_combinations_fall_back_to_the_terms_without_interactions() -> None:
    trials = table(
        photo(0, times=9),
        photo(1, times=6),
        photo(1, view="left", times=8),
        photo(0, view="left", times=5),
        photo(0, view="left", proximity=2, times=7),
        photo(1, view="left", proximity=2, times=5),
    )
    fitted = model(trials, "correct", ("view*center(proximity)",), ("view", "center(proximity)"))
    assert fitted.record is not None
    assert fitted.record.formula == "correct ~ view + center(proximity)"


def test_no_model_is_said_and_not_hidden() -> None:
    trials = table(photo(0, times=4), photo(1, view="left", times=4))
    fitted = model(trials, "correct", ("view",))
    assert fitted.problem.startswith("the model did not converge")
    assert fitted.record is not None
    assert fitted.record.coefficients == {}
    same = trials.with_columns(proximity=(pl.col("view") == "left").cast(pl.Int64))
    fitted = model(same, "correct", ("view", "center(proximity)"))
    assert fitted.fit is None
    assert "there are too few photos or they are too similar" in fitted.problem


def test_photos_means_and_indicators() -> None:
    trials = table(photo(0, stimulus_id="a"), photo(1, stimulus_id="a"), photo(1, stimulus_id="b", view="left"))
    photos = by_stimulus(trials, share=pl.col("correct"))
    assert photos.select("stimulus_id", "share", "view").rows() == [("a", 0.5, "front"), ("b", 0.0, "left")]
    assert [column.tolist() for column in indicators(pl.Series(["x", "y", "z", "y"]))] == [[0, 1, 0, 1], [0, 0, 1, 0]]


@pytest.mark.slow
@pytest.mark.parametrize("cue", ["head", "guess", "eye"])
def test_a_noisy_observer_that_ignores_one_cue_shows_no_slope_by_it(cue: str) -> None:
    """Why tests 2.4 and 3 have the place of their target as a factor: without it, noise alone makes a slope."""
    observer = Observer(cue, noise=0.6, stimulus_noise=0.2)  # type: ignore[arg-type]
    battery = Battery(with_measures(simulate(observer, factorial_design(), prompts=4, seed=3).frame), 0.05)
    z = {"head": battery["3"].numbers["z"], "eye": battery["2.4"].numbers["z"]}.get(cue, battery["3"].numbers["z"])
    assert abs(z) < 3

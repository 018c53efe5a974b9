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
def test_battery_uses_t_tests_over_photos_if_all_prompts_get_equal_responses() -> None:
    """Check that equal responses to all prompts are not treated as independent, which would create false effects."""
    found = 0
    for seed in range(5):
        battery = Battery(rows(Observer("eye", noise=0, stimulus_noise=3, lapse=0), seed=seed))
        for key in ("proximity", "2.3", "2.4"):
            assert battery[key].method == "t-test"
            assert battery[key].reason
            found += (battery[key].p or 0) < 0.05
    # Of 15 tests without an effect at the 5% level, more than 4 are significant in only one of 1,600 cases. If equal
    # responses to six prompts were treated as independent, about 6 would be significant.
    assert found <= 4


def test_model_has_a_random_intercept_per_photo() -> None:
    noisy = rows(Observer("head", noise=0.5, stimulus_noise=0.5, lapse=0.05))
    fitted = model(noisy.filter(pl.col("n_objects") == 4), "correct", ("center(proximity)",))
    assert fitted.problem == "" or "bimodal" in fitted.problem
    assert "stimulus_id" in fitted.fit.sds


def test_model_records_its_formula_and_the_test_of_interactions() -> None:
    terms = ("view", "center(proximity)*center(n_objects)")
    record = model(rows(Observer("guess")), "correct", terms, ("center(proximity)",)).record
    # A single view is not a factor, so it is dropped.
    assert record.formula.startswith("correct ~ center(proximity) * center(n_objects)")
    assert record.n_rows == 6 * len(DESIGN)
    assert record.interactions.df == 2
    assert record.interactions.without.startswith("correct ~ center(proximity)")
    assert set(record.coefficients) >= {"intercept", "proximity"}


def test_model_drops_a_group_without_variance_and_records_the_reason() -> None:
    # The two prompts have equal mean accuracy, and photos differ.
    answers = {"a": "0000", "b": "0001", "c": "1011", "d": "0111", "e": "1111", "f": "0010", "g": "1110", "h": "0100"}
    photos = [
        photo(int(choice), stimulus_id=name, prompt_id=str(place % 2), sample=str(place))
        for name, choices in answers.items()
        for place, choice in enumerate(choices)
    ]
    record = model(table(*photos), "correct", ()).record
    assert record.formula == "correct ~ (1 | stimulus_id)"
    assert record.dropped == ("stimulus_id, prompt_id: singular: prompt_id has zero variance",)


def test_model_with_missing_combinations_is_fitted_without_interactions_or_states_the_problem() -> None:
    front, left = photo(0, times=9) + photo(1, times=6), photo(1, view="left", times=8) + photo(0, view="left", times=5)
    left_near = photo(0, view="left", proximity=2, times=7) + photo(1, view="left", proximity=2, times=5)
    trials = table(front, left, left_near)
    fitted = model(trials, "correct", ("view*center(proximity)",), ("view", "center(proximity)"))
    assert fitted.record.formula == "correct ~ view + center(proximity)"
    # A model that cannot be fitted states the problem.
    trials = table(photo(0, times=4), photo(1, view="left", times=4))
    fitted = model(trials, "correct", ("view",))
    assert fitted.problem.startswith("the model did not converge")
    assert fitted.record.coefficients == {}
    same = trials.with_columns(proximity=(pl.col("view") == "left").cast(pl.Int64))
    fitted = model(same, "correct", ("view", "center(proximity)"))
    assert fitted.fit is None
    assert "there are too few photos or they are too similar" in fitted.problem


def test_by_stimulus_returns_means_per_photo_and_indicators_returns_dummy_variables() -> None:
    trials = table(photo(0, stimulus_id="a"), photo(1, stimulus_id="a"), photo(1, stimulus_id="b", view="left"))
    photos = by_stimulus(trials, share=pl.col("correct"))
    assert photos.select("stimulus_id", "share", "view").rows() == [("a", 0.5, "front"), ("b", 0.0, "left")]
    assert [column.tolist() for column in indicators(pl.Series(["x", "y", "z", "y"]))] == [[0, 1, 0, 1], [0, 0, 1, 0]]


@pytest.mark.slow
@pytest.mark.parametrize("cue", ["head", "guess", "eye"])
def test_battery_finds_no_slope_for_a_cue_that_a_noisy_observer_ignores(cue: str) -> None:
    """Check that noise does not create a slope, because tests 2.4 and 3 include the target's place as a factor."""
    observer = Observer(cue, noise=0.6, stimulus_noise=0.2)  # type: ignore[arg-type]
    battery = Battery(with_measures(simulate(observer, factorial_design(), prompts=4, seed=3).frame))
    z = {"head": battery["3"].numbers["z"], "eye": battery["2.4"].numbers["z"]}.get(cue, battery["3"].numbers["z"])
    assert abs(z) < 3


def test_dispersion_of_guesses_is_the_ratio_of_the_uniform_and_the_binomial_variance() -> None:
    """Check four objects with the target at an end: 0 to 3 steps have variance 5/4, and three coin flips 3/4."""
    frame = simulate(Observer("guess"), factorial_design(), prompts=1).frame
    ends = frame.filter((pl.col("n_objects") == 4) & pl.col("gaze").is_in([0, 3]) & (pl.col("condition") != "natural"))
    rows = with_measures(ends.with_columns(choice=pl.int_range(pl.len(), dtype=pl.Int64) // 2 % 4))
    found = model(rows, "wrongness", ("center(proximity)",), trials="reach", dispersed=True)
    assert found.record.dispersion == pytest.approx(5 / 3, abs=0.05)
    assert model(rows, "is_head", ("center(proximity)",), dispersed=True).record.dispersion == 1

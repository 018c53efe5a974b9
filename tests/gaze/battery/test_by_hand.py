"""Test each test of the battery on trials whose results are computed by hand.

Photos with one trial have no random intercepts, so models are logistic regressions. If they have as many coefficients
as kinds of photos, they give the log odds of each kind. For n photos with a share p, the variance of the log odds is
1 / (n p (1 - p)).
"""

from __future__ import annotations

import itertools
from math import log, sqrt

import polars as pl
import pytest
from scipy import stats

from spotball_core.gaze.battery.eyes import Pair, coin_flipping, gaze_responsiveness, supported, together
from spotball_core.gaze.battery.findings import Finding
from spotball_core.gaze.battery.head_bias import (
    better_when_congruent,
    combinations,
    head_more_often,
    more_wrong_with_distance,
    same_choice,
)
from spotball_core.gaze.battery.performance import PUBLISHED_TRIALS, performance_gap
from spotball_core.gaze.battery.scene_effects import proximity_and_view
from tests.gaze.photos import photo, table


def two_sided(z: float) -> float:
    return float(2 * stats.norm.sf(abs(z)))


def is_test_of(found: Finding, estimate: float, se: float) -> None:
    assert found.estimate == pytest.approx(estimate, abs=1e-5)
    assert found.numbers["z"] == pytest.approx(estimate / se, abs=1e-4)
    assert found.p == pytest.approx(two_sided(estimate / se), abs=1e-5)
    assert found.ci95 == pytest.approx((estimate - 1.95996 * se, estimate + 1.95996 * se), abs=1e-4)
    assert found.as_asked == (estimate > 0) or not estimate


def test_performance_gap_against_the_published_accuracy_of_people_equals_values_computed_by_hand() -> None:
    # Four photos of two objects have two trials each, of which 2, 1, 1 and 0 are correct. The accuracy is 0.5, and that
    # of people is 0.94. The means of photos have the sample variance 1/6, so the variance of their mean is 1/24. The
    # variance for people is 0.94 * 0.06 / 1605.
    rows = []
    for number, right in enumerate([2, 1, 1, 0]):
        rows += photo(0, stimulus_id=str(number), times=right) + photo(1, stimulus_id=str(number), times=2 - right)
    found = performance_gap(table(rows))
    is_test_of(found, 0.44, sqrt(1 / 24 + 0.94 * 0.06 / PUBLISHED_TRIALS[2]))
    assert found.numbers["by_objects"]["2"] == {"respondent": 0.5, "people": 0.94, "weight": 1.0}


def test_performance_gap_against_people_on_the_same_photos_equals_values_computed_by_hand() -> None:
    # People are correct on photos a, b and c; the respondent is correct only on a. The differences are 0, 1, 1, 0, with
    # mean 0.5 and sample variance 1/3. The shared difficulty of a photo cancels.
    mine = table(*(photo(0 if name == "a" else 1, stimulus_id=name) for name in "abcd"))
    people = table(*(photo(0 if name != "d" else 1, stimulus_id=name, respondent="human") for name in "abcd"))
    found = performance_gap(mine, people)
    is_test_of(found, 0.5, sqrt(1 / 3 / 4))
    assert found.numbers["people"] == "responses"


def test_performance_gap_is_weighted_by_the_respondent_trials_with_each_number_of_objects() -> None:
    rows = table(photo(0, times=30), photo(1, n=3, times=10), photo(0, n=4, times=1, head=0))
    found = performance_gap(rows)
    assert found.estimate == pytest.approx(0.75 * (0.94 - 1) + 0.25 * (0.88 - 0))


def test_performance_gap_standard_error_includes_the_variance_between_people() -> None:
    # One person is always correct and one always wrong on the same 40 photos, so photos do not differ.
    people = [photo(0 if who == "x" else 1, stimulus_id=str(k), participant=who) for who in "xy" for k in range(40)]
    mine = [photo(k % 2, stimulus_id=str(k)) for k in range(40)]
    found = performance_gap(table(*mine), table(*people))
    # Each person deviates from the mean by 1/2 and has the weight 1/2. The sum of squares is 2 (1/4)^2, and is
    # multiplied by 2 / (2 - 1).
    mine_alone = 40 * (0.5 / 40) ** 2 * 40 / 39
    assert found.numbers["se"] == pytest.approx(sqrt(1 / 4 + mine_alone), rel=0.01)


def share_wrong(wrong: int, right: int, **kind: object) -> list[dict[str, object]]:
    return photo(1, times=wrong, **kind) + photo(0, times=right, **kind)  # type: ignore[arg-type]


def test_proximity_effect_equals_values_computed_by_hand() -> None:
    # Of 16 trials, 4 are wrong at proximity 1 and 12 at 3: log odds rise from -ln 3 to ln 3 over two steps.
    found = proximity_and_view(table(share_wrong(4, 12), share_wrong(12, 4, proximity=3)))
    is_test_of(found["proximity"], log(3), sqrt(2 / 3) / 2)
    assert found["proximity"].method == "logistic regression"
    assert found["view"].verdict is None
    assert "no photos from the front" in found["view"].reason


def test_proximity_model_has_the_log_odds_of_chance_as_an_offset() -> None:
    # If the middle of three objects is right, 2/3 are wrong by chance; here, 1/2 are wrong at each proximity.
    rows = table(*(share_wrong(8, 8, n=3, gaze=1, proximity=k, head=None) for k in (1, 3)))
    rows = rows.with_columns(choice=pl.when(pl.col("choice") == 1).then(1).otherwise(0))
    found = proximity_and_view(rows)["proximity"]
    assert found.estimate == pytest.approx(0, abs=1e-9)
    # The intercept is the log odds minus the log odds of chance, which are ln 2.
    assert found.models[0].coefficients["intercept"].estimate == pytest.approx(log(1) - log(2), abs=1e-6)


def test_view_effect_equals_values_computed_by_hand() -> None:
    # Of 16 trials per view, 4 are wrong from the front, 12 from the left and 8 from the right. The mean log odds of the
    # sides are ln 3 / 2, and those of the front are -ln 3.
    rows = table(share_wrong(4, 12), share_wrong(12, 4, view="left"), share_wrong(8, 8, view="right"))
    found = proximity_and_view(rows)["view"]
    is_test_of(found, 1.5 * log(3), sqrt((1 / 3 + 1 / 4) / 4 + 1 / 3))
    pairs = {(pair["first"], pair["second"]): pair["estimate"] for pair in found.numbers["pairs"]}
    assert pairs[("left", "right")] == pytest.approx(log(3), abs=1e-5)
    # The effect is negative if a side view is better.
    found = proximity_and_view(table(share_wrong(8, 8), share_wrong(4, 12, view="left")))["view"]
    is_test_of(found, -log(3), sqrt(1 / 4 + 1 / 3))
    assert found.as_asked is False


def test_head_more_often_equals_values_computed_by_hand() -> None:
    # There are 24 choices of the head target and 8 of the gaze target, so the log odds are ln 3, with variance
    # 1 / (32 * 3/16). Choices of the third object, photos with two objects and congruent photos do not count.
    of_three = {"n": 3, "gaze": 0, "head": 2}
    rows = table(
        photo(2, times=24, **of_three),
        photo(0, times=8, **of_three),
        photo(1, times=5, **of_three),
        photo(0, gaze=0, head=1, times=7),
        photo(0, n=3, gaze=0, head=0, times=7),
        photo(None, times=2, **of_three),
    )
    found = head_more_often(rows)
    is_test_of(found, log(3), sqrt(1 / 6))
    assert (found.n_trials, found.n_left_out) == (32, 2)
    assert found.numbers["share"] == 0.75


def test_head_more_often_is_estimated_at_the_mean_proximity() -> None:
    # The log odds are ln 3 at proximity 1 and -ln 3 at 3, so they are 0 at the mean.
    of_three = {"n": 3, "gaze": 0, "head": 2}
    kinds = ((2, 1, 12), (0, 1, 4), (2, 3, 4), (0, 3, 12))
    rows = table(*(photo(choice, proximity=k, times=times, **of_three) for choice, k, times in kinds))
    is_test_of(head_more_often(rows), 0.0, sqrt(1 / 3 / 2))


def scene(choices: str, *, n: int, prompt_id: str = "1", head: int = 0, proximity: int = 1) -> list[dict[str, object]]:
    """Return photos with the same head target, the eyes on each object in turn, and the given choices."""
    return [
        row
        for gaze, choice in enumerate(choices)
        for row in photo(
            None if choice == "-" else int(choice), n=n, gaze=gaze, head=head, prompt_id=prompt_id, proximity=proximity
        )
    ]


def test_same_choice_equals_values_computed_by_hand() -> None:
    # Two of three combinations have equal choices, one of them the head target. The chance of equal choices is 1/9, so
    # the differences from chance are 8/9, 8/9 and -1/9, with mean 5/9 and standard deviation 1/sqrt(3).
    rows = table(scene("000", n=3), scene("111", n=3, prompt_id="2"), scene("012", n=3, prompt_id="3"))
    found = same_choice(rows)
    assert found.estimate == pytest.approx(5 / 9)
    assert found.numbers["t"] == pytest.approx(5 / 9 / (1 / 3))
    assert found.p == pytest.approx(stats.t.sf(5 / 3, 2))
    assert found.numbers["always_head"] == pytest.approx(
        {"share": 1 / 3, "chance": 1 / 27, **{k: found.numbers["always_head"][k] for k in ("p", "t", "df", "se")}}
    )
    # The exact p value is the probability that at least two of three combinations have equal choices.
    p = 1 / 9
    assert found.numbers["exact_p"] == pytest.approx(3 * p**2 * (1 - p) + p**3)


def test_same_choice_uses_the_chance_level_of_each_combination() -> None:
    rows = table(
        scene("00", n=2),
        scene("00", n=2, prompt_id="2"),
        scene("0000", n=4),
        scene("000", n=4, proximity=2),
        scene("0-", n=2, proximity=3),
        scene("0", n=2, proximity=2),
    )
    found = combinations(rows).sort("n_objects", "k")
    assert found["chance_same"].to_list() == [1 / 2, 1 / 2, 1 / 16, 1 / 64]
    assert found["chance_head"].to_list() == [1 / 4, 1 / 4, 1 / 64, 1 / 256]
    test = same_choice(rows)
    assert test.estimate == pytest.approx(1 - (1 / 2 + 1 / 2 + 1 / 16 + 1 / 64) / 4)
    assert test.n_left_out == 1
    # Only the object at place 0 was chosen. A respondent with this habit always gives equal choices.
    assert test.numbers["chance_of_habits"] == pytest.approx(1)


def test_combinations_chance_levels_equal_enumeration_of_all_responses() -> None:
    for n, k in ((2, 2), (3, 2), (3, 3), (4, 3)):
        answers = list(itertools.product("0123"[:n], repeat=k))
        rows = [scene("".join(answer), n=n, prompt_id=str(place)) for place, answer in enumerate(answers)]
        found = combinations(table(*rows))
        assert found["same"].mean() == pytest.approx(found["chance_same"][0])
        assert found["all_head"].mean() == pytest.approx(found["chance_head"][0])


def test_better_when_congruent_and_more_wrong_with_distance_equal_values_computed_by_hand() -> None:
    # 12 of 16 choices are correct on congruent photos and 4 of 16 on incongruent ones, where the eyes are one step from
    # the head target. The log odds differ by 2 ln 3, with variance 2/3.
    rows = table(share_wrong(4, 12, gaze=0, head=0), share_wrong(12, 4, gaze=0, head=1))
    for found in (better_when_congruent(rows), more_wrong_with_distance(rows)):
        is_test_of(found, 2 * log(3), sqrt(2 / 3))


def test_better_when_congruent_counts_an_unmatched_choice_as_wrong() -> None:
    congruent = photo(0, gaze=0, head=0, times=8) + photo(None, gaze=0, head=0, times=8)
    found = better_when_congruent(table(congruent, share_wrong(4, 12, gaze=0, head=1)))
    is_test_of(found, -log(3), sqrt(1 / 4 + 1 / 3))
    assert found.numbers["accuracy"] == {"congruent": 0.5, "incongruent": 0.75}


def test_more_wrong_with_distance_of_three_objects_equals_values_computed_by_hand() -> None:
    # The gaze target is at an end, so a choice is up to two steps away from it. In 8 trials per distance, choices
    # are 4 of 16 possible steps away at distance 0, and 12 of 16 at distance 2.
    kinds = ((0, 0, 4), (0, 1, 4), (2, 2, 4), (2, 1, 4))
    rows = table(*(photo(choice, n=3, gaze=0, head=head, times=times) for head, choice, times in kinds))
    is_test_of(more_wrong_with_distance(rows), log(3), sqrt(2 / 3) / 2)


def test_gaze_responsiveness_equals_values_computed_by_hand_and_uses_a_t_test_if_all_choices_agree() -> None:
    # The head target is the second of two objects. It is chosen in 12 of 16 trials with the eyes on it, else in 4.
    kinds = ((1, 1, 12), (0, 1, 4), (1, 0, 4), (0, 0, 12))
    rows = table(*(photo(choice, gaze=gaze, head=1, times=times) for choice, gaze, times in kinds))
    is_test_of(gaze_responsiveness(rows), 2 * log(3), sqrt(2 / 3))
    # A t-test is used if all choices are the head target.
    found = gaze_responsiveness(table(photo(1, gaze=1, head=1, times=16), photo(1, gaze=0, head=1, times=16)))
    assert (found.method, found.estimate, found.p) == ("t-test", pytest.approx(0), 1.0)
    assert "all answers are the same" in found.reason


def heads(*shares: int) -> pl.DataFrame:
    """Return photos with the head towards the left of three objects, chosen in n of 32 trials for each gaze target."""
    return table(
        *(
            photo(0, n=3, gaze=gaze, head=0, times=head) + photo(2, n=3, gaze=gaze, head=0, times=32 - head)
            for gaze, head in enumerate(shares)
        )
    )


def test_coin_flipping_with_equal_rates_at_distances_1_and_2_supports_eye_head_ambivalent() -> None:
    # Log odds are ln 3 at distance 0 and -ln 3 at 1 and 2, so both drops are 2 ln 3 with variance 1/3, z = 3.8.
    found = coin_flipping(heads(24, 8, 8))
    assert (found.verdict, found.supports) == (True, "eye-head ambivalent")
    pairs = {(pair["near"], pair["far"]): pair for pair in found.numbers["by_objects"]["3"]["pairs"]}
    p = two_sided(2 * log(3) / sqrt(1 / 3))
    assert pairs[0, 1]["drop"] == pytest.approx(2 * log(3), abs=1e-5)
    # Holm's method multiplies the smallest of three p values by 3, and the next one must not be smaller.
    found_p = [pairs[key]["p_adjusted"] for key in ((0, 1), (0, 2), (1, 2))]
    assert found_p == pytest.approx([3 * p, 3 * p, 1.0], rel=1e-4)


def test_coin_flipping_supports_head_dominant_for_declining_rates_and_neither_for_constant_rates() -> None:
    # The log odds are ln 3, 0, -ln 3. Neighbors differ by ln 3 with variance 1/6 + 1/8, z = 2.03, p = 0.042, and the
    # adjusted p is 0.084.
    found = coin_flipping(heads(24, 16, 8))
    assert (found.verdict, found.supports) == (False, "head-dominant")
    pairs = {(pair["near"], pair["far"]): pair["p_adjusted"] for pair in found.numbers["by_objects"]["3"]["pairs"]}
    step = two_sided(log(3) / sqrt(1 / 6 + 1 / 8))
    assert pairs[0, 1] == pytest.approx(2 * step, abs=1e-4)
    assert pairs[0, 2] == pytest.approx(3 * two_sided(2 * log(3) / sqrt(1 / 3)), rel=1e-3)
    # Constant rates support neither.
    found = coin_flipping(heads(20, 20, 20))
    assert (found.verdict, found.supports) == (False, "neither")


def test_supported_and_together_follow_the_decision_rules_of_battery_test_4() -> None:
    drops = [Pair(4, 0, k, 1.0, 0.001) for k in (1, 2, 3)]
    level = [Pair(4, a, b, 0.0, 0.9) for a, b in ((1, 2), (1, 3), (2, 3))]
    assert supported([*drops, *level], 0.05) == "eye-head ambivalent"
    later = [Pair(4, 1, 2, 0.0, 0.9), Pair(4, 1, 3, 0.5, 0.01), Pair(4, 2, 3, 0.5, 0.2)]
    assert supported([*drops, *later], 0.05) == "head-dominant"
    rises = [Pair(4, 1, 2, -0.5, 0.01), Pair(4, 1, 3, 0.5, 0.01), Pair(4, 2, 3, 0.5, 0.2)]
    assert supported([*drops, *rises], 0.05) == "neither"
    assert supported([Pair(3, 0, 1, 0.1, 0.9), Pair(3, 0, 2, 0.1, 0.9), Pair(3, 1, 2, 0.0, 1.0)], 0.05) == "neither"
    assert together(["neither", "neither"]) == "neither"
    assert together(["neither", "eye-head ambivalent"]) == "eye-head ambivalent"


def test_battery_tests_without_suitable_trials_have_a_reason_and_no_verdict() -> None:
    natural = table(photo(0, times=8))
    for found in (
        head_more_often(natural),
        same_choice(natural),
        better_when_congruent(natural),
        more_wrong_with_distance(natural),
        gaze_responsiveness(natural),
        coin_flipping(natural),
        performance_gap(table(photo(0, head=0, times=8))),
        performance_gap(table(photo(0, n=7, times=8))),
    ):
        assert found.verdict is None
        assert found.reason
        assert found.model_dump()["verdict"] is None

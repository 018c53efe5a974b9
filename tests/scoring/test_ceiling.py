"""Test the noise ceiling against plain loops, hand-computed values, and simulations with a known ceiling."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from spotball_core import OptionError, Scene, ScorePolicy, import_release, wasserstein
from spotball_core.random import generator_for
from spotball_core.scoring.ceiling import Ceiling, noise_ceiling
from spotball_core.scoring.groups import Scoring
from spotball_core.scoring.score import load_counts
from spotball_core.typing import FloatArray
from tests.conftest import THOROUGH
from tests.failures import raises
from tests.stats.build import counts_of, drawn, scene, scenes, scoring_of, varied_scenes


def crowd(rng: np.random.Generator, n_people: int, n_images: int, clicks: int = 3) -> FloatArray:
    return rng.multinomial(clicks, rng.dirichlet(np.full(60, 0.2), n_images), size=(n_people, n_images)).astype(float)


def one(scoring: Scoring, **choices: int) -> Ceiling:
    (found,) = noise_ceiling(scoring, **choices).ceilings
    return found


def test_split_half_distance_of_two_people_equals_the_hand_computed_value() -> None:
    # In the only split, C3 and C5 are 128 px apart on one image, and both are C3 on the other. The mean is 64 px.
    people = np.zeros((2, 2, 60))
    people[0, :, 22] = 1.0
    people[1, 0, 24] = people[1, 1, 22] = 1.0
    found = one(scoring_of(scenes(2), {"human/base": people}, reference="human"), splits=7)
    assert (found.split_half.value, found.split_half.ci95) == (64.0, (0.0, 128.0))
    assert (found.n_participants, found.n_images, found.splits, found.sport) == (2, 2, 7, "soccer")
    assert found.uniform == pytest.approx(wasserstein(np.ones((2, 60)), people.sum(axis=0)).mean())


def test_split_half_distance_equals_that_of_plain_loops() -> None:
    rng = np.random.default_rng(0)
    people, known = crowd(rng, 5, 4), varied_scenes(4)
    found = one(scoring_of(known, {"human/base": people}, reference="human"), splits=9, seed=3)
    order = generator_for(3, "halves", "soccer").permuted(np.tile(np.arange(5), (9, 1)), axis=1)
    distances = [
        float(wasserstein(sum(people[who, image] for who in row[:2]), sum(people[who, image] for who in row[2:4])))
        for row in order.tolist()
        for image in range(4)
    ]
    assert found.split_half.value == pytest.approx(np.mean(distances))


def test_split_half_distance_of_random_splits_approaches_the_mean_over_all_splits() -> None:
    people = crowd(np.random.default_rng(1), 6, 2)
    scoring = scoring_of(varied_scenes(2), {"human/base": people}, reference="human", bootstrap=0)
    # The expected value is the mean over all ways to split six people into halves of three.
    every = [
        wasserstein(people[list(half)].sum(axis=0), people[sorted(set(range(6)) - set(half))].sum(axis=0)).mean()
        for half in combinations(range(6), 3)
    ]
    assert one(scoring, splits=3000).split_half.value == pytest.approx(np.mean(every), rel=0.02)


def test_split_half_distance_decreases_with_more_people() -> None:
    people = crowd(np.random.default_rng(2), 40, 10)
    few, many = (
        one(scoring_of(scenes(10), {"human/base": people[:n]}, reference="human"), splits=20).split_half.value or 0.0
        for n in (6, 40)
    )
    assert many < 0.6 * few


@pytest.mark.slow
def test_ceiling_score_is_1_minus_the_distance_divided_by_that_of_uniform_guessing() -> None:
    rng = np.random.default_rng(3)
    known, people = varied_scenes(12), crowd(rng, 20, 12)
    answers = {"human/base": people, "uniform/base": np.full((12, 60), 1 / 60), "m/cot": drawn(rng, 12, 20)}
    scoring = scoring_of(known, answers, reference="human")
    found = one(scoring, splits=10)
    assert set(found.score) == set(found.sampling_floor) == {"soccer/uniform/base", "soccer/m/cot"}
    assert found.score["soccer/uniform/base"].value == pytest.approx(0.0, abs=1e-9)
    matched, uniform = (
        scoring.report().group(name).metrics["wasserstein_matched"].value or np.nan for name in ("m", "uniform")
    )
    score = found.score["soccer/m/cot"]
    assert score.value == pytest.approx(1 - matched / uniform)
    assert score.ci95 is not None
    assert score.ci95[0] < score.value < score.ci95[1]


@pytest.mark.slow
@pytest.mark.parametrize("samples", [10, 20, 50, 150])
def test_ceiling_score_of_a_perfect_respondent_is_1_for_any_number_of_responses(samples: int) -> None:
    """Check that a respondent that samples from people's distribution has a score near 1.

    The matched distance has a small bias at 20 responses. Over 40 other benchmarks, the mean was 0.92 (standard error
    0.03) with 20 responses and 1.00 (0.02) with 50, so the mean may differ from 1 by 0.08 plus three standard errors.
    """
    scores, n = [], 12 if THOROUGH else 6
    for seed in range(n):
        rng = np.random.default_rng([samples, seed])
        shares = rng.dirichlet(np.full(60, 0.2), 60)
        people = rng.multinomial(3, shares, size=(50, 60)).astype(float)
        answers = {"human/base": people, "m/base": rng.multinomial(samples, shares).astype(float)}
        found = one(scoring_of(varied_scenes(60), answers, reference="human", bootstrap=0), splits=1)
        scores.append(found.score["soccer/m/base"].value or 0.0)
    assert np.std(scores) < 0.35
    assert np.mean(scores) == pytest.approx(1.0, abs=0.08 + 3 * np.std(scores) / np.sqrt(n))


def test_ceiling_score_uses_only_the_images_that_the_group_answered() -> None:
    rng = np.random.default_rng(4)
    known, people = varied_scenes(6), crowd(rng, 80, 6)
    part = drawn(rng, 6, 150)
    part[:4] = 0.0
    answers = {"human/base": people, "m/base": part}
    found = one(scoring_of(known, answers, reference="human", images="all"), splits=5)
    few = {name: mass[..., 4:, :] for name, mass in answers.items()}
    policy = ScorePolicy.standard(reference="human", images="all", bootstrap=0)
    alone = one(Scoring(counts_of(known[4:], few), known[4:], policy), splits=5)
    assert found.n_images == 6
    assert found.score["soccer/m/base"].value == pytest.approx(alone.score["soccer/m/base"].value, abs=0.05)


def test_sampling_floor_equals_the_distance_of_simulated_samples_of_people() -> None:
    rng = np.random.default_rng(5)
    known, people = varied_scenes(8), crowd(rng, 20, 8)
    total = people.sum(axis=0)
    shares = total / total.sum(axis=-1, keepdims=True)
    answers = {"human/base": people, "few/base": drawn(rng, 8, 5), "many/base": drawn(rng, 8, 80), "p/base": shares}
    found = one(scoring_of(known, answers, reference="human"), splits=2).sampling_floor
    for name, n in (("few", 5), ("many", 80)):
        simulated = wasserstein(rng.multinomial(n, shares, size=(100, 8)).astype(float), total).mean()
        assert found[f"soccer/{name}/base"] == pytest.approx(simulated, rel=0.08)
    assert found["soccer/many/base"] < found["soccer/few/base"] / 2
    assert found["soccer/p/base"] == 0.0  # These are probabilities.


def test_leave_one_out_accuracy_equals_the_hand_computed_value() -> None:
    # On the first image, two people name C3 (correct) and one names F10. Without one of the two, C3 and F10 tie (1/2);
    # without the third, C3 leads (1). The mean is 2/3. On the second image, the people name C3 (correct), A1 and A2.
    # Without the correct person, no answer is correct (0); without another, two cells tie (1/2). The mean is 1/3.
    people = np.zeros((3, 2, 60))
    people[[0, 1], 0, 22] = people[2, 0, 59] = 1.0
    people[0, 1, 22] = people[1, 1, 0] = people[2, 1, 1] = 1.0
    blanks = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 2.0]])
    scoring = scoring_of(scenes(2), {"human/base": people}, {"human/base": blanks}, reference="human")
    found = one(scoring, splits=1)
    assert found.leave_one_out_accuracy.value == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert found.participant_accuracy.value == pytest.approx(3 / 8)
    assert found.participant_accuracy.value == scoring.report().group("human").metrics["accuracy"].value


def test_leave_one_out_accuracy_excludes_images_without_truth() -> None:
    rng = np.random.default_rng(7)
    known = [scene(0, ball_cells=None), scene(1)]
    found = one(scoring_of(known, {"human/base": crowd(rng, 4, 2)}, reference="human"), splits=2)
    assert (found.leave_one_out_accuracy.n_images, found.split_half.n_images) == (1, 2)
    nowhere = [scene(i, ball_cells=None) for i in range(2)]
    accuracy = one(
        scoring_of(nowhere, {"human/base": crowd(rng, 4, 2)}, reference="human"), splits=2
    ).leave_one_out_accuracy
    assert (accuracy.value, accuracy.reason) == (None, "too few responses, or no ground truth")


def test_split_half_excludes_images_that_only_one_person_answered() -> None:
    rng = np.random.default_rng(8)
    people = crowd(rng, 4, 3)
    people[1:, 2] = 0.0  # Only one person answered the third image, so one half has no answers.
    found = one(scoring_of(scenes(3), {"human/base": people, "m/base": drawn(rng, 3, 9)}, reference="human"), splits=4)
    assert (found.split_half.n_images, found.n_images) == (2, 3)
    assert all(score.value is not None for score in found.score.values())


def test_noise_ceiling_is_computed_per_sport_in_the_chosen_unit() -> None:
    rng = np.random.default_rng(9)
    wide = [Scene.model_validate(one.model_dump() | {"width": 1280, "height": 720}) for one in varied_scenes(3, "golf")]
    known = [*varied_scenes(3), *wide]
    people = crowd(rng, 4, 6)
    people[:, 3:] = people[:, :3]
    answers = {"human/base": people, "m/base": np.tile(drawn(rng, 3, 9), (2, 1))}
    by_unit = [scoring_of(known, answers, reference="human", wasserstein_unit=unit) for unit in ("px", "diagonal")]
    px, diagonal = ({found.sport: found for found in noise_ceiling(scoring).ceilings} for scoring in by_unit)
    assert list(px) == ["soccer", "golf"]
    assert px["golf"].uniform == pytest.approx(2 * px["soccer"].uniform)
    assert diagonal["golf"].uniform == pytest.approx(diagonal["soccer"].uniform)
    assert set(px["golf"].score) == {"golf/m/base"}
    assert px["golf"].score["golf/m/base"].value == pytest.approx(px["soccer"].score["soccer/m/base"].value)
    pooled = noise_ceiling(scoring_of(known, answers, reference="human", by=("respondent", "prompt")), splits=2)
    assert [set(found.score) for found in pooled.ceilings] == [{"m/base"}, {"m/base"}]


def test_noise_ceiling_is_reproducible_and_changes_with_the_seed() -> None:
    rng = np.random.default_rng(10)
    scoring = scoring_of(varied_scenes(5), {"human/base": crowd(rng, 9, 5), "m/b": drawn(rng, 5, 9)}, reference="human")
    first, again, other = (one(scoring, splits=5, seed=seed) for seed in (0, 0, 1))
    assert first == again
    assert first.split_half.value != other.split_half.value
    assert first.sampling_floor != other.sampling_floor
    assert first.signature.endswith("|splits:5|splits-seed:0")


def test_noise_ceiling_without_reference_or_splits_raises_option_error_and_without_participants_warns() -> None:
    rng = np.random.default_rng(11)
    people, other = crowd(rng, 4, 3), drawn(rng, 3, 9)
    with raises(OptionError, "missing-option"):
        noise_ceiling(scoring_of(scenes(3), {"human/base": people}))
    with raises(OptionError, "invalid-option:splits"):
        noise_ceiling(scoring_of(scenes(3), {"human/base": people}, reference="human"), splits=0)
    for answers in (other, people[:1]):
        found = noise_ceiling(scoring_of(scenes(3), {"human/base": answers}, reference="human"))
        assert (found.ceilings, len(found.warnings)) == ((), 1)


@pytest.mark.real
def test_noise_ceiling_of_the_real_soccer_data_has_a_split_half_distance_of_28_6_px(real_release: object) -> None:
    # The distance is about 28.6 px over many splits. A mean of 100 splits is within 0.7 px (3 standard errors of 0.22).
    release = import_release(str(real_release))
    counts, known = load_counts(release.responses, release.scenes, participants=True)
    found = one(Scoring(counts, known, ScorePolicy.standard(reference="human")))
    assert (found.n_participants, found.n_images) == (50, 50)
    assert found.split_half.value == pytest.approx(28.6, abs=0.7)
    assert found.uniform == pytest.approx(145.8, abs=0.05)
    assert found.participant_accuracy.value == pytest.approx(1441 / 7500)
    assert found.score["soccer/gemini/cot"].value == pytest.approx(0.34, abs=0.02)
    assert found.sampling_floor["soccer/gemini/cot"] == pytest.approx(31.5, abs=1.0)

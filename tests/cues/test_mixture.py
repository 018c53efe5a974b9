"""Test mixtures: weights maximize the likelihood and are recovered, and parts use only permitted information."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from spotball_core.baselines import baseline_distributions
from spotball_core.cues.mixture import BASELINE_OF, _parts, _shapley, explain
from spotball_core.cues.mixture_weights import fit_weights
from spotball_core.errors import OptionError
from spotball_core.schema import Scene, ScorePolicy
from spotball_core.schema.report import Mixture
from spotball_core.scoring.groups import Group, Scoring
from spotball_core.scoring.score import load_counts
from spotball_core.typing import FloatArray
from tests.failures import raises
from tests.stats.build import drawn, scene, scoring_of, varied_scenes

N = 120


def people(rng: np.random.Generator) -> FloatArray:
    """Simulate the distribution of the answers of many people per image, concentrated on a few random cells."""
    return rng.dirichlet(np.full(60, 0.1), N)


def parts_from(known: list[Scene], crowd: FloatArray) -> dict[str, FloatArray]:
    return {name: baseline_distributions(of, known) for name, of in BASELINE_OF.items()} | {"people": crowd}


def scored(
    known: list[Scene], answers: FloatArray, crowd: FloatArray | None = None, respondent: str = "m", **choices: Any
) -> tuple[Scoring, Group]:
    """Score answers of a model "m", and of a crowd "human" if given. Return the scoring and the respondent's group."""
    if crowd is None:
        scoring = scoring_of(known, {"m/base": answers}, **choices)
    else:
        scoring = scoring_of(known, {"human/base": crowd, "m/base": answers}, reference="human", **choices)
    (group,) = (group for group in scoring.groups if group.respondent == respondent)
    return scoring, group


def explained(*given: Any, bootstrap: int = 0, seed: int = 0, **choices: Any) -> Mixture:
    return explain(*scored(*given, **choices), bootstrap=bootstrap, seed=seed)


def recovered(weights: dict[str, float], seed: int, bootstrap: int = 0) -> Mixture:
    """Explain 200 answers per image that are drawn from a mixture with known weights."""
    known, crowd = varied_scenes(N), people(np.random.default_rng(seed))
    parts = parts_from(known, crowd)
    shares = np.sum([weight * parts[name] for name, weight in weights.items()], axis=0)
    mass = np.random.default_rng(5).multinomial(200, shares / shares.sum(axis=-1, keepdims=True)).astype(float)
    return explained(known, mass, crowd, bootstrap=bootstrap)


@pytest.mark.slow
@pytest.mark.parametrize(
    "weights",
    [
        {"uniform": 0.1, "people": 0.9},
        {"uniform": 0.3, "center": 0.3, "nearest-player": 0.4},
        {"uniform": 0.05, "center": 0.2, "nearest-player": 0.15, "truth": 0.1, "prior": 0.2, "people": 0.3},
        {"uniform": 0.5, "truth": 0.5},
        {"center": 0.5, "prior": 0.5},
    ],
)
def test_explain_recovers_known_mixture_weights(weights: dict[str, float]) -> None:
    found = recovered(weights, 0, bootstrap=60)
    assert set(found.weights) == {*BASELINE_OF, "people"}
    assert sum(one.value or 0.0 for one in found.weights.values()) == pytest.approx(1.0)
    for name, one in found.weights.items():
        assert one.value == pytest.approx(weights.get(name, 0.0), abs=0.03), name
        low, high = one.ci95
        assert low - 0.01 <= weights.get(name, 0.0) <= high + 0.01, name
    assert sum(found.explained.values()) == pytest.approx(1.0)
    assert (found.n_images, found.n_answers, found.notes) == (N, 200 * N, ())


@pytest.mark.slow
@pytest.mark.parametrize("name", [*BASELINE_OF, "people"])
def test_explain_of_a_respondent_equal_to_one_part_gives_this_part_weight_1(name: str) -> None:
    found = recovered({name: 1.0}, 1)
    assert found.weights[name].value == pytest.approx(1.0, abs=0.02)
    assert found.weights[name].ci95 is None
    if name != "uniform":
        assert max(found.explained, key=lambda part: found.explained[part]) == name
        assert found.log_likelihood > found.log_likelihood_uniform


def test_explain_log_likelihoods_equal_values_from_plain_loops() -> None:
    rng = np.random.default_rng(2)
    known, crowd, mass = varied_scenes(6), rng.dirichlet(np.ones(60), 6), drawn(rng, 6, 15)
    found, parts = explained(known, mass, crowd), parts_from(known, crowd)
    total = 0.0
    for i, j in np.argwhere(mass):
        share = sum((found.weights[name].value or 0.0) * part[i, j] for name, part in parts.items())
        total += mass[i, j] * float(np.log(share))
    assert found.log_likelihood == pytest.approx(total)
    assert found.log_likelihood_uniform == pytest.approx(6 * 15 * np.log(1 / 60))


def test_mixture_shapley_shares_equal_means_over_all_orders_of_adding_parts() -> None:
    """Check against all orders in which the four parts other than the uniform part can be added."""
    likelihood, expected = np.sort(np.random.default_rng(3).normal(size=16)), np.zeros(4)
    for order in permutations(range(4)):
        for place, part in enumerate(order):
            before = sum(1 << other for other in order[:place])
            expected[part] += likelihood[before | 1 << part] - likelihood[before]
    expected /= 24 * (likelihood[-1] - likelihood[0])
    np.testing.assert_allclose(list(_shapley(likelihood, ["a", "b", "c", "d"]).values()), expected, atol=1e-6)


def test_explain_of_uniform_responses_gives_every_part_an_explained_share_of_0() -> None:
    """Check that no part explains uniform responses to one image."""
    found = explained([scene(1, players=None, ball_cells=["A1"])], np.ones((1, 60)))
    assert set(found.explained.values()) == {0.0}
    assert found.weights["uniform"].value == pytest.approx(1.0, abs=1e-3)


def parts_of(known: list[Scene], answers: FloatArray, crowd: FloatArray) -> dict[str, FloatArray]:
    return _parts(*scored(known, answers, crowd), np.arange(len(known)))[0]


class TestParts:
    def test_prior_does_not_depend_on_the_ball_of_the_image_itself(self) -> None:
        rng, known = np.random.default_rng(4), varied_scenes(10)
        crowd, answers = drawn(rng, 10, 30), drawn(rng, 10, 30)
        moved = [scene("0", ball_cells=["F10"], players=known[0].players), *known[1:]]
        before, after = parts_of(known, answers, crowd), parts_of(moved, answers, crowd)
        np.testing.assert_array_equal(before["prior"][0], after["prior"][0])
        assert (before["prior"][1:] != after["prior"][1:]).any(axis=-1).all()
        assert (before["truth"][0] != after["truth"][0]).any()

    def test_parts_do_not_depend_on_the_responses_of_the_group(self) -> None:
        rng, known = np.random.default_rng(5), varied_scenes(10)
        crowd = drawn(rng, 10, 30)
        one, other = (parts_of(known, drawn(rng, 10, 30), crowd) for _ in range(2))
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])
        np.testing.assert_allclose(one["people"], crowd / 30)

    def test_explain_of_the_reference_has_no_people_part(self) -> None:
        rng, known = np.random.default_rng(6), varied_scenes(10)
        assert set(explained(known, drawn(rng, 10, 30), drawn(rng, 10, 30), "human").weights) == set(BASELINE_OF)
        assert set(explained(known, drawn(rng, 10, 30)).weights) == set(BASELINE_OF)


class TestExplain:
    def test_explain_excludes_parts_without_distributions_with_a_note(self) -> None:
        known = [scene(i, players=None, ball_cells=None) for i in range(4)]
        found = explained(known, drawn(np.random.default_rng(7), 4, 30), bootstrap=10)
        assert set(found.weights) == {"uniform", "center"}
        excluded = [note.split(" is excluded")[0].removeprefix("the part ") for note in found.notes]
        assert excluded == ["nearest-player", "truth", "prior"]

    def test_explain_excludes_images_for_which_a_part_has_no_distribution(self) -> None:
        known = [*varied_scenes(8), scene("x", players=None), scene("y", players=[])]
        mass = drawn(np.random.default_rng(8), 10, 30)
        found = explained(known, mass, bootstrap=10)
        assert (found.n_images, found.n_answers) == (8, 240)
        assert found.notes == (
            "2 images are excluded, because not all parts of the mixture have a distribution for them",
        )
        mass[8:] = 0
        again = explained(known, mass, bootstrap=10)
        assert (again.weights, again.explained) == (found.weights, found.explained)

    def test_explain_without_any_image_with_distributions_of_all_parts_is_an_error(self) -> None:
        with raises(OptionError, "no-data"):
            explained([scene("x", players=None), scene("y", ball_cells=None)], np.ones((2, 60)))

    def test_explain_with_another_seed_changes_the_intervals_but_not_the_weights(self) -> None:
        mass = drawn(np.random.default_rng(9), 20, 30)
        one, again, other = (explained(varied_scenes(20), mass, bootstrap=50, seed=seed) for seed in (0, 0, 1))
        assert one == again
        values, others = ({name: weight.value for name, weight in of.weights.items()} for of in (one, other))
        assert values == others
        assert one.weights["center"].ci95 != other.weights["center"].ci95
        assert one.signature.endswith("|mix-boot:50|mix-seed:0")

    def test_explain_of_responses_divided_by_30_keeps_the_weights_and_scales_the_log_likelihood(self) -> None:
        mass = drawn(np.random.default_rng(10), 20, 30)
        whole, small = explained(varied_scenes(20), mass), explained(varied_scenes(20), mass / 30)
        for name, weight in whole.weights.items():
            assert small.weights[name].value == pytest.approx(weight.value, abs=1e-6)
        assert small.log_likelihood == pytest.approx(whole.log_likelihood / 30)

    def test_explain_of_a_group_over_several_sports_has_no_sport(self) -> None:
        known = [*varied_scenes(6, "soccer"), *varied_scenes(6, "golf", seed=1)]
        found = explained(known, drawn(np.random.default_rng(11), 12, 30), by=("respondent",), bootstrap=10)
        assert (found.sport, found.n_images, found.group) == (None, 12, "m")

    @pytest.mark.real
    def test_explain_of_soccer_gemini_gives_most_weight_to_the_center(self, real_release: object) -> None:
        from spotball_core.release.convert import import_release

        release = import_release(str(real_release))
        counts, known = load_counts(release.responses, release.scenes, participants=False)
        scoring = Scoring(counts, known, ScorePolicy.standard(reference="human"))
        (group,) = (group for group in scoring.groups if group.respondent == "gemini")
        found = explain(scoring, group)
        assert found.n_answers == 986
        assert found.weights["center"].value == pytest.approx(0.54, abs=0.02)
        assert found.weights["truth"].value == pytest.approx(0.0, abs=0.01)
        assert found.explained["center"] == pytest.approx(0.48, abs=0.03)


def problem(seed: int, n: int = 200, m: int = 5) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    parts = rng.dirichlet(np.full(n, 0.2), m).T
    parts[:, 0] = 1 / n
    counts = rng.multinomial(500, parts @ rng.dirichlet(np.full(m, 0.5))).astype(float)
    return counts, parts


def log_likelihood(counts: FloatArray, parts: FloatArray, weights: FloatArray) -> float:
    return sum(n * float(np.log(np.dot(row, weights))) for n, row in zip(counts, parts, strict=True) if n)


class TestFitWeights:
    @given(st.integers(0, 10_000), st.integers(2, 60), st.integers(1, 6), st.sampled_from([1, 3, 50, 5000]))
    def test_fit_weights_satisfies_the_optimality_conditions(self, seed: int, n: int, m: int, answers: int) -> None:
        """Check with loops that the gradient is at most 1, and 1 for used parts, even for equal parts or few counts."""
        rng = np.random.default_rng(seed)
        parts = rng.dirichlet(np.full(n, rng.choice([0.02, 0.2, 2.0])), m).T
        parts[:, 0] = 1 / n
        if seed % 3 == 0:
            parts[:, -1] = parts[:, 0]
        counts = rng.multinomial(answers, parts @ rng.dirichlet(np.full(m, 0.4))).astype(float)
        allowed = rng.random((1, m)) < 0.8
        allowed[0, 0] = True
        weights, likelihood = fit_weights(counts[None], parts, allowed)
        assert (weights >= 0).all()
        assert (weights[~allowed] == 0).all()
        assert weights.sum() == pytest.approx(1.0)
        assert likelihood[0] == pytest.approx(log_likelihood(counts, parts, weights[0]))
        for part in np.flatnonzero(allowed[0]):
            named = ((c, row) for c, row in zip(counts, parts, strict=True) if c)
            share = sum(c * row[part] / float(np.dot(row, weights[0])) for c, row in named)
            assert share / answers <= 1 + 1e-6
            assert weights[0, part] * (1 - share / answers) == pytest.approx(0.0, abs=1e-6)

    def test_fit_weights_equals_weights_computed_by_hand(self) -> None:
        """Check 3 responses in a cell of both parts and 1 in a cell of the uniform part only: 3/4 = (1 + w) / 2."""
        parts = np.array([[0.5, 1.0], [0.5, 0.0]])
        weights, likelihood = fit_weights(np.array([[3.0, 1.0]]), parts, np.ones((1, 2), dtype=bool))
        np.testing.assert_allclose(weights, [[0.5, 0.5]], atol=1e-6)
        assert likelihood[0] == pytest.approx(3 * np.log(0.75) + np.log(0.25))

    def test_fit_weights_of_many_rows_with_different_allowed_parts_equals_separate_fits(self) -> None:
        rng = np.random.default_rng(3)
        _, parts = problem(3)
        counts = rng.multinomial(80, parts @ np.full(5, 0.2), size=120).astype(float)
        allowed = rng.random((120, 5)) < 0.8
        allowed[:, 0] = True
        weights, _ = fit_weights(counts, parts, allowed)
        assert (weights[~allowed] == 0).all()
        for row in (0, 49, 50, 119):
            alone, _ = fit_weights(counts[row : row + 1], parts, allowed[row : row + 1])
            np.testing.assert_allclose(weights[row], alone[0], atol=1e-5)

    @given(st.integers(0, 10_000), st.sampled_from([3, 50, 5000]))
    def test_fit_weights_of_resamples_reaches_the_same_maximum_from_a_warm_start(self, seed: int, answers: int) -> None:
        """Check with a start that contains zero weights, some of which must become positive."""
        rng = np.random.default_rng(seed)
        _, parts = problem(seed % 100)
        counts = rng.multinomial(answers, parts @ rng.dirichlet(np.full(5, 0.4))).astype(float)
        (start,), _ = fit_weights(counts[None], parts, np.ones((1, 5), dtype=bool))
        resampled = rng.multinomial(answers, counts / answers, size=20).astype(float)
        allowed = np.ones((20, 5), dtype=bool)
        weights, likelihood = fit_weights(resampled, parts, allowed, start)
        np.testing.assert_allclose(weights.sum(axis=-1), 1.0)
        np.testing.assert_allclose(likelihood, fit_weights(resampled, parts, allowed)[1], rtol=0, atol=2e-8 * answers)

    def test_fit_weights_with_an_impossible_response_is_an_error(self) -> None:
        with raises(OptionError, "cannot-estimate"):
            fit_weights(np.array([[1.0, 1.0]]), np.array([[1.0, 0.5], [0.0, 0.5]]), np.array([[True, False]]))

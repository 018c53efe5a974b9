"""Test mixtures: known weights are recovered, and parts use only permitted information."""

from __future__ import annotations

import numpy as np
import pytest

from spotball_core.baselines import baseline_distributions
from spotball_core.cues.mixture import BASELINE_OF, _parts, explain
from spotball_core.errors import OptionError
from spotball_core.schema import Scene, ScorePolicy
from spotball_core.schema.mixture import Mixture
from spotball_core.scoring.groups import Scoring
from spotball_core.scoring.score import load_counts
from spotball_core.typing import FloatArray
from tests.failures import raises
from tests.stats.build import counts_of, drawn, scene, scoring_of, varied_scenes

N = 120


def people(rng: np.random.Generator) -> FloatArray:
    """Simulate the distribution of many people per image, concentrated on a few random cells."""
    return rng.dirichlet(np.full(60, 0.1), N)


def mixture_of(known: list[Scene], weights: dict[str, float], crowd: FloatArray) -> FloatArray:
    parts = {name: baseline_distributions(baseline, known) for name, baseline in BASELINE_OF.items()}
    parts["people"] = crowd
    return np.sum([weight * parts[name] for name, weight in weights.items()], axis=0)


def fit(known: list[Scene], shares: FloatArray, crowd: FloatArray, answers: int = 200, **choices: object) -> Mixture:
    """Fit the mixture of a simulated model with the given distributions; the people's distribution is exact."""
    rng = np.random.default_rng(5)
    mass = rng.multinomial(answers, shares / shares.sum(axis=-1, keepdims=True)).astype(float)
    scoring = scoring_of(known, {"human/base": crowd, "m/base": mass}, reference="human")
    (group,) = (group for group in scoring.groups if group.respondent == "m")
    return explain(scoring, group, **choices)  # type: ignore[arg-type]


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
    rng = np.random.default_rng(0)
    known, crowd = varied_scenes(N), people(rng)
    found = fit(known, mixture_of(known, weights, crowd), crowd, bootstrap=60)
    assert set(found.weights) == {*BASELINE_OF, "people"}
    assert sum(one.value or 0.0 for one in found.weights.values()) == pytest.approx(1.0)
    for name, one in found.weights.items():
        assert one.value == pytest.approx(weights.get(name, 0.0), abs=0.03), name
        assert one.ci95 is not None
        low, high = one.ci95
        assert low - 0.01 <= weights.get(name, 0.0) <= high + 0.01, name
    assert sum(found.explained.values()) == pytest.approx(1.0)
    assert (found.n_images, found.n_answers, found.notes) == (N, 200 * N, ())


@pytest.mark.slow
@pytest.mark.parametrize("name", [*BASELINE_OF, "people"])
def test_explain_of_a_respondent_equal_to_one_part_gives_it_weight_1(name: str) -> None:
    rng = np.random.default_rng(1)
    known, crowd = varied_scenes(N), people(rng)
    found = fit(known, mixture_of(known, {name: 1.0}, crowd), crowd, bootstrap=0)
    assert found.weights[name].value == pytest.approx(1.0, abs=0.02)
    assert found.weights[name].ci95 is None
    if name != "uniform":
        assert max(found.explained, key=lambda part: found.explained[part]) == name
        assert found.log_likelihood > found.log_likelihood_uniform


def test_explain_log_likelihoods_equal_plain_loops() -> None:
    rng = np.random.default_rng(2)
    known, crowd = varied_scenes(6), rng.dirichlet(np.ones(60), 6)
    mass = drawn(rng, 6, 15)
    scoring = scoring_of(known, {"human/base": crowd, "m/base": mass}, reference="human")
    found = explain(scoring, scoring.groups[1], bootstrap=0)
    parts = {name: baseline_distributions(baseline, known) for name, baseline in BASELINE_OF.items()}
    parts["people"] = crowd
    total = 0.0
    for i in range(6):
        for j in range(60):
            if mass[i, j]:
                share = sum((found.weights[name].value or 0.0) * part[i, j] for name, part in parts.items())
                total += mass[i, j] * float(np.log(share))
    assert found.log_likelihood == pytest.approx(total)
    assert found.log_likelihood_uniform == pytest.approx(6 * 15 * np.log(1 / 60))


def test_shapley_equals_the_mean_over_all_orders() -> None:
    """Check against all orders in which the four parts other than the uniform part can be added."""
    from itertools import permutations

    from spotball_core.cues.mixture import _shapley
    from spotball_core.cues.mixture_weights import fit_weights

    rng = np.random.default_rng(3)
    table = np.column_stack([np.full(50, 1 / 50), *rng.dirichlet(np.full(50, 0.3), 4)])
    counts = rng.multinomial(300, table @ [0.2, 0.4, 0.3, 0.1, 0.0]).astype(float)

    def gain(parts: tuple[int, ...]) -> float:
        allowed = np.zeros((1, 5), dtype=bool)
        allowed[0, [0, *(part + 1 for part in parts)]] = True
        return float(fit_weights(counts[None], table, allowed)[1][0])

    likelihood = np.array([gain(tuple(k for k in range(4) if subset >> k & 1)) for subset in range(16)])
    expected = np.zeros(4)
    orders = list(permutations(range(4)))
    for order in orders:
        for place, part in enumerate(order):
            expected[part] += gain(order[: place + 1]) - gain(order[:place])
    expected /= len(orders) * (likelihood[-1] - likelihood[0])
    found = _shapley(likelihood, ["a", "b", "c", "d"])
    np.testing.assert_allclose(list(found.values()), expected, atol=1e-6)


def test_explain_of_uniform_responses_explains_nothing() -> None:
    """Check that no part explains uniform responses to one image."""
    scoring = scoring_of([scene(1, players=None, ball_cells=["A1"])], {"m/base": np.ones((1, 60))})
    found = explain(scoring, scoring.groups[0], bootstrap=0)
    assert set(found.explained.values()) == {0.0}
    assert found.weights["uniform"].value == pytest.approx(1.0, abs=1e-3)


# Information of parts --------------------------------------------------------------------------------------------


def parts_of(known: list[Scene], answers: dict[str, FloatArray]) -> dict[str, FloatArray]:
    scoring = scoring_of(known, answers, reference="human")
    (group,) = (group for group in scoring.groups if group.respondent == "m")
    return _parts(scoring, group, np.arange(len(known)))[0]


def test_prior_does_not_depend_on_the_ball_of_the_image_itself() -> None:
    rng, known = np.random.default_rng(4), varied_scenes(10)
    answers = {"human/base": drawn(rng, 10, 30), "m/base": drawn(rng, 10, 30)}
    moved = [scene("0", ball_cells=["F10"], players=known[0].players), *known[1:]]
    before, after = parts_of(known, answers), parts_of(moved, answers)
    np.testing.assert_array_equal(before["prior"][0], after["prior"][0])
    assert (before["prior"][1:] != after["prior"][1:]).any(axis=-1).all()
    assert (before["truth"][0] != after["truth"][0]).any()


def test_parts_do_not_depend_on_the_responses_of_the_group() -> None:
    rng, known = np.random.default_rng(5), varied_scenes(10)
    crowd = drawn(rng, 10, 30)
    one, other = (parts_of(known, {"human/base": crowd, "m/base": drawn(rng, 10, 30)}) for _ in range(2))
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])
    np.testing.assert_allclose(one["people"], crowd / 30)


def test_explain_of_the_reference_has_no_people_part() -> None:
    rng, known = np.random.default_rng(6), varied_scenes(10)
    scoring = scoring_of(known, {"human/base": drawn(rng, 10, 30), "m/base": drawn(rng, 10, 30)}, reference="human")
    assert set(explain(scoring, scoring.groups[0], bootstrap=0).weights) == set(BASELINE_OF)
    alone = scoring_of(known, {"m/base": drawn(rng, 10, 30)})
    assert set(explain(alone, alone.groups[0], bootstrap=0).weights) == set(BASELINE_OF)


# Exclusions ------------------------------------------------------------------------------------------------


def test_explain_excludes_parts_without_distributions_with_a_note() -> None:
    rng = np.random.default_rng(7)
    known = [scene(i, players=None, ball_cells=None) for i in range(4)]
    scoring = scoring_of(known, {"m/base": drawn(rng, 4, 30)})
    found = explain(scoring, scoring.groups[0], bootstrap=10)
    assert set(found.weights) == {"uniform", "center"}
    assert [note.split(" is excluded")[0].removeprefix("the part ") for note in found.notes] == [
        "nearest-player",
        "truth",
        "prior",
    ]


def test_explain_excludes_images_without_a_distribution_for_every_part() -> None:
    rng = np.random.default_rng(8)
    known = [*varied_scenes(8), scene("x", players=None), scene("y", players=[])]
    mass = drawn(rng, 10, 30)
    scoring = scoring_of(known, {"m/base": mass})
    found = explain(scoring, scoring.groups[0], bootstrap=10)
    assert (found.n_images, found.n_answers) == (8, 240)
    assert found.notes == ("2 images are excluded, because not all parts of the mixture have a distribution for them",)
    fewer = Scoring(counts_of(known[:8], {"m/base": mass[:8]}), known, scoring.policy)
    again = explain(fewer, fewer.groups[0], bootstrap=10)
    assert again.weights == found.weights
    assert again.explained == found.explained


def test_explain_without_an_image_for_all_parts_is_an_error() -> None:
    known = [scene("x", players=None), scene("y", ball_cells=None)]
    scoring = scoring_of(known, {"m/base": np.ones((2, 60))})
    with raises(OptionError, "no-data"):
        explain(scoring, scoring.groups[0])


def test_explain_intervals_depend_only_on_the_seed() -> None:
    rng, known = np.random.default_rng(9), varied_scenes(20)
    scoring = scoring_of(known, {"m/base": drawn(rng, 20, 30)})
    one, again, other = (explain(scoring, scoring.groups[0], bootstrap=50, seed=seed) for seed in (0, 0, 1))
    assert one == again
    assert {name: weight.value for name, weight in one.weights.items()} == {
        name: weight.value for name, weight in other.weights.items()
    }
    assert one.weights["center"].ci95 != other.weights["center"].ci95
    assert one.signature.endswith("|mix-boot:50|mix-seed:0")


def test_explain_of_fractional_responses_scales_the_log_likelihood() -> None:
    rng, known = np.random.default_rng(10), varied_scenes(20)
    whole = drawn(rng, 20, 30)
    fits = []
    for mass in (whole, whole / 30):
        scoring = scoring_of(known, {"m/base": mass})
        fits.append(explain(scoring, scoring.groups[0], bootstrap=0))
    for name, weight in fits[0].weights.items():
        assert fits[1].weights[name].value == pytest.approx(weight.value, abs=1e-6)
    assert fits[1].log_likelihood == pytest.approx(fits[0].log_likelihood / 30)


def test_explain_of_a_group_over_several_sports_has_no_sport() -> None:
    rng = np.random.default_rng(11)
    known = [*varied_scenes(6, "soccer"), *varied_scenes(6, "golf", seed=1)]
    scoring = scoring_of(known, {"m/base": drawn(rng, 12, 30)}, by=("respondent",))
    found = explain(scoring, scoring.groups[0], bootstrap=10)
    assert (found.sport, found.n_images, found.group) == (None, 12, "m")


@pytest.mark.real
def test_explain_of_soccer_gemini_gives_most_weight_to_the_center(real_release: object) -> None:
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

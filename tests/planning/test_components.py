"""Test variance components: against numbers worked out by hand, plain loops, and simulation."""

from __future__ import annotations

import numpy as np
import pytest

from spotball_core.metrics.registry import METRICS
from spotball_core.planning.components import Answered, answered, crossed, moments, pseudo_values
from spotball_core.planning.design import paired
from spotball_core.scoring.estimates import Estimator
from spotball_core.typing import FloatArray
from tests.stats.build import drawn, scenes, scoring_of, varied_scenes

HIT, MISS = 22, 0
"""The ball's cell of `scenes`, and another cell."""


def estimator_of(mass: FloatArray, unparsed: FloatArray | None = None) -> Estimator:
    blanks = {} if unparsed is None else {"a/base": unparsed}
    scoring = scoring_of(scenes(len(mass)), {"a/base": mass}, blanks)
    return scoring.estimator(scoring.groups[0])


def hits(*images: tuple[int, int]) -> FloatArray:
    """Return answers with these numbers of hits and misses for each image."""
    mass = np.zeros((len(images), 60))
    mass[:, [HIT, MISS]] = images
    return mass


def components(found: Answered) -> tuple[float, float]:
    spread = paired(found, None).spread(people=0.0, least=1, alpha=0.05, power=0.8)
    return spread.between / 2, spread.first / 2


def test_components_of_accuracy_with_unequal_numbers_of_answers_worked_out_by_hand() -> None:
    # Three of four answers are right, then none of two, then one of two.
    found = answered(estimator_of(hits((3, 1), (0, 2), (1, 1))), METRICS["accuracy"], np.random.default_rng(0))
    assert found.values.tolist() == [0.75, 0.0, 0.5]
    # s^2 is 4 * 3/4 * 1/4 / 3, then 0, then 2 * 1/4 / 1.
    assert found.first == pytest.approx([0.25, 0.0, 0.5])
    mean = (0.75 + 0.0 + 0.5) / 3
    total = ((0.75 - mean) ** 2 + (0.0 - mean) ** 2 + (0.5 - mean) ** 2) / 2
    noise = (0.25 / 4 + 0.0 / 2 + 0.5 / 2) / 3
    assert components(found) == pytest.approx((total - noise, 0.25))
    assert found.step == 1.0


def test_components_count_unparsed_answers_as_wrong_in_accuracy() -> None:
    found = answered(
        estimator_of(hits((1, 0), (1, 1)), np.array([1.0, 0.0])), METRICS["accuracy"], np.random.default_rng(0)
    )
    assert found.values.tolist() == [0.5, 0.5]
    assert found.answers.tolist() == [2.0, 2.0]


def test_answers_noise_is_unknown_with_one_answer_per_image() -> None:
    found = answered(estimator_of(hits((1, 0), (0, 1), (1, 0))), METRICS["accuracy"], np.random.default_rng(0))
    assert np.isnan(found.first).all()
    pair = paired(found, None)
    assert pair.only == 1
    assert pair.spread(people=0.0, least=1, alpha=0.05, power=0.8).between == pytest.approx(2 / 3)


def test_one_answer_to_some_images_uses_the_mean_noise_of_the_others() -> None:
    found = answered(estimator_of(hits((1, 1), (1, 0))), METRICS["accuracy"], np.random.default_rng(0))
    assert found.noise == pytest.approx([0.25, 0.5])


@pytest.mark.slow
def test_components_are_unbiased_with_unequal_numbers_of_answers_and_unequal_noise() -> None:
    rng, found = np.random.default_rng(0), []
    for _ in range(3000):
        p = rng.beta(1.0, 2.0, 8)
        n = np.array([2, 2, 3, 4, 5, 8, 12, 30])
        right = rng.binomial(n, p)
        means, variances = moments(np.tile([1.0, 0.0], (8, 1)), np.stack([right, n - right], axis=1).astype(float))
        side = Answered(means, n.astype(float), variances, np.zeros(8))
        pair = paired(side, None)
        found.append([pair.differences.var(ddof=1) / 2 - pair.noise.mean() / 2, pair.first.mean() / 2])
    # The variance of a beta distribution, and the mean of p (1 - p).
    true = np.array([1 * 2 / (9 * 4), 1 / 3 - (1 * 2 / (9 * 4) + 1 / 9)])
    error = np.std(found, axis=0) / np.sqrt(len(found))
    assert np.abs(np.mean(found, axis=0) - true) / error == pytest.approx([0, 0], abs=4)


def test_pseudo_values_of_a_mean_over_images_are_the_images_values() -> None:
    rng = np.random.default_rng(0)
    scoring = scoring_of(varied_scenes(7), {"a/base": drawn(rng, 7, 6)})
    statistic = scoring.estimator(scoring.groups[0]).own(METRICS["euclidean_error"])
    assert pseudo_values(statistic) == pytest.approx(statistic.values)


def plain_crossed(scores: list[tuple[int, int, float]]) -> tuple[float, float, float]:
    """Return the classic analysis of variance of a balanced two-way layout without interaction."""
    rows, columns = sorted({r for r, _, _ in scores}), sorted({c for _, c, _ in scores})
    k = len(scores) // (len(rows) * len(columns))
    grand = sum(y for *_, y in scores) / len(scores)
    of_rows = {r: sum(y for q, _, y in scores if q == r) / (k * len(columns)) for r in rows}
    of_columns = {c: sum(y for _, q, y in scores if q == c) / (k * len(rows)) for c in columns}
    between_rows = k * len(columns) * sum((m - grand) ** 2 for m in of_rows.values())
    between_columns = k * len(rows) * sum((m - grand) ** 2 for m in of_columns.values())
    total = sum((y - grand) ** 2 for *_, y in scores)
    error = (total - between_rows - between_columns) / (len(scores) - len(rows) - len(columns) + 1)
    return (
        (between_rows / (len(rows) - 1) - error) / (k * len(columns)),
        (between_columns / (len(columns) - 1) - error) / (k * len(rows)),
        error,
    )


def test_crossed_equals_a_plain_analysis_of_variance_of_a_balanced_layout() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=(5, 7, 3)) + rng.normal(size=(5, 1, 1)) + rng.normal(size=(1, 7, 1))
    scores = [(r, c, float(y[r, c, i])) for r in range(5) for c in range(7) for i in range(3)]
    found = crossed(y.sum(axis=2), np.full((5, 7), 3.0), float((y**2).sum()))
    assert found == pytest.approx(plain_crossed(scores))


def test_crossed_worked_out_by_hand() -> None:
    # Rows have the means 1.5 and 3.5, columns 2 and 3, and the sum has no error: 2 = (2 * 1 + 2 * 1) / 1 / 2.
    assert crossed(np.array([[1.0, 2.0], [3.0, 4.0]]), np.ones((2, 2)), 30.0) == pytest.approx((2.0, 0.5, 0.0))


def test_crossed_is_unbiased_if_people_answer_different_images() -> None:
    rng, found = np.random.default_rng(0), []
    counts = rng.integers(0, 3, (6, 9)).astype(float)
    for _ in range(2000):
        effects = rng.normal(0, 0.7, (6, 1)) + rng.normal(0, 1.2, (1, 9))
        y = effects[..., None] + rng.normal(0, 0.5, (6, 9, 2))
        shown = np.arange(2) < counts[..., None]
        found.append(crossed((y * shown).sum(axis=2), counts, float((y**2 * shown).sum())))
    error = np.std(found, axis=0) / np.sqrt(len(found))
    assert np.abs(np.mean(found, axis=0) - [0.49, 1.44, 0.25]) / error == pytest.approx([0, 0, 0], abs=4)


def test_crossed_is_undetermined_for_one_row() -> None:
    assert np.isnan(crossed(np.array([[1.0, 2.0]]), np.ones((1, 2)), 5.0)).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "tolerance"), [("wasserstein_matched", 0.25), ("image_entropy_matched", 0.6), ("center_ratio", 0.25)]
)
def test_answers_noise_of_other_metrics_is_that_of_new_answers(key: str, tolerance: float) -> None:
    rng, n_images = np.random.default_rng(0), 24
    known = varied_scenes(n_images)
    shares = rng.dirichlet(np.full(60, 0.3), n_images)
    people = drawn(rng, n_images, 60)

    def estimator(n: int) -> Estimator:
        mass = rng.multinomial(n, shares).astype(float)
        scoring = scoring_of(known, {"a/base": mass, "p/base": people}, reference="p", bootstrap=0)
        return scoring.estimator(scoring.groups[0])

    values = [pseudo_values(estimator(40).own(METRICS[key])) for _ in range(30)]
    true = float(np.mean(np.var(values, axis=0, ddof=1)))
    found = [answered(estimator(40), METRICS[key], rng) for _ in range(3)]
    predicted = np.mean([one.first.mean() / 40 + one.second.mean() / 40**2 for one in found])
    assert predicted == pytest.approx(true, rel=tolerance)

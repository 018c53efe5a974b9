"""Test accuracy, distance errors and top-k accuracy against cases computed by hand and plain loops."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from spotball_core import accuracy, euclidean_error, expected_error, top_k_accuracy
from spotball_core.errors import DistributionError, OptionError
from spotball_core.grid import Grid
from spotball_core.metrics.task import truth_distances
from tests.conftest import examples
from tests.failures import raises

from .strategies import Array, ImageCounts, distances, items

GRID = Grid(2, 3, 30, 40)  # cells of 10 x 20 pixels: A1 A2 A3 over B1 B2 B3


def named_cells(counts: Array) -> list[int]:
    return [cell for cell, count in enumerate(counts) for _ in range(int(count))]


def test_accuracy_equals_values_computed_by_hand() -> None:
    # Two answers name A1, one A2 and one B3. The ball is in A1 and A2, so 3 of 4 are right.
    assert accuracy([2, 1, 0, 0, 0, 1], GRID.mask(["A1", "A2"])) == 3 / 4
    # Of five answers, D2 and C3 are right, two are wrong and one is unparsed.
    assert accuracy(["D2", "C3", "A1", "F10", None], {"C3", "D2", "D3"}) == 2 / 5


def test_accuracy_counts_unparsed_answers_as_wrong() -> None:
    counts, truth = np.array([2, 1, 0, 0, 0, 1]), GRID.mask(["A1", "A2"])
    assert accuracy(counts, truth, unparsed=2) == 3 / (4 + 2)
    assert accuracy(np.zeros(6), truth, unparsed=2) == 0
    assert math.isnan(accuracy(np.zeros(6), truth))
    assert accuracy([None, None], "C3") == 0
    assert accuracy(["C3", None], "C3", unparsed=2) == 1 / 4
    assert accuracy(np.stack([counts, counts]), truth, unparsed=[0, 4]).tolist() == [3 / 4, 3 / 8]
    assert accuracy(counts, truth, unparsed=[[0], [1], [2]]).tolist() == [[3 / 4], [3 / 5], [3 / 6]]


@pytest.mark.parametrize("unparsed", [-1, [0, -1], math.nan, math.inf, "two", [1, 2, 3]])
def test_accuracy_with_an_invalid_unparsed_count_raises_distribution_error(unparsed: object) -> None:
    with pytest.raises(DistributionError):
        accuracy(np.ones((2, 6)), GRID.mask(["A1"]), unparsed=unparsed)  # type: ignore[arg-type]


@given(item=items(), unparsed=st.integers(0, 5))
def test_accuracy_equals_a_plain_loop(item: ImageCounts, unparsed: int) -> None:
    answers = named_cells(item.counts)
    right = sum(1 for cell in answers if item.truth[cell])
    found = accuracy(item.counts, item.truth, unparsed=unparsed)
    assert found == pytest.approx(right / (len(answers) + unparsed), rel=1e-12)


def test_euclidean_and_expected_error_equal_values_computed_by_hand() -> None:
    counts, truth = [1, 0, 0, 0, 0, 3], GRID.mask(["A2", "B1"])
    # A1 is 10 away from A2 and 20 from B1. B3 is hypot(10, 20) away from A2 and 20 from B1.
    assert euclidean_error(counts, truth, grid=GRID) == (10 + 3 * 20) / 4
    expected = ((10 + 20) / 2 + 3 * (math.sqrt(500) + 20) / 2) / 4
    assert expected_error(counts, truth, grid=GRID) == pytest.approx(expected, rel=1e-14)
    # Standard cells are 64 x 60. D5 is 3 columns and 1 row away from C2, and 3 columns from D2. D2 is 1 row from C2.
    answers, ball = ["D5", "D2", None], {"C2", "D2"}
    assert euclidean_error(answers, ball) == (3 * 64 + 0) / 2
    expected = ((math.hypot(3 * 64, 60) + 3 * 64) / 2 + (60 + 0) / 2) / 2
    assert expected_error(answers, ball) == pytest.approx(expected, rel=1e-14)
    # Neighbors of A1 and B3 in the same row are 10 away, and in the same column 20. Without a ball, distances are
    # infinite.
    masks = np.stack([GRID.mask(["A1", "B3"]), GRID.mask([])])
    assert truth_distances(masks, GRID).tolist() == [[0, 10, 20, 20, 10, 0], [math.inf] * 6]


@given(item=items())
def test_euclidean_and_expected_error_equal_plain_loops(item: ImageCounts) -> None:
    far, answers, balls = distances(item.grid), named_cells(item.counts), np.flatnonzero(item.truth)
    nearest = sum(min(far[cell, ball] for ball in balls) for cell in answers) / len(answers)
    mean = sum(far[cell, ball] for cell in answers for ball in balls) / (len(answers) * len(balls))
    euclidean = euclidean_error(item.counts, item.truth, grid=item.grid)
    assert euclidean == pytest.approx(nearest, rel=1e-12, abs=1e-12)
    expected = expected_error(item.counts, item.truth, grid=item.grid)
    assert expected == pytest.approx(mean, rel=1e-12, abs=1e-12)
    assert expected >= euclidean - 1e-9


def test_top_k_accuracy_equals_values_computed_by_hand() -> None:
    counts = [5, 3, 3, 3, 1, 0]
    # A1 is first. A2, A3 and B1 tie for the next places.
    assert top_k_accuracy(counts, GRID.mask(["A1"]), k=1) == 1
    assert top_k_accuracy(counts, GRID.mask(["A2"]), k=1) == 0
    assert top_k_accuracy(counts, GRID.mask(["A2"]), k=2) == pytest.approx(1 / 3)
    assert top_k_accuracy(counts, GRID.mask(["A2", "B1"]), k=2) == pytest.approx(2 / 3)
    # Two of the three tied cells are in the top 3. At most one of them is A3, so at least one is right.
    assert top_k_accuracy(counts, GRID.mask(["A2", "B1"]), k=3) == 1
    assert top_k_accuracy(counts, GRID.mask(["A2", "B3"]), k=3) == pytest.approx(2 / 3)
    assert top_k_accuracy(counts, GRID.mask(["B2"]), k=4) == 0
    assert top_k_accuracy(counts, GRID.mask(["B2"]), k=5) == 1
    # Cells without answers are not among the top k.
    assert top_k_accuracy([2, 1, 0, 0, 0, 0], GRID.mask(["B3"]), k=3) == 0
    assert top_k_accuracy([2, 1, 0, 0, 0, 0], GRID.mask(["B3"]), k=6) == 0
    assert top_k_accuracy([2, 1, 0, 0, 0, 0], GRID.mask(["A2"]), k=1000) == 1


@settings(max_examples=examples(60))
@given(item=items(max_rows=2, max_cols=3, max_value=3), k=st.integers(1, 7))
def test_top_k_accuracy_is_the_mean_over_all_orders_of_ties(item: ImageCounts, k: int) -> None:
    cells = range(item.grid.n_cells)
    hits = []
    for order in itertools.permutations(cells):
        ranked = sorted((cell for cell in order if item.counts[cell] > 0), key=lambda cell: -item.counts[cell])
        hits.append(any(item.truth[cell] for cell in ranked[:k]))
    assert top_k_accuracy(item.counts, item.truth, k=k) == pytest.approx(sum(hits) / len(hits), abs=1e-12)


@given(item=items())
def test_top_k_accuracy_grows_with_k_and_ends_at_1_if_any_answer_is_right_and_else_at_0(item: ImageCounts) -> None:
    values = [float(top_k_accuracy(item.counts, item.truth, k=k)) for k in range(1, item.grid.n_cells + 1)]
    assert all(later >= earlier - 1e-12 for earlier, later in itertools.pairwise(values))
    assert values[-1] == float(item.counts[item.truth].sum() > 0)


@pytest.mark.parametrize("k", [0, -1])
def test_top_k_accuracy_with_k_below_1_raises_option_error(k: int) -> None:
    with raises(OptionError, "invalid-option:k"):
        top_k_accuracy([1, 0], [True, False], k=k)

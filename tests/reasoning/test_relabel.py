"""Test random relabeling and the removal of single templates against plain loops and SciPy, on synthetic numbers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from spotball_core.errors import OptionError
from spotball_core.reasoning import relabel as module
from spotball_core.reasoning.classify import closest
from spotball_core.reasoning.relabel import Relabeled, kept_without, relabel
from spotball_core.reasoning.similarity import mean_over, set_numbers
from spotball_core.typing import FloatArray
from tests.conftest import examples
from tests.failures import raises


def drawn(seed: int, n: int = 40, sizes: tuple[int, ...] = (3, 3), lead: float = 0.0) -> FloatArray:
    """Return random cosines of n rationales; those of each rationale with one random set are higher by `lead`."""
    rng = np.random.default_rng(seed)
    own = rng.integers(0, len(sizes), n)
    return rng.normal(0, 0.1, (n, sum(sizes))) + lead * (set_numbers(sizes) == own[:, None])


def plain(cosines: FloatArray, labels: FloatArray, n_sets: int, offset: FloatArray) -> tuple[float, list[int]]:
    """Return the sum of margins, and the number of rationales that are closest to each set."""
    total, counts = 0.0, [0] * n_sets
    for row in cosines - offset:
        means = [float(np.mean(row[labels == number])) for number in range(n_sets)]
        margin = sorted(means)[-1] - sorted(means)[-2]
        if margin > 1e-12:
            total += margin
            counts[means.index(max(means))] += 1
    return total, counts


@pytest.mark.parametrize("sizes", [(3, 3), (2, 5), (2, 3, 4), (1, 1)])
def test_relabel_margin_sums_and_closest_counts_equal_those_of_a_plain_loop_for_each_labeling(
    sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LABELINGS", 3)
    monkeypatch.setattr(module, "_ROWS", 7)
    monkeypatch.setattr(module, "_CACHED", 4)
    cosines = drawn(1, sizes=sizes)
    cosines[5] = 0.25  # This rationale is a tie under any labeling.
    group = np.repeat([0, 1, 3], [10, 25, 5])  # Group 2 has no rationales.
    times = np.random.default_rng(2).integers(1, 4, 40).astype(float)
    offsets = [np.zeros(sum(sizes)), cosines.mean(axis=0)]
    found = relabel(cosines, times, group, sizes, offsets=offsets, labelings=8, seed=5)
    labelings = module._labelings(sizes, 8, 5)
    assert labelings[0].tolist() == set_numbers(sizes).tolist()
    assert all(sorted(each) == sorted(labelings[0]) for each in labelings)
    for offset, result in zip(offsets, found, strict=True):
        for place in (0, 1, 3):
            rows = np.repeat(cosines[group == place], times[group == place].astype(int), axis=0)
            assert result.n[place] == len(rows)
            for number, labels in enumerate(labelings):
                total, counts = plain(rows, labels, len(sizes), offset)
                assert result.margin[place, number] == pytest.approx(total, abs=1e-10)
                assert result.closest[:, place, number].tolist() == counts


def test_margin_test_agrees_with_an_exact_scipy_permutation_test() -> None:
    cosines, sizes = drawn(3, lead=0.05), (3, 3)

    def mean_margin(one: FloatArray, other: FloatArray, axis: int = -1) -> FloatArray:
        # SciPy permutes the numbers of the templates; each number selects a column of cosines.
        means = cosines[:, one.astype(int)].mean(axis=-1) - cosines[:, other.astype(int)].mean(axis=-1)
        return np.abs(means).mean(axis=0)

    options = {"n_resamples": np.inf, "alternative": "greater", "vectorized": True, "axis": -1}
    theirs = stats.permutation_test((np.arange(3), np.arange(3, 6)), mean_margin, **options)
    (ours,) = relabel(cosines, np.ones(40), np.zeros(40, int), sizes, offsets=[np.zeros(6)], labelings=4000, seed=0)
    test = ours.margin_test([0])
    assert test.observed == pytest.approx(float(theirs.statistic))
    assert test.expected == pytest.approx(float(theirs.null_distribution.mean()), rel=0.02)
    assert test.p == pytest.approx(float(theirs.pvalue), abs=0.03)
    assert len(theirs.null_distribution) == len(list(combinations(range(6), 3)))


def test_margin_test_is_significant_only_for_informative_labels() -> None:
    group, zeros = np.zeros(400, int), [np.zeros(24)]
    sizes = (12, 12)
    for lead, low, high in ((0.2, 0.0, 0.01), (0.0, 0.02, 1.0)):
        (found,) = relabel(drawn(8, 400, sizes, lead), np.ones(400), group, sizes, offsets=zeros, seed=1)
        assert low <= found.margin_test([0]).p <= high
    # One set is closer to all rationales, so all of them get its category. Random labels rarely give such a result.
    ahead = drawn(9, 400, sizes) + 0.3 * (set_numbers(sizes) == 0)
    plainly, centered = relabel(ahead, np.ones(400), group, sizes, offsets=[zeros[0], ahead.mean(axis=0)], seed=1)
    assert plainly.share_test([0]).observed == 0.5
    assert centered.share_test([0]).observed < 0.1
    assert plainly.margin_test([0]).p < 0.01 < centered.margin_test([0]).p


def test_margin_and_share_tests_over_two_groups_equal_those_of_the_merged_group() -> None:
    cosines = drawn(4)
    options = {"offsets": [np.zeros(6)], "labelings": 20, "seed": 0}
    (apart,) = relabel(cosines, np.ones(40), np.repeat([0, 1], 20), (3, 3), **options)  # type: ignore[arg-type]
    (whole,) = relabel(cosines, np.ones(40), np.zeros(40, int), (3, 3), **options)  # type: ignore[arg-type]
    one, other = apart.margin_test([0, 1]), whole.margin_test([0])
    assert (one.p, one.observed) == (other.p, pytest.approx(other.observed))
    assert apart.share_test([0, 1]) == whole.share_test([0])


@settings(max_examples=examples(40))
@given(st.integers(0, 10_000), st.integers(1, 30))
def test_relabel_p_values_are_in_range_and_observed_statistics_do_not_depend_on_category_order(
    seed: int, labelings: int
) -> None:
    cosines = drawn(seed, 10)
    turned = np.concatenate([cosines[:, 3:], cosines[:, :3]], axis=1)
    tests = []
    for each in (cosines, turned):
        (found,) = relabel(each, np.ones(10), np.zeros(10, int), (3, 3), offsets=[np.zeros(6)], labelings=labelings)
        tests.append((found.margin_test([0]), found.share_test([0])))
        for test in tests[-1]:
            assert 1 / (1 + labelings) <= test.p <= 1
            assert (test.p * (1 + labelings)) == pytest.approx(round(test.p * (1 + labelings)))
    for one, other in zip(*tests, strict=True):
        assert one.observed == pytest.approx(other.observed, abs=1e-12)


def test_p_value_is_1_if_all_labelings_have_equal_statistics_and_relabel_with_zero_labelings_is_an_error() -> None:
    same = Relabeled(np.array([4.0]), np.full((1, 6), 0.5), np.full((2, 1, 6), 2.0))
    assert same.margin_test([0]).p == same.share_test([0]).p == 1.0
    with raises(OptionError, "invalid-option:labelings"):
        relabel(drawn(0), np.ones(40), np.zeros(40, int), (3, 3), offsets=[np.zeros(6)], labelings=0)


@pytest.mark.parametrize("sizes", [(3, 3), (2, 5), (2, 3, 4)])
def test_kept_without_marks_rationales_whose_category_stays_when_a_template_is_removed(sizes: tuple[int, ...]) -> None:
    cosines = drawn(6, sizes=sizes)
    before, _ = closest(cosines @ mean_over(set_numbers(sizes), len(sizes)))
    for place, stays in enumerate(kept_without(cosines, sizes)):
        labels = np.delete(set_numbers(sizes), place)
        after, _ = closest(np.delete(cosines, place, axis=1) @ mean_over(labels, len(sizes)))
        assert stays is not None
        assert stays.tolist() == (after == before).tolist()


def test_kept_without_returns_none_for_the_only_template_of_a_set() -> None:
    first, *others = kept_without(np.array([[0.5, 0.4, 0.2]]), (1, 2))
    assert first is None
    assert [stays if stays is None else stays.tolist() for stays in others] == [[1.0], [1.0]]

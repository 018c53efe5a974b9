"""Random labels and left out templates: against plain loops and SciPy. All numbers are synthetic."""

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


def drawn(seed: int, n: int = 40, sizes: tuple[int, ...] = (3, 3), lead: float = 0.0) -> FloatArray:
    """Cosines of n rationales, each of which is closer to the templates of one of the sets by `lead`."""
    rng = np.random.default_rng(seed)
    own = rng.integers(0, len(sizes), n)
    return rng.normal(0, 0.1, (n, sum(sizes))) + lead * (set_numbers(sizes) == own[:, None])


def plain(cosines: FloatArray, labels: FloatArray, n_sets: int, offset: FloatArray) -> tuple[float, list[int]]:
    """Sum of margins, and how many are closest to each set."""
    total, counts = 0.0, [0] * n_sets
    for row in cosines - offset:
        means = [float(np.mean(row[labels == number])) for number in range(n_sets)]
        margin = sorted(means)[-1] - sorted(means)[-2]
        if margin > 1e-12:
            total += margin
            counts[means.index(max(means))] += 1
    return total, counts


@pytest.mark.parametrize("sizes", [(3, 3), (2, 5), (2, 3, 4), (1, 1)])
def test_sums_under_each_labeling_are_those_of_a_plain_loop(
    sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_LABELINGS", 3)
    monkeypatch.setattr(module, "_ROWS", 7)
    monkeypatch.setattr(module, "_CACHED", 4)
    cosines = drawn(1, sizes=sizes)
    cosines[5] = 0.25  # a tie under any labels
    group = np.repeat([0, 1, 3], [10, 25, 5])  # nothing of a third group
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


def test_the_margin_test_agrees_with_scipy_over_all_labelings() -> None:
    cosines, sizes = drawn(3, lead=0.05), (3, 3)

    def mean_margin(one: FloatArray, other: FloatArray, axis: int = -1) -> FloatArray:
        # SciPy permutes the templates; each is a column of cosines, looked up by its number.
        means = cosines[:, one.astype(int)].mean(axis=-1) - cosines[:, other.astype(int)].mean(axis=-1)
        return np.abs(means).mean(axis=0)

    theirs = stats.permutation_test(
        (np.arange(3), np.arange(3, 6)),
        mean_margin,
        n_resamples=np.inf,
        alternative="greater",
        vectorized=True,
        axis=-1,
    )
    (ours,) = relabel(cosines, np.ones(40), np.zeros(40, int), sizes, offsets=[np.zeros(6)], labelings=4000, seed=0)
    test = ours.margin_test([0])
    assert test.observed == pytest.approx(float(theirs.statistic))
    assert test.expected == pytest.approx(float(theirs.null_distribution.mean()), rel=0.02)
    assert test.p == pytest.approx(float(theirs.pvalue), abs=0.03)
    assert len(theirs.null_distribution) == len(list(combinations(range(6), 3)))


def test_labels_that_mean_something_are_found_and_others_are_not() -> None:
    group, zeros = np.zeros(400, int), [np.zeros(24)]
    sizes = (12, 12)
    for lead, low, high in ((0.2, 0.0, 0.01), (0.0, 0.02, 1.0)):
        (found,) = relabel(drawn(8, 400, sizes, lead), np.ones(400), group, sizes, offsets=zeros, seed=1)
        assert low <= found.margin_test([0]).p <= high
    # One set is closer to everything: the shares are all one way, and random labels seldom are.
    ahead = drawn(9, 400, sizes) + 0.3 * (set_numbers(sizes) == 0)
    plainly, centered = relabel(ahead, np.ones(400), group, sizes, offsets=[zeros[0], ahead.mean(axis=0)], seed=1)
    assert plainly.share_test([0]).observed == 0.5
    assert centered.share_test([0]).observed < 0.1
    assert plainly.margin_test([0]).p < 0.01 < centered.margin_test([0]).p


def test_groups_add() -> None:
    cosines = drawn(4)
    options = {"offsets": [np.zeros(6)], "labelings": 20, "seed": 0}
    (apart,) = relabel(cosines, np.ones(40), np.repeat([0, 1], 20), (3, 3), **options)  # type: ignore[arg-type]
    (whole,) = relabel(cosines, np.ones(40), np.zeros(40, int), (3, 3), **options)  # type: ignore[arg-type]
    one, other = apart.margin_test([0, 1]), whole.margin_test([0])
    assert (one.p, one.observed) == (other.p, pytest.approx(other.observed))
    assert apart.share_test([0, 1]) == whole.share_test([0])


@settings(max_examples=examples(40))
@given(st.integers(0, 10_000), st.integers(1, 30))
def test_p_is_above_0_and_at_most_1_and_names_mean_nothing(seed: int, labelings: int) -> None:
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


def test_equal_statistics_count_as_extreme() -> None:
    same = Relabeled(np.array([4.0]), np.full((1, 6), 0.5), np.full((2, 1, 6), 2.0))
    assert same.margin_test([0]).p == 1.0
    assert same.share_test([0]).p == 1.0


def test_without_any_labeling_there_is_no_test() -> None:
    with pytest.raises(OptionError, match="labelings: found 0"):
        relabel(drawn(0), np.ones(40), np.zeros(40, int), (3, 3), offsets=[np.zeros(6)], labelings=0)


@pytest.mark.parametrize("sizes", [(3, 3), (2, 5), (2, 3, 4)])
def test_leaving_a_template_out_is_classifying_without_it(sizes: tuple[int, ...]) -> None:
    cosines = drawn(6, sizes=sizes)
    before, _ = closest(cosines @ mean_over(set_numbers(sizes), len(sizes)))
    for place, stays in enumerate(kept_without(cosines, sizes)):
        labels = np.delete(set_numbers(sizes), place)
        after, _ = closest(np.delete(cosines, place, axis=1) @ mean_over(labels, len(sizes)))
        assert stays is not None
        assert stays.tolist() == (after == before).tolist()


def test_the_only_template_of_a_set_cannot_be_left_out() -> None:
    first, second, third = kept_without(np.array([[0.5, 0.4, 0.2]]), (1, 2))
    assert first is None
    assert second is not None
    assert third is not None
    assert (second.tolist(), third.tolist()) == ([1.0], [1.0])

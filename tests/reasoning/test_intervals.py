"""Test shares, contrasts and agreement against plain loops, with synthetic numbers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, strategies as st

from spotball_core.reasoning.analysis import seem_not_english, without_letters, word_counts
from spotball_core.reasoning.classify import agreement, keyword_categories
from spotball_core.reasoning.grouped import Stratified, drawn_images, ratios_of_sums, stratified_difference
from spotball_core.stats.bootstrap import resample_weights
from spotball_core.typing import FloatArray, IntArray


def test_ratios_of_sums_value_and_interval_equal_those_of_a_plain_loop() -> None:
    rng = np.random.default_rng(0)
    below = rng.integers(0, 5, 12).astype(float)
    above = rng.binomial(below.astype(int), 0.4).astype(float)
    (found,) = ratios_of_sums(above[None], below, drawn_images(200, 3))
    used = np.flatnonzero(below)
    drawn = []
    for weights in resample_weights(len(used), 200, 3):
        images = np.repeat(used, weights.astype(int))
        drawn.append(sum(above[images]) / sum(below[images]))
    assert found.value == pytest.approx(above.sum() / below.sum())
    assert found.ci95 == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])))
    assert found.n_images == len(used)
    assert ratios_of_sums(above[None], below, drawn_images(0, 0))[0].ci95 is None


def plain_difference(rows: list[tuple[float, bool, int]]) -> tuple[float, float]:
    """Return the weighted mean of each kind over the strata that contain both kinds."""
    total, a, b = 0.0, 0.0, 0.0
    for stratum in {row[2] for row in rows}:
        ones = [value for value, is_a, its in rows if its == stratum and is_a]
        others = [value for value, is_a, its in rows if its == stratum and not is_a]
        if ones and others:
            weight = len(ones) * len(others) / (len(ones) + len(others))
            total += weight
            a += weight * float(np.mean(ones))
            b += weight * float(np.mean(others))
    return (a / total, b / total) if total else (float("nan"), float("nan"))


@given(st.integers(0, 2000))
def test_stratified_difference_and_interval_equal_those_of_a_plain_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 25
    value, kind = rng.normal(size=n), rng.integers(-1, 2, n)  # A kind of -1 means neither of the two, such as a tie.
    value[rng.integers(0, n, 3)] = np.nan
    stratum, image = rng.integers(0, 3, n), rng.integers(0, 5, n)
    found = stratified_difference(value, kind == 0, kind == 1, stratum, image, drawn_images(20, 1))
    every = zip(value.tolist(), (kind == 0).tolist(), stratum.tolist(), image.tolist(), strict=True)
    rows = [row for row, known in zip(every, (kind >= 0) & np.isfinite(value), strict=True) if known]
    both = {s for s in range(3) if {is_a for _, is_a, its, _ in rows if its == s} == {True, False}}
    rows = [row for row in rows if row[2] in both]
    a, b = plain_difference([row[:3] for row in rows])
    if found is None:
        assert not both
        return
    assert (found.a, found.b) == pytest.approx((a, b))
    assert (found.n_a, found.n_b) == (sum(row[1] for row in rows), sum(not row[1] for row in rows))
    assert found.n_strata == len(both)
    images = sorted({row[3] for row in rows})
    assert found.n_images == len(images)
    differences = []
    for weights in resample_weights(len(images), 20, 1):
        times = dict(zip(images, weights.astype(int), strict=True))
        one, other = plain_difference([row[:3] for row in rows for _ in range(times[row[3]])])
        differences.append(one - other)
    if np.isfinite(differences).any():
        assert found.ci95 == pytest.approx(tuple(np.nanquantile(differences, [0.025, 0.975])))
    else:
        assert found.ci95 is None


def test_stratified_difference_compares_only_within_strata() -> None:
    # The first kind is 1 higher within each stratum. Pooled, it is lower, because it is rare where values are high.
    value = np.array([1.0, 1.0, 1.0, 0.0, 11.0, 10.0, 10.0, 10.0])
    is_a = np.array([True, True, True, False, True, False, False, False])

    def compared(value: FloatArray, stratum: IntArray, draws: int = 0) -> Stratified | None:
        return stratified_difference(value, is_a, ~is_a, stratum, np.arange(8), drawn_images(draws, 0))

    found = compared(value, np.repeat([0, 1], 4))
    assert found is not None
    assert (found.a, found.b, found.n_strata) == (6.0, 5.0, 2)
    assert value[is_a].mean() < value[~is_a].mean()
    assert compared(value, np.where(is_a, 0, 1)) is None
    assert compared(value * np.nan, np.zeros(8, int), draws=5) is None


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(1, 3)), max_size=30))
def test_agreement_share_and_kappa_equal_those_of_a_plain_loop(rows: list[tuple[int, int, int]]) -> None:
    one, other, times = (np.array([row[i] for row in rows], dtype=int) for i in range(3))
    n, share, kappa = agreement(one, other, 3, times.astype(float))
    both = [(a, b) for a, b, often in rows for _ in range(often) if a >= 0 and b >= 0]
    assert n == len(both)
    if not both:
        assert np.isnan(share)
        assert np.isnan(kappa)
        return
    observed = sum(a == b for a, b in both) / len(both)
    times_a, times_b = (Counter(labels) for labels in zip(*both, strict=True))
    chance = sum(times_a[c] * times_b[c] for c in range(3)) / len(both) ** 2
    assert share == pytest.approx(observed)
    if chance < 1 - 1e-9:
        assert kappa == pytest.approx((observed - chance) / (1 - chance), abs=1e-12)
    else:
        assert np.isnan(kappa)


def test_kappa_of_a_2_by_2_table_equals_the_hand_computed_value() -> None:
    # The observed agreement is 0.7, and the chance agreement is 0.5.
    one, other = (np.repeat(labels, [20, 5, 10, 15]) for labels in ([0, 0, 1, 1], [0, 1, 0, 1]))
    assert agreement(one, other, 2, np.ones(50)) == pytest.approx((50, 0.7, 0.4))


def test_keyword_categories_match_whole_words_in_any_case() -> None:
    words = {"pose": ["(?:fore)?arms?", "leg"], "gaze": ["eyes?", "look(?:s|ing)?"], "else": ["net"]}
    texts = ["ARM, forearms!", "army harm", "Looking; his eyes, one leg", "net eye", "", "overlook"]
    assert keyword_categories(texts, words).tolist() == [0, -2, 1, -1, -2, -2]
    assert keyword_categories([], words).tolist() == []


def test_word_counts_without_letters_and_seem_not_english_handle_emoji_foreign_scripts_and_long_texts() -> None:
    long = "word " * 10_000
    spanish = "El portero mira hacia la izquierda del campo"
    texts = ["The ball is high", "⚽ 👀", "球在左边的球员附近", spanish, long, "D5?!", "..."]
    assert word_counts(texts).tolist() == [4, 2, 1, 8, 10_000, 1, 1]
    assert without_letters(texts).tolist() == [False, True, False, False, False, False, True]
    assert seem_not_english(texts).tolist() == [False, False, True, True, True, False, False]

"""Test the figures of the gaze paper against the paper's text."""

from __future__ import annotations

import pytest

from spotball_core.gaze.battery.performance import PUBLISHED, PUBLISHED_TRIALS
from spotball_core.gaze.published import TABLE_1, TABLE_3, published_tables


def test_people_have_the_accuracies_of_test_1_and_the_89_percent_of_the_text() -> None:
    people = TABLE_1[0]
    assert people.accuracy == PUBLISHED
    trials = sum(PUBLISHED_TRIALS.values())
    assert sum(people.accuracy[n] * PUBLISHED_TRIALS[n] for n in PUBLISHED) / trials == pytest.approx(0.89, abs=0.005)


def test_gains_of_table_3_are_largest_in_the_incongruent_condition() -> None:
    before, after = TABLE_3
    gains = {name: after.accuracy[name] - before.accuracy[name] for name in before.accuracy}
    assert max(gains, key=lambda name: gains[name] / before.accuracy[name]) == "incongruent"
    assert min(gains, key=lambda name: gains[name]) == "congruent"


def test_published_tables_print_the_figures_as_the_paper_does() -> None:
    (_, _, _, first), (_, _, _, third) = published_tables()
    assert [len(first), len(third)] == [13, 2]
    assert first[-1] == ["guessing", "main study", "50", "33", "25"]
    assert third[1] == ["Fine-tuned", "85.77 ± 1.40", "70.00 ± 5.01", "34.15 ± 1.76", "76.81 ± 2.90"]

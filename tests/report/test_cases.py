"""Failures and which images are shown: on the hand-made study, against plain loops and by invariants."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from spotball_core.report.numbers.cases import Case, cases, chosen, modes, ranked
from spotball_core.report.numbers.records import compared
from spotball_core.scoring.groups import Group, Scoring
from tests.report.study import ALPHA_BASE, ALPHA_COT, BETA, GRID, PEOPLE, SCENES, scoring_of

FAILURES = {
    ("alpha", "base", "soccer", "1"): {"far", "sure"},
    ("alpha", "base", "soccer", "2"): {"center", "sure"},
    ("alpha", "base", "soccer", "3"): set(),
    ("alpha", "base", "soccer", "4"): {"sure"},
    ("alpha", "base", "volleyball", "1"): set(),
    ("alpha", "base", "volleyball", "2"): {"sure"},
    ("alpha", "cot", "soccer", "1"): set(),
    ("alpha", "cot", "soccer", "2"): {"center", "sure"},
    ("alpha", "cot", "soccer", "3"): set(),
    ("alpha", "cot", "soccer", "4"): {"center", "sure"},
    ("alpha", "cot", "volleyball", "1"): {"sure"},
    ("alpha", "cot", "volleyball", "2"): {"center", "sure"},
    ("beta", "base", "soccer", "1"): set(),
    ("beta", "base", "soccer", "2"): {"center", "sure"},
    ("beta", "base", "soccer", "3"): set(),
    ("beta", "base", "soccer", "4"): {"center", "sure"},
    ("beta", "base", "volleyball", "1"): {"sure"},
    ("beta", "base", "volleyball", "2"): {"center", "sure"},
}
"""By eye, from the rules in words: controls are left out."""

ANSWERS = {("alpha", "base"): ALPHA_BASE, ("alpha", "cot"): ALPHA_COT, ("beta", "base"): BETA}


@pytest.fixture(scope="module")
def scoring(study: Path) -> Scoring:
    return scoring_of(study)


@pytest.fixture(scope="module")
def found(scoring: Scoring) -> dict[tuple[str, str, str, str], Case]:
    some = cases(scoring, compared(scoring.groups, "human"))
    out = {}
    for case in some:
        sport, image = scoring.arrays.scenes[case.scene].key
        out[str(case.group.respondent), str(case.group.prompt), sport, image] = case
    assert len(out) == len(some)
    return out


def test_failures_are_where_the_rules_say(found: dict[tuple[str, str, str, str], Case]) -> None:
    assert {key: set(case.failures) for key, case in found.items()} == FAILURES


def test_numbers_by_plain_loops(found: dict[tuple[str, str, str, str], Case]) -> None:
    truth = {(sport, image): ball for sport, image, ball, _, _ in SCENES}
    players = {(sport, image): boxes for sport, image, _, boxes, _ in SCENES}
    window = {f"{row}{col}" for row in "BCD" for col in range(3, 8)}
    for (respondent, prompt, sport, image), case in found.items():
        cells = {cell: n for cell, n in ANSWERS[respondent, prompt][sport, image].items() if cell}
        total = sum(cells.values())
        assert case.right == pytest.approx(sum(n for c, n in cells.items() if c in truth[sport, image]) / total)
        assert case.center == pytest.approx(sum(n for c, n in cells.items() if c in window) / total)
        entropy = -sum(n / total * math.log(n / total) for n in cells.values())
        assert case.spread == pytest.approx(math.exp(entropy))
        boxes = players[sport, image]
        if not boxes:
            assert math.isnan(case.near)
            continue
        near = 0
        for cell, n in cells.items():
            x, y = GRID.centers[GRID.index(cell)]
            gaps = [math.hypot(max(a - x, 0, x - c), max(b - y, 0, y - d)) for a, b, c, d in boxes]
            near += n * (min(gaps) <= 0.08 * math.hypot(640, 360))
        assert case.near == pytest.approx(near / total)


def test_distances_to_a_single_cell_are_means(found: dict[tuple[str, str, str, str], Case]) -> None:
    # From one cell to any distribution, and from any distribution to one cell, all mass has but one way to go.
    for key in (("alpha", "cot", "soccer", "4"), ("alpha", "base", "soccer", "1")):
        people = PEOPLE[key[2], key[3]]
        (cell,) = {cell for cell in ANSWERS[key[0], key[1]][key[2], key[3]] if cell}
        steps = [n * GRID.distances[GRID.index(cell), GRID.index(c)] for c, n in people.items()]
        assert found[key].distance == pytest.approx(sum(steps) / 12, rel=1e-12)


def test_rules_in_words_follow_the_policy(study: Path) -> None:
    def rules(**choices: object) -> dict[str, str]:
        return {mode.key: mode.rule for mode in modes(scoring_of(study, bootstrap=0, **choices))}

    assert "within 8% of the image's diagonal" in rules()["far"]
    assert "within 10% of the image's diagonal" in rules(tau=0.1)["far"]
    assert "as far from beta as" in rules(reference="beta")["far"]
    assert "rows B–D, columns 3–7" in rules()["center"]
    assert "rows A–B, columns 2–4" in rules(window=((1, 2), (2, 4)))["center"]


# Which are shown ---------------------------------------------------------------------------------------------

GROUPS = [Group("soccer", "me", prompt, "model", number, frozenset()) for number, prompt in enumerate(("base", "cot"))]
PROTOTYPE = Case(GROUPS[0], 0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, np.ones(60), frozenset())

some_cases = st.lists(
    st.builds(
        lambda group, scene, distance, failures: replace(
            PROTOTYPE, group=GROUPS[group], scene=scene, distance=distance, failures=failures
        ),
        st.integers(0, 1),
        st.integers(0, 8),
        st.integers(0, 5).map(float),
        st.frozensets(st.sampled_from(["far", "center", "sure"])),
    ),
    min_size=1,
    max_size=20,
    unique_by=lambda case: (case.group.number, case.scene),
)


@given(some_cases, st.integers(1, 12))
def test_shown_are_the_farthest_and_some_of_each_failure(some: list[Case], shown: int) -> None:
    picks = chosen(some, shown, 2)
    images = {case.scene for case in some}
    assert len({case.scene for case in picks}) == len(picks) == min(shown, len(images))
    assert [case.distance for case in picks] == sorted((case.distance for case in picks), reverse=True)
    if shown >= 6:
        for key in ("far", "center", "sure"):
            able = {case.scene for case in some if key in case.failures}
            here = {case.scene for case in picks if key in case.failures}
            # An image may be shown under another prompt, where it fails in another way.
            others = {case.scene for case in picks} & able - here
            assert len(here) + len(others) >= min(2, len(able))
    for case in picks:
        if not case.failures:
            # Without a failure it is there for its distance: nothing left out is farther.
            left = [other for other in some if other.scene not in {pick.scene for pick in picks}]
            assert all(other.distance <= case.distance for other in left)


def test_failures_come_before_farther_images_only_as_often_as_asked() -> None:
    some = [replace(PROTOTYPE, scene=scene, distance=10.0 - scene) for scene in range(5)]
    some[2:] = [replace(case, failures=frozenset({"far"})) for case in some[2:]]
    assert [case.scene for case in chosen(some, 3, 1)] == [0, 1, 2]
    assert [case.scene for case in chosen(some, 3, 2)] == [0, 2, 3]
    assert [case.scene for case in chosen(some, 2, 0)] == [0, 1]


def test_order_of_the_hand_made_study(scoring: Scoring) -> None:
    soccer = [case for case in cases(scoring, compared(scoring.groups, "human")) if case.group.sport == "soccer"]
    alpha = [case for case in soccer if case.group.respondent == "alpha"]
    order = [(scoring.arrays.scenes[case.scene].image, case.group.prompt) for case in ranked(alpha)]
    # 4: all the way from A1 to F9 and F10; 2: D5 and C5 are far from A10 and B10; 1: A1 to D5; 4 from D5; 3: one cell.
    assert order[:5] == [("4", "base"), ("2", "cot"), ("2", "base"), ("1", "base"), ("4", "cot")]
    picks = chosen(alpha, 3, 0)
    assert [(scoring.arrays.scenes[case.scene].image, case.group.prompt) for case in picks] == [
        ("4", "base"),
        ("2", "cot"),
        ("1", "base"),
    ]

"""Test failure modes and the selection of gallery images in the synthetic study, by plain loops and invariants."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from spotball_core.report.numbers.cases import Case, cases, modes, ranked
from spotball_core.report.numbers.gallery import _spread, gallery_numbers
from spotball_core.report.numbers.records import compared
from spotball_core.scoring.groups import Scoring
from tests.report.study import ALPHA_BASE, ALPHA_COT, BETA, GRID, PEOPLE, SCENES, scoring_of

IMAGES = [(sport, image) for sport, image, *_, control in SCENES if not control]
"""Soccer 1 to 4, and volleyball 1 and 2."""

FAILURES = {
    ("alpha", "base"): ["far sure", "center sure", "", "sure", "", "sure"],
    ("alpha", "cot"): ["", "center sure", "", "center sure", "sure", "center sure"],
    ("beta", "base"): ["", "center sure", "", "center sure", "sure", "center sure"],
}
"""The expected failures on each image, determined by hand from the descriptions of the rules."""

ANSWERS = {("alpha", "base"): ALPHA_BASE, ("alpha", "cot"): ALPHA_COT, ("beta", "base"): BETA}

Cases = dict[tuple[str, str, str, str], Case]
"""Cases by respondent, prompt, sport and image."""


@pytest.fixture(scope="module")
def scoring(study: Path) -> Scoring:
    return scoring_of(study)


@pytest.fixture(scope="module")
def found(scoring: Scoring) -> Cases:
    some = cases(scoring, compared(scoring.groups, "human"))
    out = {}
    for case in some:
        sport, image = scoring.arrays.scenes[case.scene].key
        out[str(case.group.respondent), str(case.group.prompt), sport, image] = case
    assert len(out) == len(some)
    return out


def test_cases_have_the_failure_modes_determined_by_hand_for_each_respondent_and_image(found: Cases) -> None:
    expected = {
        (*name, *image): set(failed.split())
        for name, failures in FAILURES.items()
        for image, failed in zip(IMAGES, failures, strict=True)
    }
    assert {key: set(case.failures) for key, case in found.items()} == expected


def test_case_accuracy_center_share_spread_and_near_player_share_equal_plain_loops(found: Cases) -> None:
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


def test_case_distance_of_a_respondent_that_names_one_cell_is_the_mean_distance_to_this_cell(found: Cases) -> None:
    # If one distribution has a single cell, there is only one transport plan.
    for key in (("alpha", "cot", "soccer", "4"), ("alpha", "base", "soccer", "1")):
        people = PEOPLE[key[2], key[3]]
        (cell,) = {cell for cell in ANSWERS[key[0], key[1]][key[2], key[3]] if cell}
        steps = [n * GRID.distances[GRID.index(cell), GRID.index(c)] for c, n in people.items()]
        assert found[key].distance == pytest.approx(sum(steps) / 12, rel=1e-12)


def test_modes_describe_failure_rules_with_the_tau_window_and_reference_of_the_policy(study: Path) -> None:
    def rules(**choices: object) -> dict[str, str]:
        return {mode.key: mode.rule for mode in modes(scoring_of(study, bootstrap=0, **choices))}

    assert "at most 8% of the image's diagonal" in rules()["far"]
    assert "at most 10% of the image's diagonal" in rules(tau=0.1)["far"]
    assert "the distance from beta is at least" in rules(reference="beta")["far"]
    assert "rows B–D, columns 3–7" in rules()["center"]
    assert "rows A–B, columns 2–4" in rules(window=((1, 2), (2, 4)))["center"]


# Selected images ---------------------------------------------------------------------------------------------


@given(st.integers(1, 60), st.integers(1, 60))
def test_spread_keeps_the_first_half_and_samples_the_rest_evenly(n: int, most: int) -> None:
    far = list(range(100, 100 + n))
    shown = _spread(far, most)
    assert len(shown) == len(set(shown)) == min(n, most)
    assert shown == sorted(shown)
    assert shown[: most // 2] == far[: most // 2]
    if most < n and most - most // 2 > 1:
        assert shown[-1] == far[-1]


def test_ranked_orders_cases_by_distance_and_spread_selects_images_as_computed_by_hand(scoring: Scoring) -> None:
    assert _spread(range(9), 5) == [0, 1, 2, 5, 8]
    assert _spread(range(9), None) == list(range(9))
    soccer = [case for case in cases(scoring, compared(scoring.groups, "human")) if case.group.sport == "soccer"]
    alpha = [case for case in soccer if case.group.respondent == "alpha"]
    order = [(scoring.arrays.scenes[case.scene].image, case.group.prompt) for case in ranked(alpha)]
    # The five largest distances between alpha and people are, in order: image 4, base (A1 against F9 and F10); image 2,
    # cot (D5 against A10 and B10) and base (C5 and B4 against A10 and B10); image 1, base (A1 against D5 and D6); and
    # image 4, cot (D5 against F9 and F10).
    assert order[:5] == [("4", "base"), ("2", "cot"), ("2", "base"), ("1", "base"), ("4", "cot")]


def test_gallery_numbers_have_the_cases_disagreement_accuracy_and_leak_of_each_image(scoring: Scoring) -> None:
    models = compared(scoring.groups, "human")
    found = gallery_numbers(scoring, models, rationales={("soccer", "1", "alpha", "cot"): ["I see it."]})
    assert found is not None
    assert found.n_images == len(found.images) == 6
    assert [image.scene.sport for image in found.images] == ["soccer"] * 4 + ["volleyball"] * 2
    for image in found.images:
        distances = [case.distance for case in image.cases]
        assert len(distances) == 3
        assert image.disagreement == pytest.approx(np.mean(distances))
        people = PEOPLE[image.scene.key]
        right = sum(n for cell, n in people.items() if cell in (image.scene.ball_cells or ())) / sum(people.values())
        assert image.reference_right == pytest.approx(right)
        assert image.n_reference == sum(people.values())
        assert image.leak == pytest.approx(max(case.right or 0.0 for case in image.cases) - right)
    soccer = [image for image in found.images if image.scene.sport == "soccer"]
    assert [image.disagreement for image in soccer] == sorted((i.disagreement for i in soccer), reverse=True)
    (first,) = [image for image in soccer if image.scene.image == "1"]
    rationales = {(case.respondent, case.prompt): case.rationales for case in first.cases}
    assert rationales == {("alpha", "base"): (), ("alpha", "cot"): ("I see it.",), ("beta", "base"): ()}
    assert all(image.ease == image.reference_right for image in found.images)
    few = gallery_numbers(scoring, models, most=2)
    assert few is not None
    assert (len(few.images), few.n_images) == (2, 6)


def test_gallery_without_a_reference_is_sorted_by_difficulty(study: Path) -> None:
    scoring = scoring_of(study, reference=None, bootstrap=0)
    found = gallery_numbers(scoring, compared(scoring.groups, None))
    assert found is not None
    assert [mode.key for mode in found.modes] == ["center", "sure"]
    assert len(found.images) == 6
    answers = {("human", "base"): PEOPLE, **ANSWERS}
    for image in found.images:
        assert (image.n_reference, image.reference, image.reference_right) == (0, {}, None)
        assert (image.disagreement, image.from_typical, image.leak) == (None, None, None)
        assert all((case.distance, case.uniform) == (None, None) for case in image.cases)
        rights = []
        for case in image.cases:
            cells = {cell: n for cell, n in answers[case.respondent, case.prompt][image.scene.key].items() if cell}  # type: ignore[index]
            assert case.answers == cells
            rights.append(sum(n for c, n in cells.items() if c in (image.scene.ball_cells or ())) / sum(cells.values()))
        assert len(rights) == 4
        assert image.ease == pytest.approx(np.mean(rights))
    soccer = [image.ease or 0.0 for image in found.images if image.scene.sport == "soccer"]
    assert soccer == sorted(soccer)


def test_gallery_with_only_the_reference_shows_its_guesses(study: Path) -> None:
    scoring = scoring_of(study, bootstrap=0)
    found = gallery_numbers(scoring, [])
    assert found is not None
    assert (found.modes, found.failures) == ((), ())
    assert {image.scene.key for image in found.images} == set(IMAGES)
    for image in found.images:
        people = PEOPLE[image.scene.key]
        assert image.cases == ()
        assert image.reference == pytest.approx({cell: n / sum(people.values()) for cell, n in people.items()})
    soccer = [image.ease or 0.0 for image in found.images if image.scene.sport == "soccer"]
    assert soccer == sorted(soccer)

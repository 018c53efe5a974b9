"""Test one-to-one matching of detected people and players, also against an exhaustive search."""

from __future__ import annotations

import sys
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from spotball_core.errors import MissingExtraError
from spotball_gen.poses.estimator import Person, match, overlaps
from tests.failures import raises
from tests.gen.models.yolo import plain

BOXES = np.array([[0.0, 0.0, 20.0, 40.0], [15.0, 0.0, 35.0, 40.0]])


def person(box: tuple[float, ...] | None, points: tuple[tuple[float, float], ...] = ((0.0, 0.0),)) -> Person:
    keypoints = np.zeros((17, 3))
    for place, point in enumerate(points):
        keypoints[place] = (*point, 1.0)
    return Person(keypoints, None if box is None else np.array(box, dtype=float))


def matched(people: list[Person], boxes: np.ndarray, **limits: float) -> list[int | None]:
    """Return the index of the person matched to each player, which is stored as x of the last keypoint."""
    for place, one in enumerate(people):
        one.keypoints[16] = (place, 0, 0)
    estimate = match(people, boxes, **{"overlap": 0.3, "inside": 0.5, **limits})
    places = [None if np.isnan(points).all() else int(points[16, 0]) for points in estimate.keypoints]
    assert estimate.failures == {player: "not detected" for player, place in enumerate(places) if place is None}
    assert estimate.unmatched == len(people) - sum(place is not None for place in places)
    return places


def test_match_maximizes_the_total_overlap_not_the_best_pair() -> None:
    """Check two people, of whom the first fits both players and the second only one, less well."""
    between, second = person((5, 0, 25, 40)), person((16, 0, 50, 40))
    assert overlaps(between.box, BOXES).round(2).tolist() == [0.6, 0.33]  # type: ignore[arg-type]
    assert matched([between, second], BOXES) == [0, 1]
    assert matched([second, between], BOXES) == [1, 0]
    # Boxes without area do not overlap.
    assert overlaps(np.array([3.0, 3.0, 3.0, 3.0]), np.array([[3.0, 3.0, 3.0, 3.0]])).tolist() == [0]


def test_match_leaves_a_person_far_from_all_players_unmatched() -> None:
    assert matched([person((100, 0, 120, 40))], BOXES) == [None, None]
    assert matched([person((0, 0, 20, 15))], BOXES) == [0, None]
    assert matched([person((0, 0, 20, 15))], BOXES, overlap=0.4) == [None, None]
    assert matched([], BOXES) == [None, None]


def test_match_uses_keypoints_for_a_person_without_a_box() -> None:
    left = ((2.0, 5.0), (18.0, 35.0), (40.0, 60.0))
    assert matched([person(None, left)], BOXES) == [0, None]
    assert matched([person(None, left)], BOXES, inside=0.7) == [None, None]
    # All keypoints are in both boxes, but the box around them is more similar to the second one.
    narrow = ((16.0, 1.0), (19.0, 39.0), (18.0, 20.0))
    wide = np.array([[0.0, 0.0, 20.0, 40.0], [15.0, 0.0, 20.0, 40.0]])
    assert matched([person(None, narrow)], wide) == [None, 0]
    assert matched([person(None, ())], BOXES) == [None, None]


places, sides = (st.tuples(*[st.integers(least, 12)] * 2) for least in (0, 1))
corners = st.builds(lambda at, side: (*at, at[0] + side[0], at[1] + side[1]), places, sides)


@given(st.lists(corners, max_size=4), st.lists(corners, min_size=1, max_size=4))
def test_match_equals_an_exhaustive_search(people: list[tuple[int, ...]], players: list[tuple[int, ...]]) -> None:
    boxes = np.array(players, dtype=float)
    places = matched([person(box) for box in people], boxes)

    def total(assignment: tuple[int | None, ...]) -> float:
        shares = [plain.iou(people[place], players[i]) for i, place in enumerate(assignment) if place is not None]  # type: ignore[arg-type]
        return sum(share for share in shares if share >= 0.3)

    choices = [*range(len(people)), *[None] * len(players)]
    assert total(tuple(places)) == pytest.approx(max(map(total, permutations(choices, len(players)))))
    assert len({place for place in places if place is not None}) == sum(place is not None for place in places)


def test_match_without_scipy_names_the_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with raises(MissingExtraError, "missing-extra"):
        match([], BOXES, overlap=0.3, inside=0.5)

"""Detected people and players, one to one: by hand, and beside a search through all assignments."""

from __future__ import annotations

import sys
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from spotball_core.errors import MissingExtraError
from spotball_gen.poses.matching import Person, match, overlaps
from tests.gen.models.yolo import plain

BOXES = np.array([[0.0, 0.0, 20.0, 40.0], [15.0, 0.0, 35.0, 40.0]])


def person(box: tuple[float, ...] | None, points: tuple[tuple[float, float], ...] = ((0.0, 0.0),)) -> Person:
    keypoints = np.zeros((17, 3))
    for place, point in enumerate(points):
        keypoints[place] = (*point, 1.0)
    return Person(keypoints, None if box is None else np.array(box, dtype=float))


def matched(people: list[Person], boxes: np.ndarray, **limits: float) -> list[int | None]:
    """The place of each player's person, known by the x of the first keypoint."""
    for place, one in enumerate(people):
        one.keypoints[16] = (place, 0, 0)
    estimate = match(people, boxes, **{"overlap": 0.3, "inside": 0.5, **limits})
    places = [None if np.isnan(points).all() else int(points[16, 0]) for points in estimate.keypoints]
    assert estimate.failures == {player: "not detected" for player, place in enumerate(places) if place is None}
    assert estimate.unmatched == len(people) - sum(place is not None for place in places)
    return places


def test_the_sum_counts_not_the_best_pair() -> None:
    """The first person fits both players, the second only the second player, and less well than the first does."""
    between, second = person((5, 0, 25, 40)), person((16, 0, 50, 40))
    assert overlaps(between.box, BOXES).round(2).tolist() == [0.6, 0.33]  # type: ignore[arg-type]
    assert matched([between, second], BOXES) == [0, 1]
    assert matched([second, between], BOXES) == [1, 0]


def test_a_person_far_from_every_player_is_unmatched() -> None:
    assert matched([person((100, 0, 120, 40))], BOXES) == [None, None]
    assert matched([person((0, 0, 20, 15))], BOXES) == [0, None]
    assert matched([person((0, 0, 20, 15))], BOXES, overlap=0.4) == [None, None]
    assert matched([], BOXES) == [None, None]


def test_without_a_box_the_keypoints_decide() -> None:
    left = ((2.0, 5.0), (18.0, 35.0), (40.0, 60.0))
    assert matched([person(None, left)], BOXES) == [0, None]
    assert matched([person(None, left)], BOXES, inside=0.7) == [None, None]
    # All keypoints are in both boxes; the box around them resembles the second one.
    narrow = ((16.0, 1.0), (19.0, 39.0), (18.0, 20.0))
    wide = np.array([[0.0, 0.0, 20.0, 40.0], [15.0, 0.0, 20.0, 40.0]])
    assert matched([person(None, narrow)], wide) == [None, 0]
    assert matched([person(None, ())], BOXES) == [None, None]


corners = st.tuples(*[st.integers(0, 12)] * 2, *[st.integers(1, 12)] * 2).map(
    lambda box: (box[0], box[1], box[0] + box[2], box[1] + box[3])
)


@given(st.lists(corners, max_size=4), st.lists(corners, min_size=1, max_size=4))
def test_no_other_assignment_is_better(people: list[tuple[int, ...]], players: list[tuple[int, ...]]) -> None:
    boxes = np.array(players, dtype=float)
    places = matched([person(box) for box in people], boxes)

    def total(assignment: tuple[int | None, ...]) -> float:
        shares = [plain.iou(people[place], players[i]) for i, place in enumerate(assignment) if place is not None]  # type: ignore[arg-type]
        return sum(share for share in shares if share >= 0.3)

    choices = [*range(len(people)), *[None] * len(players)]
    assert total(tuple(places)) == pytest.approx(max(map(total, permutations(choices, len(players)))))
    assert len({place for place in places if place is not None}) == sum(place is not None for place in places)


def test_without_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(MissingExtraError, match='matching people to players needs the "gen" extra'):
        match([], BOXES, overlap=0.3, inside=0.5)


def test_boxes_without_area() -> None:
    assert overlaps(np.array([3.0, 3.0, 3.0, 3.0]), np.array([[3.0, 3.0, 3.0, 3.0]])).tolist() == [0]

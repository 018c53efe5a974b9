"""Test body cues against directions computed by hand, Shapely and plain loops."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, strategies as st

from spotball_core import Grid, Scene
from spotball_core.cue_maps import bodies
from spotball_core.cue_maps.directions import HEAD_DEPTH, NOSE_DROP, head_directions, torso_directions, toward
from spotball_core.cue_maps.registry import cue_scores
from spotball_core.schema.keypoints import KEYPOINT_NAMES
from spotball_core.typing import FloatArray
from tests.builders import scene

GRID = Grid.standard()
BOX = (100.0, 100.0, 200.0, 300.0)
TORSO = 60.0


def pose(**points: tuple[float, float]) -> list[list[float]]:
    """Return keypoints of which the given ones are detected with a confidence of 0.8."""
    return [[*points[name], 0.8] if name in points else [0.0, 0.0, 0.0] for name in KEYPOINT_NAMES]


def person(shift: float = 0.0, **points: tuple[float, float]) -> list[list[float]]:
    """Return keypoints of a person whose torso is 60 px long and faces the camera."""
    body = {"left_shoulder": (171.0, 150.0), "right_shoulder": (129.0, 150.0), "left_hip": (160.0, 210.0)}
    body |= {"right_hip": (140.0, 210.0), **points}
    return pose(**{name: (x + shift, y) for name, (x, y) in body.items()})


def one(*poses: Any, boxes: list[tuple[float, ...]] | None = None) -> Scene:
    return scene("1", players=boxes or [BOX] * len(poses), player_keypoints=poses)


REACH, DROP = HEAD_DEPTH * TORSO, NOSE_DROP * TORSO
RIGHT = {"nose": (150.0 + REACH, 120.0 + DROP), "left_ear": (150.0, 120.0)}
"""The head of a person who looks to the right."""


class TestDirections:
    def test_head_direction_points_from_the_ears_to_the_nose(self) -> None:
        found = head_directions(one(person(**RIGHT)))
        assert found.origins.tolist() == [[150.0, 120.0]]
        assert found.vectors == pytest.approx(np.array([[1.0, 0.0]]))
        assert found.reliability == pytest.approx([0.8])
        points = np.array([[250.0, 120.0], [150.0, 20.0], [50.0, 120.0], [250.0, 220.0], [150.0, 120.0]])
        assert toward(found, points)[0] == pytest.approx([1, 0, -1, math.sqrt(0.5), 0])

    def test_head_direction_towards_the_camera_has_low_reliability(self) -> None:
        ears = {"left_ear": (157.0, 120.0), "right_ear": (143.0, 120.0)}
        level = head_directions(one(person(nose=(150.0, 120.0 + DROP), **ears)))
        assert level.reliability[0] == pytest.approx(0.0, abs=1e-9)
        down = head_directions(one(person(nose=(150.0, 120.0 + DROP + 0.5 * REACH), **ears)))
        assert down.vectors[0] == pytest.approx([0.0, 1.0])
        assert down.reliability[0] == pytest.approx(0.5 * 0.8)

    def test_head_score_is_the_sum_of_weighted_cosines(self) -> None:
        left = person(100.0, nose=(150.0 - REACH, 120.0 + DROP), right_ear=(150.0, 120.0))
        scores = bodies.head(one(person(**RIGHT), left, boxes=[BOX, (200.0, 100.0, 300.0, 300.0)]))
        for cell, (x, y) in enumerate(GRID.centers):
            to_right = (x - 150) / math.hypot(x - 150, y - 120)
            to_left = -(x - 250) / math.hypot(x - 250, y - 120)
            assert scores[cell] == pytest.approx(0.8 * to_right + 0.8 * to_left)

    def test_torso_direction_is_towards_the_camera_if_the_left_shoulder_is_on_the_right_of_the_image(self) -> None:
        assert torso_directions(one(person())).vectors[0] == pytest.approx([0.0, 1.0])
        away = person(left_shoulder=(129.0, 150.0), right_shoulder=(171.0, 150.0))
        assert torso_directions(one(away)).vectors[0] == pytest.approx([0.0, -1.0])

    @pytest.mark.parametrize("side", [1.0, -1.0])
    @pytest.mark.parametrize("by", ["lean", "knee", "nose"])
    def test_torso_direction_with_narrow_shoulders_is_sideways(self, side: float, by: str) -> None:
        narrow = dict.fromkeys(("left_shoulder", "right_shoulder"), (150.0 + 20 * side * (by == "lean"), 150.0))
        narrow |= dict.fromkeys(("left_hip", "right_hip"), (150.0, 210.0))
        if by == "knee":
            narrow |= {"left_knee": (150.0 + 20 * side, 255.0), "left_ankle": (150.0, 300.0)}
        elif by == "nose":
            narrow |= {"nose": (150.0 + 20 * side, 125.0)}
        found = torso_directions(one(person(**narrow)))
        assert found.vectors[0] == pytest.approx([side, 0.0])
        assert found.reliability[0] > 0.7


class TestScores:
    def test_view_score_is_the_sum_of_products_of_view_cones_over_pairs_of_players(self) -> None:
        poses = [person(shift, **RIGHT) for shift in (0.0, 30.0, 60.0)]
        boxes = [(BOX[0] + shift, BOX[1], BOX[2] + shift, BOX[3]) for shift in (0.0, 30.0, 60.0)]
        scores = bodies.view(one(*poses, boxes=boxes))
        for cell, (x, y) in enumerate(GRID.centers):
            cosines = [(x - eye) / math.hypot(x - eye, y - 120) for eye in (150.0, 180.0, 210.0)]
            first, second, third = (0.8 * math.exp(5 * (cosine - 1)) for cosine in cosines)
            assert scores[cell] == pytest.approx(first * second + first * third + second * third)
        # At 30 degrees from its axis, a view cone has half its maximum value.
        assert math.exp(bodies.CONE * (math.cos(math.radians(30)) - 1)) == pytest.approx(0.5, abs=0.02)

    def test_limbs_score_decreases_with_distance_from_the_end_of_the_limb(self) -> None:
        leg = pose(left_hip=(150.0, 200.0), left_ankle=(190.0, 230.0))  # 50 px long
        scores = bodies.limbs(one(leg))
        for cell, (x, y) in enumerate(GRID.centers):
            distance = math.hypot(x - 190, y - 230)
            cosine = ((x - 190) * 40 + (y - 230) * 30) / (50 * distance)
            assert scores[cell] == pytest.approx(0.8 * max(cosine, 0.0) * math.exp(-distance / 50))

    @pytest.mark.parametrize(
        ("cue", "given"),
        [
            (bodies.head, one(person(nose=(150.0, 120.0)))),
            (bodies.head, one(person(left_ear=(150.0, 120.0)))),
            (bodies.torso, one(pose(left_shoulder=(171.0, 150.0), left_hip=(160.0, 210.0)))),
            (bodies.view, one(person())),
            (bodies.limbs, one(pose(left_hip=(150.0, 200.0), left_wrist=(190.0, 230.0)))),
            (bodies.blocked, scene("1", players=[BOX])),
        ],
    )
    def test_body_cue_returns_none_without_the_keypoints_or_players_that_it_needs(
        self, cue: Callable[[Scene], FloatArray | None], given: Scene
    ) -> None:
        assert cue(given) is None


NUMBERS = st.tuples(st.floats(0, 500), st.floats(0, 250), st.floats(10, 140), st.floats(10, 110))


@given(st.lists(NUMBERS, min_size=2, max_size=5))
def test_blocked_score_agrees_with_line_intersections_from_shapely(
    sizes: list[tuple[float, float, float, float]],
) -> None:
    boxes = [(x, y, x + wide, y + high) for x, y, wide, high in sizes]
    scores = bodies.blocked(scene("1", players=boxes))
    expected, touches = np.zeros(60), np.zeros(60, dtype=bool)
    for place, (x1, y1, x2, y2) in enumerate(boxes):
        eyes = ((x1 + x2) / 2, y1 + 0.1 * (y2 - y1))
        others = [shapely.box(*box) for other, box in enumerate(boxes) if other != place]
        others = [box for box in others if not box.contains(shapely.Point(eyes))]
        for cell, end in enumerate(GRID.centers):
            line = shapely.LineString([eyes, end])
            expected[cell] += any(line.intersection(box).length > 1e-9 for box in others)
            # If a line only touches an edge, rounding decides whether it crosses the box.
            touches[cell] |= any(line.distance(box.boundary) < 1e-6 and not line.crosses(box) for box in others)
            touches[cell] |= any(shapely.Point(eyes).distance(box.boundary) < 1e-6 for box in others)
    assert scores[~touches] == pytest.approx(-expected[~touches] / len(boxes))


def test_body_cues_do_not_apply_to_scenes_without_keypoints() -> None:
    scores = cue_scores([scene("1", players=[BOX, BOX])], ["head", "torso", "view", "limbs"])
    assert not scores.applies.any()
    assert not scores.standardized().any()


def test_cue_scores_of_a_mirrored_scene_are_mirrored() -> None:
    rng = np.random.default_rng(3)
    points = np.column_stack([rng.uniform(100, 200, 17), rng.uniform(100, 300, 17), rng.uniform(0.4, 1, 17)])
    mirrored = points[[0, *(place + (1 if place % 2 else -1) for place in range(1, 17))]]
    mirrored[:, 0] = 640 - mirrored[:, 0]
    boxes = [BOX, (300.0, 80.0, 380.0, 250.0)]
    flipped = [(640 - x2, y1, 640 - x1, y2) for x1, y1, x2, y2 in boxes]
    second = points + np.array([200, -20, 0])
    second_mirrored = mirrored + np.array([-200, -20, 0])
    keys = ["feet", "head", "torso", "view", "limbs", "blocked"]
    plain = cue_scores([one(points.tolist(), second.tolist(), boxes=boxes)], keys)
    other = cue_scores([one(mirrored.tolist(), second_mirrored.tolist(), boxes=flipped)], keys)
    assert plain.applies.all()
    found = other.values[0].reshape(6, 10, -1)[:, ::-1]
    assert found == pytest.approx(plain.values[0].reshape(6, 10, -1), abs=1e-9)

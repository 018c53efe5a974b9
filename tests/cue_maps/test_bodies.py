"""Test body cues against directions computed by hand, Shapely and plain loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, strategies as st

from spotball_core import KEYPOINT_NAMES, Grid, Scene
from spotball_core.cue_maps import bodies
from spotball_core.cue_maps.directions import HEAD_DEPTH, NOSE_DROP, head_directions, torso_directions, toward
from spotball_core.cue_maps.scores import cue_scores
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


class TestHead:
    def test_head_direction_points_from_the_ears_to_the_nose(self) -> None:
        reach = HEAD_DEPTH * TORSO
        nose = (150.0 + reach, 120.0 + NOSE_DROP * TORSO)
        found = head_directions(one(person(nose=nose, left_ear=(150.0, 120.0))))
        assert found.origins.tolist() == [[150.0, 120.0]]
        assert found.vectors == pytest.approx(np.array([[1.0, 0.0]]))
        assert found.reliability == pytest.approx([0.8])

    def test_head_direction_towards_the_camera_has_low_reliability(self) -> None:
        ears = {"left_ear": (157.0, 120.0), "right_ear": (143.0, 120.0)}
        drop = NOSE_DROP * TORSO
        level = head_directions(one(person(nose=(150.0, 120.0 + drop), **ears)))
        assert level.reliability[0] == pytest.approx(0.0, abs=1e-9)
        down = head_directions(one(person(nose=(150.0, 120.0 + drop + 0.5 * HEAD_DEPTH * TORSO), **ears)))
        assert down.vectors[0] == pytest.approx([0.0, 1.0])
        assert down.reliability[0] == pytest.approx(0.5 * 0.8)

    @pytest.mark.parametrize("points", [{"nose": (150.0, 120.0)}, {"left_ear": (150.0, 120.0)}])
    def test_head_direction_is_unknown_without_nose_or_ears_and_eyes(
        self, points: dict[str, tuple[float, float]]
    ) -> None:
        scene_ = one(person(**points))
        assert not head_directions(scene_).known
        assert bodies.head(scene_) is None

    def test_head_score_is_the_sum_of_weighted_cosines(self) -> None:
        nose = (150.0 + HEAD_DEPTH * TORSO, 120.0 + NOSE_DROP * TORSO)
        scene_ = one(
            person(nose=nose, left_ear=(150.0, 120.0)),
            person(100.0, nose=(nose[0] - 2 * HEAD_DEPTH * TORSO, nose[1]), right_ear=(150.0, 120.0)),
            boxes=[BOX, (200.0, 100.0, 300.0, 300.0)],
        )
        scores = bodies.head(scene_)
        assert scores is not None
        for cell, (x, y) in enumerate(GRID.centers):
            right = (x - 150) / math.hypot(x - 150, y - 120)
            left = -(x - 250) / math.hypot(x - 250, y - 120)
            assert scores[cell] == pytest.approx(0.8 * right + 0.8 * left)


class TestTorso:
    def test_torso_with_the_left_shoulder_on_the_right_faces_the_camera(self) -> None:
        found = torso_directions(one(person()))
        assert found.vectors[0] == pytest.approx([0.0, 1.0])
        away = person(left_shoulder=(129.0, 150.0), right_shoulder=(171.0, 150.0))
        assert torso_directions(one(away)).vectors[0] == pytest.approx([0.0, -1.0])

    @pytest.mark.parametrize("side", [1.0, -1.0])
    @pytest.mark.parametrize("by", ["lean", "knee", "nose"])
    def test_torso_with_narrow_shoulders_faces_sideways(self, side: float, by: str) -> None:
        narrow = {"left_shoulder": (150.0, 150.0), "right_shoulder": (150.0, 150.0)}
        narrow |= {"left_hip": (150.0, 210.0), "right_hip": (150.0, 210.0)}
        if by == "lean":
            narrow |= dict.fromkeys(("left_shoulder", "right_shoulder"), (150.0 + 20 * side, 150.0))
        elif by == "knee":
            narrow |= {"left_knee": (150.0 + 20 * side, 255.0), "left_ankle": (150.0, 300.0)}
        else:
            narrow |= {"nose": (150.0 + 20 * side, 125.0)}
        found = torso_directions(one(person(**narrow)))
        assert found.vectors[0] == pytest.approx([side, 0.0])
        assert found.reliability[0] > 0.7

    def test_torso_direction_is_unknown_without_both_shoulders(self) -> None:
        lacking = pose(left_shoulder=(171.0, 150.0), left_hip=(160.0, 210.0))
        assert not torso_directions(one(lacking)).known
        assert bodies.torso(one(lacking)) is None


class TestView:
    def test_view_score_is_the_sum_of_products_of_pairs(self) -> None:
        nose = (150.0 + HEAD_DEPTH * TORSO, 120.0 + NOSE_DROP * TORSO)
        poses = [person(shift, nose=nose, left_ear=(150.0, 120.0)) for shift in (0.0, 30.0, 60.0)]
        boxes = [(BOX[0] + shift, BOX[1], BOX[2] + shift, BOX[3]) for shift in (0.0, 30.0, 60.0)]
        scores = bodies.view(one(*poses, boxes=boxes))
        assert scores is not None
        for cell, (x, y) in enumerate(GRID.centers):
            cones = [
                0.8 * math.exp(5 * ((x - eye) / math.hypot(x - eye, y - 120) - 1)) for eye in (150.0, 180.0, 210.0)
            ]
            assert scores[cell] == pytest.approx(cones[0] * cones[1] + cones[0] * cones[2] + cones[1] * cones[2])

    def test_view_cone_has_half_its_value_at_30_degrees(self) -> None:
        assert math.exp(bodies.CONE * (math.cos(math.radians(30)) - 1)) == pytest.approx(0.5, abs=0.02)

    def test_view_needs_two_people(self) -> None:
        assert bodies.view(one(person())) is None


class TestLimbs:
    def test_limbs_score_decreases_with_distance_from_the_end_of_the_limb(self) -> None:
        leg = pose(left_hip=(150.0, 200.0), left_ankle=(190.0, 230.0))  # 50 px long
        scores = bodies.limbs(one(leg))
        assert scores is not None
        for cell, (x, y) in enumerate(GRID.centers):
            distance = math.hypot(x - 190, y - 230)
            cosine = ((x - 190) * 40 + (y - 230) * 30) / (50 * distance)
            assert scores[cell] == pytest.approx(0.8 * max(cosine, 0.0) * math.exp(-distance / 50))

    def test_limbs_score_needs_both_ends_of_a_limb(self) -> None:
        assert bodies.limbs(one(pose(left_hip=(150.0, 200.0), left_wrist=(190.0, 230.0)))) is None


class TestBlocked:
    @given(
        st.lists(
            st.tuples(st.floats(0, 500), st.floats(0, 250), st.floats(10, 140), st.floats(10, 110)),
            min_size=2,
            max_size=5,
        )
    )
    def test_blocked_agrees_with_shapely(self, sizes: list[tuple[float, float, float, float]]) -> None:
        boxes = [(x, y, x + wide, y + high) for x, y, wide, high in sizes]
        scores = bodies.blocked(scene("1", players=boxes))
        assert scores is not None
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

    def test_blocked_needs_two_players(self) -> None:
        assert bodies.blocked(scene("1", players=[BOX])) is None


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


def test_toward_returns_the_cosine_of_the_angle() -> None:
    nose = (150.0 + HEAD_DEPTH * TORSO, 120.0 + NOSE_DROP * TORSO)
    found = head_directions(one(person(nose=nose, left_ear=(150.0, 120.0))))
    points = np.array([[250.0, 120.0], [150.0, 20.0], [50.0, 120.0], [250.0, 220.0], [150.0, 120.0]])
    assert toward(found, points)[0] == pytest.approx([1, 0, -1, math.sqrt(0.5), 0])

"""Test synthetic poses: directions, noise, and missing keypoints; other fields are unchanged."""

from __future__ import annotations

import numpy as np
import pytest

from spotball_core import OptionError, Scene, synthetic_poses, synthetic_scenes
from spotball_core.cue_maps.directions import LEAST_CONFIDENCE, head_directions, torso_directions, toward
from spotball_core.synthetic.poses import NO_NOISE, PoseNoise
from spotball_core.typing import FloatArray
from tests.builders import scene
from tests.failures import raises

SCENES = synthetic_scenes(60)


def angles(scenes: tuple[Scene, ...], part: str) -> tuple[FloatArray, FloatArray]:
    """Return the angles in degrees between estimated directions and the ball, and the directions' reliability."""
    found, reliability = [], []
    for one in scenes:
        directions = head_directions(one) if part == "head" else torso_directions(one)
        ball = np.array(one.ball_box).reshape(2, 2).mean(axis=0)
        cosine = toward(directions, ball[None])[:, 0]
        known = directions.reliability > 0
        found.append(np.degrees(np.arccos(np.clip(cosine[known], -1, 1))))
        reliability.append(directions.reliability[known])
    return np.concatenate(found), np.concatenate(reliability)


@pytest.mark.parametrize(("part", "most"), [("head", 0.5), ("torso", 16.0)])
def test_synthetic_poses_without_noise_point_to_the_ball(part: str, most: float) -> None:
    found, reliability = angles(synthetic_poses(SCENES, noise=NO_NOISE), part)
    assert len(found) == sum(len(one.players or ()) for one in SCENES)
    # Coordinates are rounded to 0.01 px, and the side that a torso faces is a soft decision.
    assert found.max() < most
    assert np.median(found) < 2
    assert reliability.min() > 0


def test_synthetic_poses_deviate_from_the_direction_of_the_ball_by_the_given_noise() -> None:
    posed = synthetic_poses(SCENES, noise=PoseNoise(head=20, torso=0, elsewhere=0, missing=0))
    assert np.sqrt((angles(posed, "head")[0] ** 2).mean()) == pytest.approx(20, abs=2.5)
    assert np.median(angles(posed, "torso")[0]) < 2
    posed = synthetic_poses(SCENES, noise=PoseNoise(0, 0, elsewhere=1, missing=0))
    assert angles(posed, "head")[0].mean() == pytest.approx(90, abs=10)


def test_synthetic_poses_change_only_the_keypoints_of_which_10_percent_are_missing_by_default() -> None:
    posed = synthetic_poses(SCENES)
    points = np.concatenate([one.keypoints for one in posed])
    assert (points[..., 2] == 0).mean() == pytest.approx(0.1, abs=0.015)
    assert (points[points[..., 2] > 0][:, 2] > LEAST_CONFIDENCE).all()
    for before, after in zip(SCENES, posed, strict=True):
        kept = {name: getattr(after, name) for name in Scene.model_fields if name != "player_keypoints"}
        assert Scene(**kept) == before


def test_synthetic_poses_depend_only_on_seed_and_scene() -> None:
    posed = synthetic_poses(SCENES, seed=3)
    assert synthetic_poses(SCENES[5:6], seed=3) == posed[5:6]
    assert synthetic_poses(SCENES, seed=4)[5] != posed[5]


@pytest.mark.parametrize("fields", [{"players": None}, {"players": [(0, 0, 10, 10)]}])
def test_synthetic_poses_without_players_or_ball_box_raise_option_error(fields: dict[str, object]) -> None:
    with raises(OptionError, "missing-value"):
        synthetic_poses([scene("1", **fields)])

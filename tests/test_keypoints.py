"""Test the keypoints of players: reading, writing, validation, and results that do not depend on them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from pydantic import ValidationError

from spotball_core import Grid, InputError, Scene, read_scenes, score
from spotball_core.io.scenes import write_scenes
from spotball_core.schema.keypoints import KEYPOINT_NAMES, SKELETON, keypoints_of, near_box
from spotball_core.schema.published import json_schema
from tests.failures import raises

GRID = Grid.standard()
BOX = [64, 0, 128, 60]
POSE = [[64.0 + place, 30.0, 0.5] for place in range(17)]
UNSEEN = [[0.0, 0.0, 0.0]] * 16

coordinate = st.floats(-1e6, 1e6)
poses = st.lists(st.tuples(coordinate, coordinate, st.floats(0.01, 1)).map(list), min_size=17, max_size=17)


def scene(*keypoints: Any, boxes: Any = None) -> Scene:
    boxes = [BOX] * len(keypoints) if boxes is None else boxes
    return Scene(sport="a", image="1", grid=GRID, ball_cells=["D5"], players=boxes, player_keypoints=keypoints)


def test_keypoint_names_are_in_the_order_of_coco_and_the_skeleton_is_symmetric() -> None:
    assert len(KEYPOINT_NAMES) == len(set(KEYPOINT_NAMES)) == 17
    assert KEYPOINT_NAMES[0] == "nose"
    # After the nose, the names are pairs of a left and a right keypoint.
    for left, right in zip(KEYPOINT_NAMES[1::2], KEYPOINT_NAMES[2::2], strict=True):
        assert (left.removeprefix("left_"), right.removeprefix("right_")) == (right[6:], right[6:])
    assert {place for pair in SKELETON for place in pair} == set(range(17))
    mirror = {0: 0} | {place: place + (1 if place % 2 else -1) for place in range(1, 17)}
    pairs = {frozenset(pair) for pair in SKELETON}
    assert {frozenset(mirror[place] for place in pair) for pair in pairs} == pairs


class TestForms:
    @given(poses)
    def test_keypoints_of_a_valid_pose_returns_its_values_and_accepts_its_own_output(
        self, pose: list[list[float]]
    ) -> None:
        assert [list(point) for point in keypoints_of(pose)] == pose
        assert keypoints_of(keypoints_of(pose)) == keypoints_of(pose)

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            ("pose", "17 triples"),
            ([1.0] * 51, "17 triples"),
            (POSE[:16], "17 keypoints of COCO, but there are 16"),
            ([*POSE[:16], [1, 2]], "three finite numbers .* found .1, 2. for right_ankle"),
            ([[math.nan, 1, 1], *POSE[1:]], "three finite numbers .* for nose"),
            ([["1", 1, 1], *POSE[1:]], "three finite numbers .* for nose"),
            ([[1, 1, True], *POSE[1:]], "three finite numbers .* for nose"),
            ([[1, 1, 2], *POSE[1:]], "the confidence of nose is 2.0, expected a number from 0 to 1"),
            ([POSE[0], [1, 1, -0.1], *POSE[2:]], "the confidence of left_eye is -0.1"),
            ([[0, 0, 0], *UNSEEN], "no keypoint has a confidence above 0; write null"),
        ],
    )
    def test_keypoints_of_invalid_values_raises_value_error(self, value: object, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            keypoints_of(value)

    def test_near_box_allows_a_quarter_of_the_longer_side_as_margin(self) -> None:
        """Check a box of 20 x 40 pixels, which has a margin of 10 pixels on each side."""
        for x, y, near in ((1, 50, True), (-1, 50, False), (39, 50, True), (41, 50, False), (20, 19, False)):
            assert near_box(keypoints_of([[x, y, 0.1], *UNSEEN]), (10, 30, 30, 70)) is near
        undetected = keypoints_of([[20, 50, 0], [500, 50, 1], *UNSEEN[1:]])
        assert not near_box(undetected, (10, 30, 30, 70))


class TestScenes:
    def test_scene_keypoints_are_equal_after_writing_and_reading_and_are_not_written_if_unknown(
        self, tmp_path: Path
    ) -> None:
        scenes = (scene(POSE, None),)
        write_scenes(scenes, tmp_path / "scenes.jsonl")
        assert json.loads((tmp_path / "scenes.jsonl").read_text())["player_keypoints"] == [POSE, None]
        assert read_scenes(tmp_path / "scenes.jsonl") == scenes
        plain = Scene(sport="a", image="1", grid=GRID, players=[BOX])
        assert "player_keypoints" not in plain.model_dump_json()
        assert "player_keypoints" not in plain.model_dump()

    def test_read_scenes_with_invalid_keypoints_raises_input_error_that_names_line_and_player(
        self, tmp_path: Path
    ) -> None:
        line = json.loads(scene(POSE).model_dump_json())
        line["player_keypoints"] = [POSE[:3]]
        (tmp_path / "scenes.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
        with raises(InputError, "invalid-value:player_keypoints.0:1"):
            read_scenes(tmp_path / "scenes.jsonl")

    def test_scene_with_keypoints_that_do_not_fit_the_players_raises_validation_error(self) -> None:
        with pytest.raises(ValidationError, match="1 entries for 2 players, expected one entry per player"):
            scene(POSE, boxes=[BOX, BOX])
        with pytest.raises(ValidationError, match="player_keypoints has 1 entries for no players"):
            Scene(sport="a", image="1", grid=GRID, player_keypoints=[POSE])
        with pytest.raises(ValidationError, match="no detected keypoint of player 2 lies in or near the player's box"):
            scene(None, POSE, boxes=[BOX, [300, 200, 320, 240]])

    def test_scene_schema_accepts_valid_keypoints_and_rejects_invalid_keypoints(self) -> None:
        jsonschema = pytest.importorskip("jsonschema")
        schema = json_schema("scene")
        written = json.loads(scene(POSE, None).model_dump_json())
        jsonschema.validate(written, schema)
        for wrong in ([POSE[:16]], [[[1, 2], *POSE[1:]]], [[[1, 2, 3], *POSE[1:]]], [[[1, 2, 1, 1], *POSE[1:]]]):
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.validate({**written, "player_keypoints": wrong}, schema)


class TestArrays:
    def test_scene_keypoints_of_unknown_poses_are_nan(self) -> None:
        array = scene(None, POSE).keypoints
        assert array.shape == (2, 17, 3)
        assert np.isnan(array[0]).all()
        assert array[1].tolist() == POSE
        for boxes in (None, [], [BOX, BOX]):
            array = Scene(sport="a", image="1", grid=GRID, players=boxes).keypoints
            assert array.shape == (len(boxes or ()), 17, 3)
            assert np.isnan(array).all()

    def test_with_keypoints_changes_only_the_keypoints(self) -> None:
        triangle = [[64, 0], [128, 0], [64, 60]]
        plain = Scene(
            sport="a", image="1", grid=GRID, ball_cells=["D5"], players=[BOX] * 2, player_outlines=[triangle, None]
        )
        assert plain.truth  # Fill the cache of the old scene, which must not affect the new scene.
        posed = plain.with_keypoints([None, POSE])
        assert posed.keypoints[1].tolist() == POSE
        assert posed.model_dump(exclude={"player_keypoints"}) == plain.model_dump()
        assert posed.with_keypoints(np.full((2, 17, 3), np.nan)) == plain

    def test_with_keypoints_of_invalid_values_raises_value_error(self) -> None:
        plain = scene(None, None)
        with pytest.raises(ValueError, match="keypoints: found 1 players, expected 2"):
            plain.with_keypoints([POSE])
        with pytest.raises(ValueError, match="no detected keypoint of player 1"):
            plain.with_keypoints(np.array([POSE, POSE]) + np.array([1000, 0, 0]))
        partly = np.array([POSE, POSE])
        partly[0, 3, 0] = np.nan
        with pytest.raises(ValueError, match=r"three finite numbers .* for left_ear"):
            plain.with_keypoints(partly)


def test_scores_and_signature_do_not_depend_on_keypoints() -> None:
    rows = [{"sport": "a", "image": "1", "respondent": "me", "kind": "model", "prompt": "base", "cell": "A2"}]
    with_pose, without = (score(rows, [one], bootstrap=0) for one in (scene(POSE), scene(None)))
    assert with_pose.signature == without.signature
    assert with_pose.groups == without.groups

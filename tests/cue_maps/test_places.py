"""Test place and player cues against values computed by hand and plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spotball_core import Grid, Scene
from spotball_core.cue_maps import places
from spotball_core.cue_maps.scores import cue_scores
from tests.builders import scene

GRID = Grid.standard()


def test_location_is_the_smoothed_ball_density_of_other_scenes_of_the_sport() -> None:
    scenes = [
        scene("1", ball_cells=("A1",)),
        scene("2", ball_cells=("C4", "C5")),
        scene("3", ball_cells=("F10",)),
        scene("1", "tennis", ball_cells=("B2",)),
    ]
    scores = places.location(scenes)
    for cell, (row, col) in enumerate((r, c) for r in range(6) for c in range(10)):
        density = 1 / 60
        for share, (ball_row, ball_col) in [(0.5, (2, 3)), (0.5, (2, 4)), (1.0, (5, 9))]:
            total = sum(math.exp(-((r - ball_row) ** 2 + (c - ball_col) ** 2) / 2) for r in range(6) for c in range(10))
            density += share * math.exp(-((row - ball_row) ** 2 + (col - ball_col) ** 2) / 2) / total
        assert scores[0, cell] == pytest.approx(math.log(density / 3))
    assert np.exp(scores[:3]).sum(axis=-1) == pytest.approx(np.ones(3))
    assert np.isnan(scores[3]).all()


def test_location_does_not_depend_on_the_ball_of_the_scene_itself() -> None:
    scenes = [scene(str(n), ball_cells=(cell,)) for n, cell in enumerate(["A1", "C4", "E9"])]
    moved = [scene("0", ball_cells=("F1",)), *scenes[1:]]
    before, after = places.location(scenes), places.location(moved)
    assert before[0] == pytest.approx(after[0], abs=1e-12)
    assert before[1] != pytest.approx(after[1], abs=1e-3)


def test_location_ignores_scenes_with_an_unknown_ball() -> None:
    known = [scene("1", ball_cells=("A1",)), scene("2", ball_cells=("B7",))]
    unknown = scene("3", ball_cells=None)
    scores = places.location([*known, unknown])
    assert np.allclose(scores[:2], places.location(known), rtol=0, atol=1e-12)
    assert np.isfinite(scores[2]).all()


def test_distance_cues_are_in_units_of_the_image_diagonal() -> None:
    diagonal = math.hypot(640, 360)
    one = scene("1", players=[(64, 60, 128, 120)])
    d5 = GRID.index("D5")  # The cell's center is at (288, 210).
    assert places.center(one)[d5] == pytest.approx(-math.hypot(32, 30) / diagonal)
    scores = places.players(one)
    assert scores is not None
    assert scores[d5] == pytest.approx(-math.hypot(288 - 128, 210 - 120) / diagonal)
    assert scores[GRID.index("B2")] == 0
    scores = places.feet(one)
    assert scores is not None
    assert scores[d5] == pytest.approx(-math.hypot(288 - 96, 210 - 120) / diagonal)


def test_feet_uses_only_detected_ankles() -> None:
    pose = [[0.0, 0.0, 0.0]] * 17
    pose[15], pose[16] = [70, 118, 0.9], [300, 118, 0.1]
    one = scene("1", players=[(64, 60, 128, 120)], player_keypoints=[pose])
    scores = places.feet(one)
    assert scores is not None
    x, y = GRID.centers[GRID.index("D5")]
    # The other ankle has a low confidence, so it is not used as a foot.
    assert scores[GRID.index("D5")] == pytest.approx(-math.hypot(x - 70, y - 118) / GRID.diagonal)


@pytest.mark.parametrize("players", [None, []])
def test_player_cues_do_not_apply_without_players(players: list[object] | None) -> None:
    one = scene("1", players=players)
    assert places.players(one) is None
    assert places.feet(one) is None
    scores = cue_scores([one])
    assert [cue.key for cue, applies in zip(scores.cues, scores.applies[0], strict=True) if applies] == ["center"]


def test_standardized_scores_have_mean_0_and_standard_deviation_1() -> None:
    scenes: list[Scene] = [scene("1", players=[(64, 60, 128, 120)]), scene("2", players=None)]
    scores = cue_scores(scenes, ["center", "players"])
    standardized = scores.standardized()
    assert standardized.mean(axis=1) == pytest.approx(np.zeros((2, 2)), abs=1e-12)
    assert standardized[:, :, 0].std(axis=1) == pytest.approx([1, 1])
    assert standardized[0, :, 1].std() == pytest.approx(1)
    assert not standardized[1, :, 1].any()

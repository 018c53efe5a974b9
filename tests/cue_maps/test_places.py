"""Test place and player cues against values computed by hand and plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

from spotball_core import Grid
from spotball_core.cue_maps import places
from spotball_core.cue_maps.registry import cue_scores
from tests.builders import scene

GRID = Grid.standard()


def test_location_is_the_smoothed_ball_density_of_other_scenes_of_the_sport() -> None:
    balls = [("A1",), ("C4", "C5"), ("F10",)]
    scenes = [scene(str(n), ball_cells=cells) for n, cells in enumerate(balls)]
    scores = places.location([*scenes, scene("1", "tennis", ball_cells=("B2",))])
    for cell, (row, col) in enumerate((r, c) for r in range(6) for c in range(10)):
        density = 1 / 60
        for share, (ball_row, ball_col) in [(0.5, (2, 3)), (0.5, (2, 4)), (1.0, (5, 9))]:
            total = sum(math.exp(-((r - ball_row) ** 2 + (c - ball_col) ** 2) / 2) for r in range(6) for c in range(10))
            density += share * math.exp(-((row - ball_row) ** 2 + (col - ball_col) ** 2) / 2) / total
        assert scores[0, cell] == pytest.approx(math.log(density / 3))
    assert np.exp(scores[:3]).sum(axis=-1) == pytest.approx(np.ones(3))
    assert np.isnan(scores[3]).all()


def test_location_depends_neither_on_the_ball_of_the_scene_itself_nor_on_unknown_balls() -> None:
    scenes = [scene(str(n), ball_cells=(cell,)) for n, cell in enumerate(["A1", "C4", "E9"])]
    before, moved = places.location(scenes), places.location([scene("0", ball_cells=("F1",)), *scenes[1:]])
    assert before[0] == pytest.approx(moved[0], abs=1e-12)
    assert before[1] != pytest.approx(moved[1], abs=1e-3)
    scores = places.location([*scenes, scene("3", ball_cells=None)])
    assert np.allclose(scores[:3], before, rtol=0, atol=1e-12)
    assert np.isfinite(scores[3]).all()


def test_distance_cues_are_in_units_of_the_image_diagonal() -> None:
    diagonal = math.hypot(640, 360)
    one = scene("1", players=[(64, 60, 128, 120)])
    d5 = GRID.index("D5")  # The cell's center is at (288, 210).
    assert places.center(one)[d5] == pytest.approx(-math.hypot(32, 30) / diagonal)
    assert places.players(one)[d5] == pytest.approx(-math.hypot(288 - 128, 210 - 120) / diagonal)
    assert places.players(one)[GRID.index("B2")] == 0
    assert places.feet(one)[d5] == pytest.approx(-math.hypot(288 - 96, 210 - 120) / diagonal)


def test_feet_uses_only_detected_ankles() -> None:
    pose = [*[[0.0, 0.0, 0.0]] * 15, [70, 118, 0.9], [300, 118, 0.1]]
    one = scene("1", players=[(64, 60, 128, 120)], player_keypoints=[pose])
    x, y = GRID.centers[GRID.index("D5")]
    # The other ankle has a low confidence, so it is not used as a foot.
    assert places.feet(one)[GRID.index("D5")] == pytest.approx(-math.hypot(x - 70, y - 118) / GRID.diagonal)


@pytest.mark.parametrize("players", [None, []])
def test_player_cues_do_not_apply_without_players(players: list[object] | None) -> None:
    one = scene("1", players=players)
    assert places.players(one) is None
    assert places.feet(one) is None
    scores = cue_scores([one])
    assert [cue.key for cue, applies in zip(scores.cues, scores.applies[0], strict=True) if applies] == ["center"]


def test_standardized_scores_have_mean_0_and_standard_deviation_1() -> None:
    scenes = [scene("1", players=[(64, 60, 128, 120)]), scene("2", players=None)]
    standardized = cue_scores(scenes, ["center", "players"]).standardized()
    assert standardized.mean(axis=1) == pytest.approx(np.zeros((2, 2)), abs=1e-12)
    assert standardized[:, :, 0].std(axis=1) == pytest.approx([1, 1])
    assert standardized[0, :, 1].std() == pytest.approx(1)
    assert not standardized[1, :, 1].any()

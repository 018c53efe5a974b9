"""Test synthetic scenes: their documented properties, and their similarity to the benchmark."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from spotball_core.errors import OptionError
from spotball_core.grid import Grid
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.schema import Scene
from spotball_core.synthetic.scenes import synthetic_scenes
from tests.failures import raises

SPORTS = ("synthetic-soccer", "synthetic-basketball", "synthetic-volleyball")


@pytest.fixture(scope="module")
def many() -> dict[str, list[Scene]]:
    scenes = synthetic_scenes(900, seed=4)
    return {sport: [scene for scene in scenes if scene.sport == sport] for sport in SPORTS}


def test_synthetic_scenes_alternate_three_sports_on_the_standard_grid_and_can_be_written_and_read(
    tmp_path: Path,
) -> None:
    scenes = synthetic_scenes()
    write_scenes(scenes, tmp_path / "scenes.jsonl")
    assert read_scenes(tmp_path / "scenes.jsonl") == scenes
    assert [scene.key for scene in scenes] == [(SPORTS[i % 3], str(i // 3 + 1)) for i in range(60)]
    assert all(scene.layout == Grid.standard() and scene.path is None for scene in scenes)


def test_every_tenth_scene_of_a_sport_is_a_control(many: dict[str, list[Scene]]) -> None:
    for scenes in many.values():
        assert [scene.image for scene in scenes if scene.control] == [str(n) for n in range(10, 301, 10)]


def test_boxes_are_inside_the_image_and_ball_cells_match_the_ball_box(many: dict[str, list[Scene]]) -> None:
    for scene in (scene for scenes in many.values() for scene in scenes):
        assert scene.players
        for x1, y1, x2, y2 in [scene.ball_box, *(box.corners for box in scene.players)]:
            assert 0 <= x1 < x2 <= 640
            assert 0 <= y1 < y2 <= 360
        x1, y1, x2, y2 = scene.ball_box
        rows, cols = range(int(y1 // 60), math.ceil(y2 / 60)), range(int(x1 // 64), math.ceil(x2 / 64))
        assert scene.ball_cells == tuple(f"{'ABCDEF'[row]}{col + 1}" for row in rows for col in cols)


@pytest.mark.parametrize(
    ("sport", "players", "area", "ball_area"),
    [
        # Values from table 1 of the paper; the soccer ball area in pixels is from `spotball replicate`.
        ("synthetic-soccer", 4.26, 13718.87, 690.26),
        ("synthetic-basketball", 5.46, 20067.43, 1631.27),
        ("synthetic-volleyball", 9.92, 6600.26, 904.86),
    ],
)
def test_numbers_and_sizes_of_players_and_balls_match_table_1_of_the_paper(
    many: dict[str, list[Scene]], sport: str, players: float, area: float, ball_area: float
) -> None:
    scenes = many[sport]
    boxes = np.concatenate([scene.boxes for scene in scenes])
    width, height = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    assert np.mean([len(scene.players) for scene in scenes]) == pytest.approx(players, rel=0.08)
    assert (width * height).mean() == pytest.approx(area, rel=0.08)
    assert 0.35 < np.median(width / height) < 0.5  # the shape of a standing person
    balls = np.array([scene.ball_box for scene in scenes])
    assert np.mean((balls[:, 2] - balls[:, 0]) * (balls[:, 3] - balls[:, 1])) == pytest.approx(ball_area, rel=0.15)


def test_ball_is_near_the_feet_in_soccer_at_the_upper_body_in_basketball_and_above_heads_in_volleyball(
    many: dict[str, list[Scene]],
) -> None:
    """Check the median height of the ball: 0 is the top of the nearest player's box and 1 is its bottom."""
    heights = {}
    for sport, scenes in many.items():
        of_sport = []
        for scene in scenes:
            x, y = np.array(scene.ball_box).reshape(2, 2).mean(axis=0)
            _, y1, _, y2 = min((box.corners for box in scene.players), key=lambda b: abs((b[0] + b[2]) / 2 - x))
            of_sport.append((y - y1) / (y2 - y1))
        heights[sport] = float(np.median(of_sport))
    assert heights["synthetic-soccer"] > 0.7
    assert 0 < heights["synthetic-basketball"] < 0.5
    assert heights["synthetic-volleyball"] < 0


def test_synthetic_scenes_depend_on_the_seed_but_not_on_the_number_of_scenes() -> None:
    scenes = synthetic_scenes(12, seed=0)
    assert scenes == synthetic_scenes(12, seed=0)
    assert scenes[:5] == synthetic_scenes(5, seed=0)
    other = synthetic_scenes(12, seed=1)
    assert all(a.players != b.players and a.ball_box != b.ball_box for a, b in zip(scenes, other, strict=True))
    assert len({scene.ball_box for scene in scenes}) == len(scenes)
    assert synthetic_scenes(3, seed=np.random.default_rng(2)) == synthetic_scenes(3, seed=np.random.default_rng(2))


def test_synthetic_scenes_with_invalid_options_raise_option_error() -> None:
    with raises(OptionError, "invalid-option:n"):
        synthetic_scenes(0)
    with raises(OptionError, "invalid-option:seed"):
        synthetic_scenes(3, seed=-2)

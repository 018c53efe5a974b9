"""Test measures of difficulty against hand calculations and Shapely."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given, strategies as st

from spotball_core.grid import Grid
from spotball_core.metrics.strategy import window_mask
from spotball_gen.pipeline.difficulty import MEASURES, UPRIGHT, covered, hidden, in_center, measures

GRID = Grid.standard()
BALL = (310.0, 170.0, 330.0, 180.0)

edges = st.integers(0, 20)
sides = st.integers(1, 12)
boxes = st.tuples(edges, edges, sides, sides).map(lambda box: (box[0], box[1], box[0] + box[2], box[1] + box[3]))


def test_measures_of_difficulty_equal_hand_calculations() -> None:
    found = measures(BALL, [(360, 100, 400, 200), (0, 0, 10, 20)], GRID)
    assert tuple(found) == MEASURES
    assert found["players"] == 2
    assert found["coverage"] == pytest.approx((40 * 100 + 200) / (640 * 360))
    assert found["ball_size"] == pytest.approx(200**0.5)
    assert found["player_distance"] == 40
    assert found["center_distance"] == 5
    alone = measures(BALL, [], GRID)
    assert (alone["players"], alone["coverage"], alone["occlusion"], alone["player_distance"]) == (0, 0, 0, np.inf)
    # The center of the ball is 5 px from the corner of a player, or inside a player.
    assert measures(BALL, [(323, 179, 400, 200)], GRID)["player_distance"] == pytest.approx(5)
    assert measures(BALL, [(300, 100, 400, 200)], GRID)["player_distance"] == 0


@given(boxes, st.lists(boxes, max_size=6))
def test_covered_is_the_share_of_a_box_that_the_union_of_other_boxes_covers(
    box: tuple[int, ...], others: list[tuple[int, ...]]
) -> None:
    whole = shapely.box(*box)
    expected = shapely.unary_union([shapely.box(*other) for other in others]).intersection(whole).area / whole.area
    assert covered(np.array(box, float), np.array(others, float).reshape(-1, 4)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("players", "expected"),
    [
        # Only the farther player is hidden, and no player is hidden by one at the same distance.
        ([[100, 100, 140, 200], [120, 150, 160, 260], [400, 100, 440, 200]], [20 * 50 / 4000, 0, 0]),
        ([[100, 100, 140, 200], [120, 120, 160, 200]], [0, 0]),
        # An area that is covered twice counts once.
        ([[100, 100, 140, 200], [120, 150, 160, 260], [120, 150, 160, 270]], [20 * 50 / 4000, 1, 0]),
        # A complete player is 2.5 times as high as wide. One cut off at the side should be 40 wide: half is missing.
        ([[0, 100, 20, 200], [300, 100, 340, 200]], [0.5, 0]),
        ([[300, 320, 340, 360], [100, 100, 140, 200]], [0.6, 0]),
        # Without a complete player, the default shape is used.
        ([[630, 100, 640, 200]], [1 - 10 / (100 / UPRIGHT)]),
    ],
)
def test_hidden_share_of_each_player_equals_a_hand_calculation(
    players: list[list[float]], expected: list[float]
) -> None:
    assert hidden(np.array(players, float), GRID) == pytest.approx(expected)


@given(st.lists(boxes, min_size=1, max_size=6))
def test_hidden_share_of_each_player_is_between_0_and_1(players: list[tuple[int, ...]]) -> None:
    found = hidden(np.array(players, float), Grid(2, 2, 32, 32))
    assert ((found >= 0) & (found <= 1)).all()


def test_in_center_equals_the_center_window_of_the_paper_on_any_grid() -> None:
    assert [in_center(tuple(cell), GRID) for cell in GRID.rectangles] == window_mask(GRID).tolist()
    assert in_center((150, 80, 160, 90), Grid(12, 20, 320, 180))
    assert not in_center((150, 125, 160, 135), Grid(12, 20, 320, 180))

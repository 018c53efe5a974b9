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
boxes = st.tuples(edges, edges, st.integers(1, 12), st.integers(1, 12)).map(
    lambda box: (box[0], box[1], box[0] + box[2], box[1] + box[3])
)


def test_measures_equal_a_hand_calculation() -> None:
    found = measures(BALL, [(360, 100, 400, 200), (0, 0, 10, 20)], GRID)
    assert tuple(found) == MEASURES
    assert found["players"] == 2
    assert found["coverage"] == pytest.approx((40 * 100 + 200) / (640 * 360))
    assert found["ball_size"] == pytest.approx(200**0.5)
    assert found["player_distance"] == 40
    assert found["center_distance"] == 5


def test_measures_without_players_are_zero_with_infinite_distance() -> None:
    found = measures(BALL, [], GRID)
    assert (found["players"], found["coverage"], found["occlusion"]) == (0, 0, 0)
    assert found["player_distance"] == np.inf


def test_player_distance_to_a_corner_and_inside_a_box() -> None:
    assert measures(BALL, [(323, 179, 400, 200)], GRID)["player_distance"] == pytest.approx(5)
    assert measures(BALL, [(300, 100, 400, 200)], GRID)["player_distance"] == 0


@given(boxes, st.lists(boxes, max_size=6))
def test_covered_is_the_area_of_the_union(box: tuple[int, ...], others: list[tuple[int, ...]]) -> None:
    whole = shapely.box(*box)
    expected = shapely.unary_union([shapely.box(*other) for other in others]).intersection(whole).area / whole.area
    assert covered(np.array(box, float), np.array(others, float).reshape(-1, 4)) == pytest.approx(expected)


class TestHidden:
    def test_hidden_counts_only_the_farther_player(self) -> None:
        players = np.array([[100, 100, 140, 200], [120, 150, 160, 260], [400, 100, 440, 200.0]])
        assert hidden(players, GRID) == pytest.approx([20 * 50 / 4000, 0, 0])

    def test_hidden_is_zero_for_players_at_the_same_distance(self) -> None:
        assert hidden(np.array([[100, 100, 140, 200], [120, 120, 160, 200.0]]), GRID).tolist() == [0, 0]

    def test_hidden_counts_an_area_covered_twice_once(self) -> None:
        players = np.array([[100, 100, 140, 200], [120, 150, 160, 260], [120, 150, 160, 270.0]])
        assert hidden(players, GRID)[0] == pytest.approx(20 * 50 / 4000)

    def test_hidden_of_a_player_cut_off_at_the_side(self) -> None:
        # The complete player is 2.5 times as high as wide, so this one should be 40 wide, and half of it is missing.
        players = np.array([[0, 100, 20, 200], [300, 100, 340, 200.0]])
        assert hidden(players, GRID) == pytest.approx([0.5, 0])

    def test_hidden_of_a_player_cut_off_at_the_bottom(self) -> None:
        players = np.array([[300, 320, 340, 360], [100, 100, 140, 200.0]])
        assert hidden(players, GRID) == pytest.approx([0.6, 0])

    def test_hidden_uses_the_default_shape_without_a_complete_player(self) -> None:
        assert hidden(np.array([[630, 100, 640, 200.0]]), GRID) == pytest.approx([1 - 10 / (100 / UPRIGHT)])

    @given(st.lists(boxes, min_size=1, max_size=6))
    def test_hidden_is_between_0_and_1(self, players: list[tuple[int, ...]]) -> None:
        found = hidden(np.array(players, float), Grid(2, 2, 32, 32))
        assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("cell", range(60))
def test_in_center_equals_the_center_window_of_the_paper(cell: int) -> None:
    assert in_center(tuple(GRID.rectangles[cell]), GRID) == window_mask(GRID)[cell]


def test_in_center_of_another_grid_is_the_same_part_of_the_image() -> None:
    assert in_center((150, 80, 160, 90), Grid(12, 20, 320, 180))
    assert not in_center((150, 125, 160, 135), Grid(12, 20, 320, 180))

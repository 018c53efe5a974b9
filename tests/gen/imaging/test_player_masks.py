"""Test player masks against plain arithmetic, and that inpainting does not change players."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given, strategies as st
from shapely.geometry import box as rectangle

from spotball_gen.imaging.masks import MaskSettings, ball_mask
from spotball_gen.imaging.player_masks import player_mask
from spotball_gen.items.item import Box
from tests.gen.making import item_of

SHAPE = 60, 80


@given(st.lists(st.tuples(st.floats(-5, 85), st.floats(-5, 65)), min_size=3, max_size=3, unique=True))
def test_player_mask_contains_pixels_with_centers_inside_the_outline(points: list[tuple[float, float]]) -> None:
    (ax, ay), (bx, by), (cx, cy) = points
    mask = player_mask(Box(0, 0, 80, 60, label="player", outline=(tuple(points),)), SHAPE)
    for y in range(0, SHAPE[0], 3):
        for x in range(0, SHAPE[1], 3):
            u, v = x + 0.5, y + 0.5
            sides = [
                (bx - ax) * (v - ay) - (by - ay) * (u - ax),
                (cx - bx) * (v - by) - (cy - by) * (u - bx),
                (ax - cx) * (v - cy) - (ay - cy) * (u - cx),
            ]
            if min(map(abs, sides)) > 1e-6:
                assert mask[y, x] == (min(sides) > 0 or max(sides) < 0)


def test_player_mask_of_several_polygons_is_their_union() -> None:
    two = (((1.0, 1.0), (9.0, 1.0), (9.0, 9.0), (1.0, 9.0)), ((5.0, 5.0), (20.0, 5.0), (20.0, 20.0), (5.0, 20.0)))
    mask = player_mask(Box(0, 0, 30, 30, label="player", outline=two), SHAPE)
    union = rectangle(1, 1, 9, 9).union(rectangle(5, 5, 20, 20))
    assert mask[7, 7]
    assert mask[2, 2]
    assert mask[15, 15]
    assert not mask[2, 15]
    assert mask.sum() == union.area


def test_ball_mask_enters_the_box_but_not_the_outline_of_a_player(tmp_path: Path) -> None:
    item = item_of(np.full((*SHAPE, 3), 90, np.uint8), tmp_path)
    ball = Box(30, 20, 42, 32)
    # The player is the right half of a box that overlaps the ball's margin.
    outline = (((43.0, 5.0), (60.0, 5.0), (60.0, 55.0), (43.0, 55.0)),)
    player = Box(26, 5, 60, 55, label="player")
    settings = MaskSettings(margin=0.5, shadow=0)
    boxed = ball_mask(replace(item, ball=ball, players=(player,)), settings) > 0
    spared = ball_mask(replace(item, ball=ball, players=(replace(player, outline=outline),)), settings) > 0
    assert spared.sum() > boxed.sum()
    assert spared[26, 28]
    assert not spared[26, 44:].any()

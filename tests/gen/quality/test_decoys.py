"""Test which cells are decoys of the ball's cell, with hand-made cases and general properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from numpy.typing import NDArray

from spotball_core.grid import Grid
from spotball_core.schema.scene import Scene
from spotball_gen.quality.decoys import DECOYS, ball_cell, beside, decoys, surroundings

GRID = Grid.standard()


def scene(ball: tuple[float, float, float, float], players: list[tuple[float, float, float, float]]) -> Scene:
    fields = {"sport": "soccer", "image": "1", "grid": GRID, "ball_box": ball, "players": players}
    return Scene.model_validate(fields)


def decoys_of(one: Scene, touched: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the decoys of a single image."""
    return decoys(surroundings(one)[None], np.array([ball_cell(one)]), touched[None])[0]


def labels(found: NDArray[np.int64]) -> set[str]:
    return {GRID.label(int(index)) for index in found}


def test_decoys_without_players_are_in_the_same_row() -> None:
    # C4 is 1.5 columns from the middle, as is C7; C3, C5, C6 and C8 are one column nearer or farther.
    found = decoys_of(scene((200, 130, 240, 170), []), GRID.mask(["C4"]))
    assert GRID.label(int(found[0])) == "C7"
    assert labels(found) < {"C3", "C5", "C6", "C7", "C8"}


def test_decoys_with_players_are_near_players_and_exclude_inpainted_cells() -> None:
    # Each of five equal players fills two cells of rows C and D; the ball is at the feet of the second.
    players = [(128.0 * i, 120.0, 128.0 * i + 64, 240.0) for i in range(5)]
    one = scene((140, 185, 170, 215), players)
    assert GRID.label(ball_cell(one)) == "D3"
    assert labels(decoys_of(one, GRID.mask(["D3"]))) == {"D1", "D5", "D7", "D9"}
    assert "D1" not in labels(decoys_of(one, GRID.mask(["D3", "D1"])))


@given(
    st.lists(st.integers(0, 59), min_size=1, max_size=50, unique=True),
    st.lists(st.tuples(st.floats(0, 500), st.floats(0, 250)), max_size=6),
)
def test_decoys_are_the_four_most_similar_untouched_cells(cells: list[int], at: list[tuple[float, float]]) -> None:
    one = scene((300, 100, 330, 130), [(x, y, x + 40, y + 90) for x, y in at])
    touched = GRID.mask([*cells, ball_cell(one)])
    assume((~touched).sum() >= DECOYS)
    found, places = decoys_of(one, touched), surroundings(one)
    assert np.isfinite(places).all()
    assert len(set(found.tolist())) == DECOYS
    assert not touched[found].any()
    apart = [sum((a - b) ** 2 for a, b in zip(place, places[ball_cell(one)], strict=True)) for place in places]
    rest = [apart[cell] for cell in range(60) if not touched[cell] and cell not in found]
    assert max(apart[cell] for cell in found) <= min(rest, default=np.inf) + 1e-9


@pytest.mark.parametrize(("cell", "expected"), [("A1", "A1 A2 B1 B2"), ("C5", "B4 B5 B6 C4 C5 C6 D4 D5 D6")])
def test_beside_returns_a_cell_and_its_neighbors(cell: str, expected: str) -> None:
    assert labels(np.flatnonzero(beside(GRID.mask([cell]), GRID.rows, GRID.cols))) == set(expected.split())


def test_decoys_of_several_images_equal_those_of_single_images() -> None:
    scenes = [scene((200, 130, 240, 170), []), scene((20, 20, 60, 60), [(300, 200, 340, 300)])]
    touched = np.array([GRID.mask([ball_cell(one)]) for one in scenes])
    together = decoys(np.array([surroundings(one) for one in scenes]), np.array([23, 0]), touched)
    assert together.tolist() == [decoys_of(one, of).tolist() for one, of in zip(scenes, touched, strict=True)]

"""Test the cells that contain a ball: found by hand, with Shapely, and with `GroundTruth.from_box`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from PIL import Image as Pictures
from pydantic import ValidationError
from shapely.geometry import box as rectangle

from spotball_core.errors import GridError
from spotball_core.grid import Grid
from spotball_core.overlay import gridded
from spotball_core.schema.scene import GroundTruth, Scene
from spotball_gen.items.item import Box
from spotball_gen.stages.label_cells import Cells, CellsSettings, ball_cells
from tests.failures import raises
from tests.gen.making import context_of, item_of

GRID = Grid.standard()


@pytest.mark.parametrize(
    ("box", "min_share", "expected"),
    [
        (Box(10, 10, 30, 30), 0.0, ("A1",)),
        # Cells are 64 x 60 pixels. 4 of the 20 columns are left of x = 64.
        (Box(60, 10, 80, 30), 0.0, ("A1", "A2")),
        (Box(60, 10, 80, 30), 0.19, ("A1", "A2")),
        (Box(60, 10, 80, 30), 0.2, ("A2",)),
        (Box(54, 50, 74, 70), 0.0, ("A1", "A2", "B1", "B2")),
        # Each cell has a quarter, which is below the minimum, so all cells with the largest area are kept.
        (Box(54, 50, 74, 70), 0.5, ("A1", "A2", "B1", "B2")),
        (Box(54, 50, 75, 70), 0.5, ("A2", "B2")),
        (Box(64, 60, 128, 120), 0.0, ("B2",)),
        (Box(620, 350, 660, 390), 0.0, ("F10",)),
        # Half of the box is outside the image. A quarter of the inside part is in E10.
        (Box(630, 295, 650, 315), 0.3, ("F10",)),
    ],
)
def test_ball_cells_of_boxes_equal_cells_found_by_hand(box: Box, min_share: float, expected: tuple[str, ...]) -> None:
    assert ball_cells(box, GRID, min_share=min_share) == expected


GRIDS = st.builds(Grid, st.integers(1, 30), st.integers(1, 30), st.integers(20, 900), st.integers(20, 900))


@st.composite
def grids_and_balls(draw: st.DrawFn) -> tuple[Grid, Box]:
    grid = draw(GRIDS)
    x, y = draw(st.floats(-20, grid.width - 1)), draw(st.floats(-20, grid.height - 1))
    return grid, Box(x, y, x + draw(st.floats(21, 80)), y + draw(st.floats(21, 80)))


@given(grids_and_balls(), st.floats(0, 0.99))
def test_ball_cells_equal_the_cells_from_shapely_areas(ball: tuple[Grid, Box], min_share: float) -> None:
    grid, box = ball
    shape = rectangle(*box.corners)
    shared = (rectangle(*corners).intersection(shape).area for corners in grid.rectangles.tolist())
    areas = dict(zip(grid.labels, shared, strict=True))
    whole, most = sum(areas.values()), max(areas.values())
    bound = min_share * whole
    assume(all(abs(area - bound) > 1e-6 and not 0 < most - area < 1e-6 for area in areas.values()))
    expected = [label for label, area in areas.items() if area > bound or area == most]
    found = ball_cells(box, grid, min_share=min_share)
    assert set(expected) <= set(found)
    assert all(most - areas[label] < 1e-6 for label in set(found) - set(expected))
    # The cells are in index order and valid for the grid, as a scene requires.
    assert GroundTruth.from_labels(found, grid).cells == found


@given(grids_and_balls())
def test_ball_cells_with_zero_min_share_equal_ground_truth_from_box(ball: tuple[Grid, Box]) -> None:
    grid, box = ball
    assert ball_cells(box, grid, min_share=0) == GroundTruth.from_box(box.corners, grid).cells


@given(grids_and_balls(), st.floats(0, 0.99), st.floats(0, 0.99))
def test_ball_cells_with_a_larger_min_share_are_a_subset_but_never_empty(
    ball: tuple[Grid, Box], a: float, b: float
) -> None:
    few, many = (set(ball_cells(ball[1], ball[0], min_share=share)) for share in (max(a, b), min(a, b)))
    assert few
    assert few <= many


def test_cells_stage_labels_items_and_fails_items_without_a_ball_in_the_image(tmp_path: Path) -> None:
    pixels = np.full((360, 640, 3), 90, dtype=np.uint8)
    balls = {"a": Box(54, 50, 74, 70), "b": Box(640, 50, 660, 70), "c": None}
    items = [item_of(pixels, tmp_path, name, ball=ball) for name, ball in balls.items()]
    outcome = Cells(CellsSettings(), context_of(tmp_path)).process(items)
    (done,) = outcome.items
    assert done.cells == ("A1", "A2", "B1", "B2")
    scene = Scene(sport="soccer", image="a", grid=GRID, ball_cells=done.cells, ball_box=(54, 50, 74, 70))
    assert scene.ball_cells == done.cells
    assert {failure.item: failure.error.split(": ")[1] for failure in outcome.failures} == {
        "b": "the ball is outside the image",
        "c": "the item has no ball to label",
    }
    assert not (tmp_path / "overlays").exists()


def test_cells_overlay_is_the_image_with_the_grid_and_a_grid_too_small_to_draw_is_an_error(tmp_path: Path) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (360, 640, 3), dtype=np.uint8)
    item = item_of(pixels, tmp_path, ball=Box(54, 50, 74, 70))
    Cells(CellsSettings(overlay=True), context_of(tmp_path)).process([item])
    drawn = Pictures.open(tmp_path / "overlays" / "match" / f"{item.id}.png")
    assert (np.asarray(drawn) == np.asarray(gridded(Pictures.fromarray(pixels), GRID))).all()
    with raises(GridError, "invalid-grid"):
        Cells(CellsSettings(overlay=True), context_of(tmp_path, width=7000, height=10))
    with pytest.raises(ValidationError):
        CellsSettings(min_share=1)

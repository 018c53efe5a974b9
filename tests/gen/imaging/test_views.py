"""Test the input of inpainting models: it contains the mask and its surroundings, but no masked pixels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from spotball_gen.imaging.masks import composite
from spotball_gen.stages.inpaint_stable_diffusion import CELL, LEAST, ModelView


@st.composite
def masks(draw: st.DrawFn) -> NDArray[np.uint8]:
    height, width = draw(st.integers(8, 200)), draw(st.integers(8, 200))
    mask = np.zeros((height, width), dtype=np.uint8)
    for _ in range(draw(st.integers(1, 2))):
        y, x = draw(st.integers(0, height - 1)), draw(st.integers(0, width - 1))
        mask[y : y + draw(st.integers(1, 60)), x : x + draw(st.integers(1, 60))] = 255
    return mask


sizes = st.integers(8, 32).map(lambda n: 8 * n)


def noise(mask: NDArray[np.uint8], seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (*mask.shape, 3), dtype=np.uint8)


@given(masks(), sizes, st.floats(1, 8))
def test_model_view_window_contains_the_mask_and_its_surroundings(
    mask: NDArray[np.uint8], size: int, surroundings: float
) -> None:
    view = ModelView.of(mask, size=size, surroundings=surroundings)
    assert (mask[view.window] > 0).sum() == (mask > 0).sum()
    extent = max(int(np.ptp(np.flatnonzero(mask.any(axis=axis)))) + 1 for axis in (0, 1))
    wanted = max(LEAST, round(surroundings * extent))
    for part, length in zip(view.window, mask.shape, strict=True):
        assert 0 <= part.start < part.stop <= length
        assert part.stop - part.start == min(wanted, length)
    assert max(view.canvas) == size
    assert all(side % CELL == 0 and side > 0 for side in view.canvas)


@given(masks(), sizes, st.integers(0, 2**32 - 1))
def test_model_view_hides_the_mask_in_whole_cells_and_does_not_depend_on_masked_pixels(
    mask: NDArray[np.uint8], size: int, seed: int
) -> None:
    view = ModelView.of(mask, size=size, surroundings=3)
    image = noise(mask)
    shown, cells = view.shown(image)
    for part, other in zip((shown, cells), view.shown(composite(image, noise(mask, seed), mask)), strict=True):
        assert (part == other).all()
    assert (shown.shape, cells.shape) == ((*view.canvas, 3), view.canvas)
    assert set(np.unique(cells).tolist()) <= {0, 255}
    by_cell = cells.reshape(cells.shape[0] // CELL, CELL, cells.shape[1] // CELL, CELL)
    assert (by_cell == by_cell[:, :1, :, :1]).all()
    rows, cols = view.window
    for y, x in zip(*np.nonzero(mask), strict=True):
        at_y = (y - rows.start + 0.5) * view.canvas[0] / (rows.stop - rows.start)
        at_x = (x - cols.start + 0.5) * view.canvas[1] / (cols.stop - cols.start)
        assert cells[int(at_y), int(at_x)] == 255


def test_model_view_with_a_window_of_the_canvas_size_round_trips_pixels_exactly() -> None:
    mask = np.zeros((300, 400), dtype=np.uint8)
    mask[140:160, 200:220] = 255
    view = ModelView.of(mask, size=160, surroundings=8)
    assert view.window == (slice(70, 230), slice(130, 290))
    image = noise(mask)
    shown, cells = view.shown(image)
    assert (shown[cells == 0] == image[view.window][cells == 0]).all()
    painted = noise(np.zeros(view.canvas), 1)
    whole = view.put_back(image, painted)
    assert (whole[view.window] == painted).all()
    whole[view.window] = image[view.window]
    assert (whole == image).all()


@pytest.mark.parametrize("size", [64, 512])
def test_model_view_put_back_restores_pixel_positions_at_any_canvas_size(size: int) -> None:
    mask = np.zeros((240, 320), dtype=np.uint8)
    mask[100:120, 30:60] = 255
    y, x = np.mgrid[:240, :320]
    image = np.stack([x * 0.7, y, (x + y) / 3], axis=-1).astype(np.uint8)
    view = ModelView.of(mask, size=size, surroundings=4)
    shown, _ = view.shown(image)
    whole = view.put_back(image, shown)
    outside = mask[view.window] == 0
    assert np.abs(whole.astype(int) - image)[view.window][outside].mean() < 2


def test_model_view_of_a_fully_masked_image_shows_nothing() -> None:
    mask = np.full((40, 60), 255, dtype=np.uint8)
    shown, cells = ModelView.of(mask, size=64, surroundings=2).shown(noise(mask))
    assert not shown.any()
    assert cells.all()

"""Test placing images in a detector's input, and converting boxes back."""

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from spotball_gen.models.yolo.letterbox import GRAY, Letterbox, smallest_canvas
from tests.gen.models.yolo import plain

sides = st.integers(1, 2000)
sizes = st.tuples(sides, sides)
canvases = st.tuples(*[st.integers(1, 40).map(lambda n: 32 * n)] * 2)


@given(sizes, canvases)
def test_letterbox_centers_the_image_at_the_largest_size_that_fits(
    image: tuple[int, int], canvas: tuple[int, int]
) -> None:
    box = Letterbox.of(image, canvas)
    assert (*box.inner, *box.corner) == plain.letterbox(image, canvas)
    assert any(inner == side for inner, side in zip(box.inner, canvas, strict=True))
    for inner, side, before in zip(box.inner, canvas, box.corner, strict=True):
        after = side - inner - before
        assert 0 <= before <= after <= before + 1


@given(sizes, canvases, st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_letterbox_to_image_inverts_the_placement_of_boxes(
    image: tuple[int, int], canvas: tuple[int, int], shares: list[float]
) -> None:
    box = Letterbox.of(image, canvas)
    (x1, x2), (y1, y2) = sorted(shares[:2]), sorted(shares[2:])
    edges = np.array([[x1, y1, x2, y2]])
    put = edges * np.tile(box.inner[::-1], 2) + np.tile(box.corner[::-1], 2)
    assert box.to_image(put) == pytest.approx(edges * np.tile(image[::-1], 2), abs=1e-9 * max(image))


def test_letterbox_to_image_clips_boxes_to_the_image() -> None:
    box = Letterbox.of((360, 640), (640, 640))
    assert box.to_image(np.array([[-5.0, 100.0, 700.0, 630.0]])).tolist() == [[0, 0, 640, 360]]


@pytest.mark.parametrize("image", [(360, 640), (90, 160), (720, 1280), (501, 333), (37, 640)])
@pytest.mark.parametrize("canvas", [(640, 640), (384, 640), (320, 320)])
def test_letterbox_fill_places_a_rectangle_where_to_image_expects_it(
    image: tuple[int, int], canvas: tuple[int, int]
) -> None:
    pixels = np.zeros((*image, 3), dtype=np.uint8)
    x1, y1, x2, y2 = image[1] // 4, image[0] // 4, image[1] // 4 * 3, image[0] // 4 * 3
    pixels[y1:y2, x1:x2] = (255, 0, 0)
    box = Letterbox.of(image, canvas)
    filled = box.fill(pixels)
    assert (filled.shape, filled.dtype) == ((3, *canvas), np.float32)
    red = (filled[0] > 0.5) & (filled[1] < 0.25)
    ys, xs = np.flatnonzero(red.any(axis=1)), np.flatnonzero(red.any(axis=0))
    seen = box.to_image(np.array([[xs[0], ys[0], xs[-1] + 1, ys[-1] + 1]]))[0]
    # An edge inside an input pixel may be off by up to half of that pixel.
    half = 0.5 * max(image[0] / box.inner[0], image[1] / box.inner[1])
    assert seen == pytest.approx([x1, y1, x2, y2], abs=half + 1e-9)
    if box.inner == image:
        assert seen.tolist() == [x1, y1, x2, y2]


def test_letterbox_fill_keeps_pixels_and_pads_with_gray() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (90, 160, 3), dtype=np.uint8)
    box = Letterbox.of((90, 160), (160, 160))
    filled = box.fill(pixels)
    assert (filled[:, 35:125] == pixels.transpose(2, 0, 1) / np.float32(255)).all()
    for padding in (filled[:, :35], filled[:, 125:]):
        assert (padding == np.float32(GRAY) / np.float32(255)).all()


@example((77, 497), 416)
@given(sizes, st.integers(1, 40).map(lambda n: 32 * n))
def test_smallest_canvas_contains_the_image_with_less_than_one_extra_stride(image: tuple[int, int], size: int) -> None:
    canvas = smallest_canvas(image, (size, size), 32)
    fitted = Letterbox.of(image, (size, size)).inner
    for side, inner in zip(canvas, fitted, strict=True):
        assert side % 32 == 0
        assert inner <= side <= inner + 32
    assert Letterbox.of(image, canvas).inner == fitted

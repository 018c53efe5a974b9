"""Test color masks against plain loops."""

from __future__ import annotations

import colorsys

import numpy as np
from hypothesis import given, strategies as st

from spotball_gen.imaging.color.players import closed, of_colors, of_hue, opened, parts

PARTS = st.integers(0, 255)
COLORS = st.tuples(PARTS, PARTS, PARTS)


@given(st.integers(0, 2**32 - 1), st.lists(COLORS, max_size=3), st.integers(0, 255))
def test_of_colors_compares_the_largest_channel_difference_with_the_limit(
    seed: int, colors: list[tuple[int, int, int]], near: int
) -> None:
    image = np.random.default_rng(seed).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    found = of_colors(image, colors, near)
    for y, x in np.ndindex(5, 7):
        pixel = [int(part) for part in image[y, x]]
        far = [max(abs(a - b) for a, b in zip(pixel, color, strict=True)) for color in colors]
        assert found[y, x] == any(distance <= near for distance in far)


@given(st.integers(0, 2**32 - 1), COLORS)
def test_of_hue_uses_circular_hue_distance(seed: int, color: tuple[int, int, int]) -> None:
    hue, saturation, value = colorsys.rgb_to_hsv(*(part / 255 for part in color))
    image = np.random.default_rng(seed).integers(0, 256, (4, 6, 3), dtype=np.uint8)
    found = of_hue(image, color, 20, 0.5, 0.5)
    for y, x in np.ndindex(4, 6):
        other = colorsys.rgb_to_hsv(*(part / 255 for part in image[y, x].tolist()))
        away = abs((other[0] - hue + 0.5) % 1 - 0.5) * 256
        margins = away - 20, other[1] - 0.5 * saturation, other[2] - 0.5 * value
        # Skip pixels for which rounding to 256 steps decides.
        if abs(margins[0]) > 2 and min(abs(margin) for margin in margins[1:]) > 0.01 and saturation and other[1]:
            assert found[y, x] == (margins[0] <= 0 and margins[1] >= 0 and margins[2] >= 0)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 3, 5]))
def test_opened_only_removes_pixels_from_a_mask_and_closed_only_adds_pixels(seed: int, width: int) -> None:
    mask = np.random.default_rng(seed).random((12, 14)) < 0.6
    assert not (opened(mask, width) & ~mask).any()
    assert not (mask & ~closed(mask, width)).any()
    assert (opened(opened(mask, width), width) == opened(mask, width)).all()


@given(st.integers(0, 2**32 - 1))
def test_parts_returns_four_connected_components_with_their_boxes_and_areas(seed: int) -> None:
    mask = np.random.default_rng(seed).random((9, 11)) < 0.5
    labels, measured = parts(mask)
    assert ((labels > 0) == mask).all()
    for of_labels, of_mask in ((labels, mask), (labels.T, mask.T)):
        assert not ((of_labels[:-1] != of_labels[1:]) & of_mask[:-1] & of_mask[1:]).any()
    for number in range(1, len(measured)):
        rows, cols = np.nonzero(labels == number)
        x, y, width, height, area = measured[number].tolist()
        assert (x, y, area) == (cols.min(), rows.min(), len(rows))
        assert (width, height) == (np.ptp(cols) + 1, np.ptp(rows) + 1)

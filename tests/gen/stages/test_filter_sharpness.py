"""Test sharpness, contrast and motion against plain computations and on images with known content."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from pydantic import ValidationError

from spotball_gen.demo.match import Shot
from spotball_gen.demo.video import write_match
from spotball_gen.items.item import Item
from spotball_gen.stages.filter_sharpness import Sharpness, SharpnessSettings, contrast, motion, sharpness
from tests.gen.making import context_of, item_of
from tests.gen.videos import source_of


def noise(seed: int, *shape: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (*shape, 3), dtype=np.uint8)


def plain_sharpness(gray: NDArray[np.float64]) -> float:
    """Return the sharpness, computed from windows. Borders are mirrored without the outermost pixel, as in OpenCV."""

    def windows(picture: NDArray[np.float64], by: int) -> NDArray[np.float64]:
        return sliding_window_view(np.pad(picture, by, mode="reflect"), (2 * by + 1, 2 * by + 1))

    def slope(picture: NDArray[np.float64]) -> NDArray[np.float64]:
        around = windows(picture, 1)
        return np.abs((around[..., 2] - around[..., 0]) @ [1, 2, 1])

    kept = []
    for picture in (gray, gray.T):
        there, after = slope(picture), slope(windows(picture, 5)[:, :, 5].mean(axis=-1))
        kept.append(np.maximum(there - after, 0).sum() / there.sum())
    return float(min(kept))


@pytest.mark.parametrize("seed", range(3))
def test_sharpness_and_contrast_equal_a_plain_computation(seed: int) -> None:
    image = cv2.GaussianBlur(noise(seed, 17, 23), (0, 0), 0.5 + seed)
    gray = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    assert sharpness(image) == pytest.approx(plain_sharpness(gray.astype(float)), rel=1e-4)
    assert contrast(image) == pytest.approx(np.std(gray.astype(float)), rel=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.integers(2, 30), st.floats(0.6, 6))
def test_sharpness_and_contrast_are_in_range_and_blur_does_not_raise_contrast(
    seed: int, height: int, width: int, by: float
) -> None:
    image = noise(seed, height, width)
    assert 0 <= sharpness(image) <= 1
    assert 0 <= contrast(image) <= 127.5
    # The image is tiled so that it is large compared with the blur, and borders matter little.
    large = np.tile(image, (40 // height + 1, 40 // width + 1, 1))
    assert contrast(cv2.GaussianBlur(large, (0, 0), by)) <= contrast(large)


SHARP = np.kron(noise(5, 30, 40), np.ones((6, 6, 1), dtype=np.uint8))


@pytest.mark.parametrize("window", [(15, 1), (1, 15), (9, 9)])
def test_motion_blur_in_either_direction_lowers_sharpness(window: tuple[int, int]) -> None:
    assert sharpness(SHARP) > 0.7
    assert sharpness(cv2.blur(SHARP, window)) < 0.6 * sharpness(SHARP)


@pytest.mark.parametrize("value", [0, 90, 255])
def test_image_of_one_color_has_zero_sharpness_and_contrast(value: int) -> None:
    image = np.full((20, 30, 3), value, dtype=np.uint8)
    assert sharpness(image) == contrast(image) == 0


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a video with 10 frames of a title followed by play."""
    path = tmp_path_factory.mktemp("videos") / "match.avi"
    write_match(path, "synthetic-soccer", (Shot("title", 1, 0), Shot("play", 2, 4)), width=320, height=180, rate=10)
    return path


def test_motion_is_the_fraction_of_pixels_that_change(tmp_path: Path) -> None:
    path = tmp_path / "square.avi"
    writer = cv2.VideoWriter(str(path), cv2.CAP_OPENCV_MJPEG, cv2.VideoWriter.fourcc(*"MJPG"), 20, (160, 96))
    for frame in range(8):
        pixels = np.full((96, 160, 3), 60, dtype=np.uint8)
        # A tenth of a second is 2 frames at 20 frames per second, in which the square leaves 16 columns and enters 16.
        pixels[32:64, 8 * frame : 8 * frame + 40] = 220
        writer.write(pixels)
    writer.release()
    exact = 2 * 16 * 32 / (160 * 96)
    for number in (0, 1, 2, 7):
        # The first two frames have no frame a tenth of a second earlier, so they are compared with a later one.
        assert motion(str(path), number / 20) == pytest.approx(exact, abs=0.004)


def test_motion_is_zero_in_a_title_and_positive_in_play(video: Path) -> None:
    assert motion(str(video), 0) == motion(str(video), 0.8) == 0
    assert min(motion(str(video), number / 10) for number in (12, 17, 22, 29)) > 0.01


def item_at(video: Path, work: Path, number: int, pixels: NDArray[np.uint8]) -> Item:
    item = item_of(pixels, work, f"match-{number:09d}")
    return replace(item, time=number / 10, source=source_of(video))


def test_blurred_flat_and_still_items_are_rejected_with_their_reason(video: Path, tmp_path: Path) -> None:
    smooth = cv2.GaussianBlur(np.kron(noise(5, 5, 7), np.ones((36, 36, 1), dtype=np.uint8)), (0, 0), 8)
    flat = np.full((180, 240, 3), 30, dtype=np.uint8)
    frames = ((15, SHARP), (16, smooth), (17, flat), (5, SHARP), (900, SHARP))
    items = [item_at(video, tmp_path, number, pixels) for number, pixels in frames]
    outcome = Sharpness(SharpnessSettings(min_motion=0.01), context_of(tmp_path)).process(items)
    assert [item.id for item in outcome.items] == ["match-000000015"]
    assert set(outcome.items[0].scores) == {"sharpness", "contrast", "motion"}
    blurred, dull, still = outcome.rejects
    assert (blurred.item, blurred.stage, blurred.reason) == ("match-000000016", "filter", "blurred")
    assert (dull.item, dull.stage, dull.reason) == ("match-000000017", "filter", "no contrast")
    assert (still.item, still.stage, still.reason) == ("match-000000005", "filter", "nothing moves")
    assert still.detail == "motion 0, expected at least 0.01"
    (failure,) = outcome.failures
    assert failure.item == "match-000000900"
    assert "cannot be decoded" in failure.error


def test_video_is_needed_only_if_min_motion_is_set(tmp_path: Path) -> None:
    item = item_at(tmp_path / "gone.avi", tmp_path, 5, SHARP)
    (kept,) = Sharpness(SharpnessSettings(), context_of(tmp_path)).process([item]).items
    assert set(kept.scores) == {"sharpness", "contrast"}
    moving = Sharpness(SharpnessSettings(min_motion=0.01), context_of(tmp_path)).process([item])
    assert len(moving.failures) == 1


@pytest.mark.parametrize("wrong", [{"min_sharpness": 2}, {"min_contrast": -1}, {"threshold": 0.5}])
def test_sharpness_settings_with_invalid_values_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        SharpnessSettings.model_validate(wrong)

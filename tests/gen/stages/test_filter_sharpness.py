"""Sharpness, contrast and motion: against plain loops, and in pictures where it is known what there is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from pydantic import ValidationError

from spotball_gen.demo.match import Shot
from spotball_gen.demo.video import write_match
from spotball_gen.imaging.sharpness import contrast, motion, sharpness
from spotball_gen.items.item import Item, VideoSource
from spotball_gen.stages.filter_sharpness import Sharpness, SharpnessSettings
from tests.gen.making import context_of, item_of


def noise(seed: int, *shape: int) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, (*shape, 3), dtype=np.uint8)


def plain_sharpness(gray: NDArray[np.float64]) -> float:
    """The measure, pixel by pixel; borders are mirrored without their outermost pixel, as OpenCV's are."""

    def padded(picture: NDArray[np.float64], by: int) -> NDArray[np.float64]:
        return np.pad(picture, by, mode="reflect")

    def slope(picture: NDArray[np.float64]) -> NDArray[np.float64]:
        around, found = padded(picture, 1), np.zeros_like(picture)
        for y in range(picture.shape[0]):
            for x in range(picture.shape[1]):
                window = around[y : y + 3, x : x + 3]
                found[y, x] = abs(float((window[:, 2] - window[:, 0]) @ [1, 2, 1]))
        return found

    def blurred(picture: NDArray[np.float64]) -> NDArray[np.float64]:
        around, found = padded(picture, 5), np.zeros_like(picture)
        for y in range(picture.shape[0]):
            for x in range(picture.shape[1]):
                found[y, x] = around[y + 5, x : x + 11].mean()
        return found

    kept = []
    for picture in (gray, gray.T):
        there, after = slope(picture), slope(blurred(picture))
        kept.append(np.maximum(there - after, 0).sum() / there.sum())
    return float(min(kept))


@pytest.mark.parametrize("seed", range(3))
def test_sharpness_is_what_plain_loops_find(seed: int) -> None:
    image = cv2.GaussianBlur(noise(seed, 17, 23), (0, 0), 0.5 + seed)
    gray = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    assert sharpness(image) == pytest.approx(plain_sharpness(gray.astype(float)), rel=1e-4)
    assert contrast(image) == pytest.approx(np.std(gray.astype(float)), rel=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.integers(2, 30), st.floats(0.6, 6))
def test_a_blur_takes_sharpness_and_contrast(seed: int, height: int, width: int, by: float) -> None:
    image = noise(seed, height, width)
    assert 0 <= sharpness(image) <= 1
    assert 0 <= contrast(image) <= 127.5
    # So large that a blur of a part of it is one of the whole.
    large = np.tile(image, (40 // height + 1, 40 // width + 1, 1))
    assert contrast(cv2.GaussianBlur(large, (0, 0), by)) <= contrast(large)


@pytest.mark.parametrize("window", [(15, 1), (1, 15), (9, 9)])
def test_a_panning_camera_shows_in_either_direction(window: tuple[int, int]) -> None:
    image = np.kron(noise(3, 30, 40), np.ones((6, 6, 1), dtype=np.uint8))
    assert sharpness(image) > 0.7
    assert sharpness(cv2.blur(image, window)) < 0.6 * sharpness(image)


@pytest.mark.parametrize("value", [0, 90, 255])
def test_one_color_is_neither_sharp_nor_of_contrast(value: int) -> None:
    image = np.full((20, 30, 3), value, dtype=np.uint8)
    assert sharpness(image) == contrast(image) == 0


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A title for 10 frames, then play."""
    path = tmp_path_factory.mktemp("videos") / "match.avi"
    write_match(path, "synthetic-soccer", (Shot("title", 1, 0), Shot("play", 2, 4)), width=320, height=180, rate=10)
    return path


def test_motion_is_the_share_of_pixels_that_change(tmp_path: Path) -> None:
    path = tmp_path / "square.avi"
    writer = cv2.VideoWriter(str(path), cv2.CAP_OPENCV_MJPEG, cv2.VideoWriter.fourcc(*"MJPG"), 20, (160, 96))
    for frame in range(8):
        pixels = np.full((96, 160, 3), 60, dtype=np.uint8)
        # Two of the 20 frames of a second are a tenth of it: 16 of 160 columns go, and 16 come.
        pixels[32:64, 8 * frame : 8 * frame + 40] = 220
        writer.write(pixels)
    writer.release()
    exact = 2 * 16 * 32 / (160 * 96)
    for number in (0, 1, 2, 7):
        # Before the third frame there is none a tenth earlier; 7 - 2 moves as 0 - 2 does.
        assert motion(str(path), number / 20) == pytest.approx(exact, abs=0.004)


def test_a_title_does_not_move_and_a_match_does(video: Path) -> None:
    assert motion(str(video), 0) == motion(str(video), 0.8) == 0
    assert min(motion(str(video), number / 10) for number in (12, 17, 22, 29)) > 0.01


def item_at(video: Path, work: Path, number: int, pixels: NDArray[np.uint8]) -> Item:
    item = item_of(pixels, work, f"match-{number:09d}")
    return replace(item, time=number / 10, source=VideoSource("match", str(video), "soccer", "", video.name, ""))


def test_each_is_rejected_for_what_it_lacks(video: Path, tmp_path: Path) -> None:
    sharp = np.kron(noise(5, 30, 40), np.ones((6, 6, 1), dtype=np.uint8))
    smooth = cv2.GaussianBlur(np.kron(noise(5, 5, 7), np.ones((36, 36, 1), dtype=np.uint8)), (0, 0), 8)
    flat = np.full((180, 240, 3), 30, dtype=np.uint8)
    items = [
        item_at(video, tmp_path, 15, sharp),
        item_at(video, tmp_path, 16, smooth),
        item_at(video, tmp_path, 17, flat),
        item_at(video, tmp_path, 5, sharp),
        item_at(video, tmp_path, 900, sharp),
    ]
    outcome = Sharpness(SharpnessSettings(min_motion=0.01), context_of(tmp_path)).process(items)
    assert [item.id for item in outcome.items] == ["match-000000015"]
    assert set(outcome.items[0].scores) == {"sharpness", "contrast", "motion"}
    told = {reject.item: (reject.stage, reject.reason) for reject in outcome.rejects}
    assert told == {
        "match-000000016": ("filter", "blurred"),
        "match-000000017": ("filter", "no contrast"),
        "match-000000005": ("filter", "nothing moves"),
    }
    (still,) = (reject for reject in outcome.rejects if reject.reason == "nothing moves")
    assert still.detail == "motion 0, expected at least 0.01"
    assert [(failure.item, "cannot be decoded" in failure.error) for failure in outcome.failures] == [
        ("match-000000900", True)
    ]


def test_without_a_bound_for_motion_the_video_may_be_gone(tmp_path: Path) -> None:
    item = item_at(tmp_path / "gone.avi", tmp_path, 5, np.kron(noise(5, 30, 40), np.ones((6, 6, 1), dtype=np.uint8)))
    (kept,) = Sharpness(SharpnessSettings(), context_of(tmp_path)).process([item]).items
    assert set(kept.scores) == {"sharpness", "contrast"}
    moving = Sharpness(SharpnessSettings(min_motion=0.01), context_of(tmp_path)).process([item])
    assert len(moving.failures) == 1


@pytest.mark.parametrize("wrong", [{"min_sharpness": 2}, {"min_contrast": -1}, {"threshold": 0.5}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        SharpnessSettings.model_validate(wrong)

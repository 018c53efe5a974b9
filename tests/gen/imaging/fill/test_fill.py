"""Test filling a hole from similar patches and neighboring frames, with matching compression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from spotball_gen.imaging.fill.alignment import Keypoints, corners, homography, is_still, tracked
from spotball_gen.imaging.fill.background import background
from spotball_gen.imaging.fill.hole import FillSettings, filled
from spotball_gen.imaging.fill.patches import (
    blend_weights,
    fill_from_patches,
    jpeg_quality,
    membrane,
    recompressed,
    whole_blocks,
)
from spotball_gen.imaging.masks import MaskParts
from spotball_gen.items.item import Box

HEIGHT, WIDTH = 180, 320
BALL = Box(150, 80, 170, 100)
Pixels = NDArray[np.uint8]
Bools = NDArray[np.bool_]


def stands(seed: int = 0, width: int = WIDTH) -> Pixels:
    """Return an image of random colored disks (like spectators), in which no two places look the same."""
    rng = np.random.default_rng(seed)
    image = np.full((HEIGHT, width, 3), 60, dtype=np.uint8)
    for _ in range(12 * width):
        center = int(rng.integers(width)), int(rng.integers(HEIGHT))
        cv2.circle(image, center, int(rng.integers(2, 6)), rng.integers(20, 235, 3).tolist(), -1, cv2.LINE_AA)
    return cv2.GaussianBlur(image, (0, 0), 0.7)


CLEAN = stands()


def noisy(image: Pixels, seed: int, strength: float = 2.0) -> Pixels:
    return np.clip(image + np.random.default_rng(seed).normal(0, strength, image.shape), 0, 255).astype(np.uint8)


def with_ball(image: Pixels, box: Box = BALL) -> Pixels:
    x, y = box.center
    return cv2.circle(image.copy(), (round(x), round(y)), round(box.width / 2), (250, 240, 40), -1, cv2.LINE_AA)


def disk(box: Box, more: float = 0.0) -> Bools:
    y, x = np.mgrid[:HEIGHT, :WIDTH] + 0.5
    return np.asarray(np.hypot(x - box.center[0], y - box.center[1]) <= box.width / 2 + more)


NOTHING = np.zeros((HEIGHT, WIDTH), dtype=np.bool_)
EMPTY = np.full((HEIGHT, WIDTH, 3), 90, dtype=np.uint8)
PARTS = MaskParts(disk(BALL, 1), disk(BALL, 5))
FRAME = with_ball(noisy(CLEAN, 9))


class TestPatches:
    def test_fill_from_patches_restores_a_repeated_pattern(self) -> None:
        image = np.tile(CLEAN[:24, :24], (8, 14, 1))[:HEIGHT, :WIDTH]
        result = fill_from_patches(with_ball(image), disk(BALL, 3), NOTHING)
        assert result.filled.sum() == disk(BALL, 3).sum()
        assert (result.image.round() == image).all()

    def test_fill_from_patches_does_not_copy_players(self) -> None:
        grass = noisy(np.full((HEIGHT, WIDTH, 3), (60, 120, 50), np.uint8), 0, 6)
        image, player = grass.copy(), NOTHING.copy()
        player[20:150, 190:230] = True
        image[player] = (200, 30, 30)
        hole = disk(Box(170, 80, 186, 96))
        result = fill_from_patches(image, hole, player).image.round()
        assert result[hole][:, 0].max() < 120
        assert (result[~hole] == image[~hole]).all()

    def test_fill_from_patches_keeps_the_noise_level(self) -> None:
        image = noisy(np.full((HEIGHT, WIDTH, 3), 110, np.uint8), 0, 7)
        result = fill_from_patches(with_ball(image), disk(BALL, 1), NOTHING).image.round()
        assert 0.8 * 7 < result[disk(BALL, -2)].astype(float).std() < 1.2 * 7

    def test_fill_from_patches_leaves_a_hole_as_large_as_the_image_unfilled(self) -> None:
        assert not fill_from_patches(CLEAN, ~NOTHING, NOTHING).filled.any()

    def test_fill_from_patches_continues_a_brightness_gradient(self) -> None:
        gradient = np.linspace(80, 140, WIDTH)[None, :, None] * np.ones((HEIGHT, 1, 3))
        image, hole = noisy(gradient.astype(np.uint8), 0, 1), disk(BALL, 3)
        result = fill_from_patches(with_ball(image), hole, NOTHING).image.round()
        assert np.abs(result[hole].astype(int) - image[hole]).mean() < 3

    def test_membrane_continues_a_linear_difference_linearly_inside_the_hole(self) -> None:
        """Check that a linear difference around a hole is continued linearly."""
        y, x = np.mgrid[:40, :40].astype(np.float32)
        plane = np.dstack([0.3 * x, 0.2 * y, 0.1 * (x + y)]).astype(np.float32)
        inside = np.zeros((40, 40), dtype=np.bool_)
        inside[12:28, 12:28] = True
        correction = membrane(plane, ~inside, inside)
        assert np.abs(correction - plane)[inside].max() < 0.6
        assert not correction[~inside].any()

    def test_blend_weights_decrease_from_the_core_outward(self) -> None:
        weights = blend_weights(disk(BALL), disk(BALL, 6))
        assert (weights[disk(BALL)] == 1).all()
        assert not weights[~disk(BALL, 6)].any()
        assert (np.diff(weights[90, 171:176]) < 0).all()


class TestCompression:
    @pytest.mark.parametrize("quality", [55, 78, 90])
    def test_jpeg_quality_of_a_compressed_image_is_estimated(self, quality: int) -> None:
        image = recompressed(noisy(CLEAN, 0, 4), quality)
        assert jpeg_quality(image, NOTHING) == pytest.approx(quality, abs=2)

    @pytest.mark.parametrize("strength", [0, 0.2, 0.4, 2])
    def test_jpeg_quality_of_an_uncompressed_image_is_none(self, strength: float) -> None:
        image = slope() + np.random.default_rng(0).normal(0, strength, (HEIGHT, WIDTH, 3))
        assert jpeg_quality(image.round().astype(np.uint8), disk(BALL)) is None

    def test_jpeg_quality_of_a_resized_image_is_none(self) -> None:
        image = recompressed(noisy(CLEAN, 0, 4), 60)
        smaller = cv2.resize(image, None, fx=0.7, fy=0.7, interpolation=cv2.INTER_AREA)
        assert jpeg_quality(smaller, np.zeros(smaller.shape[:2], dtype=np.bool_)) is None

    def test_filled_matches_the_compression_of_the_frame(self) -> None:
        """Check that filled blocks hardly change if the result is compressed again."""
        frame = recompressed(with_ball(noisy(np.full((HEIGHT, WIDTH, 3), 110, np.uint8), 0, 8)), 70)
        matched, unmatched = (
            filled(frame, BALL, PARTS, NOTHING, (), FillSettings(compression=wanted)) for wanted in (True, False)
        )
        assert matched.quality == 70
        assert matched.mask[whole_blocks(disk(BALL, 1))].all()
        assert unmatched.quality is None
        inner = cv2.erode(matched.mask.astype(np.uint8), np.ones((9, 9))) > 0

        def change(image: Pixels) -> float:
            return float(np.abs(recompressed(image, 70).astype(int) - image)[inner].mean())

        assert change(matched.image) < 0.5 * change(unmatched.image)
        assert (matched.image[~matched.mask] == frame[~matched.mask]).all()


class TestNeighbors:
    def fill(self, frame: Pixels, neighbors: list[Pixels], clean: Pixels = CLEAN) -> tuple[float, float]:
        """Return mean error and mean confidence, inside the ball, of the background from neighboring frames."""
        seen = background(frame, disk(BALL, 4), BALL, NOTHING, neighbors)
        assert seen is not None
        inside = disk(BALL)[seen.window]
        error = np.abs(seen.pixels.round() - clean[seen.window])[inside]
        return float(error.mean()), float(seen.confidence[inside].mean())

    def test_background_behind_a_moving_ball_is_restored_and_behind_a_still_one_is_not(self) -> None:
        boxes = [Box(150 + move, 80, 170 + move, 100) for move in (-60, -40, -25, 25, 40, 60)]
        neighbors = [with_ball(noisy(CLEAN, seed), box) for seed, box in enumerate(boxes)]
        error, sure = self.fill(FRAME, neighbors)
        assert sure > 0.9
        assert error < 3
        _, sure = self.fill(FRAME, [with_ball(noisy(CLEAN, seed)) for seed in range(8)])
        assert sure == 0

    def test_background_aligns_a_panning_camera(self) -> None:
        world = stands(width=WIDTH + 80)
        clean = world[:, 40 : 40 + WIDTH]
        neighbors = []
        for seed, move in enumerate((-30.4, -20.3, -10.6, 9.7, 20.5, 31.2)):
            matrix = np.array([[1, 0, -40 - move], [0, 1, 0]], dtype=np.float32)
            neighbors.append(noisy(cv2.warpAffine(world, matrix, (WIDTH, HEIGHT), flags=cv2.INTER_CUBIC), seed))
        assert not is_still(neighbors[0], clean, ~NOTHING)
        error, sure = self.fill(with_ball(clean), neighbors, clean)
        assert sure > 0.8
        assert error < 8

    def test_background_aligns_near_objects_with_parallax(self) -> None:
        """Check a pan that moves a near fence by more pixels than the stands, which have most features."""
        far = np.vstack([stands(seed, width=WIDTH + 160) for seed in range(3)])
        fence = stands(5, width=WIDTH + 160)[35:145]
        strip = slice(HEIGHT + 35, HEIGHT + 145)

        def seen_at(move: float) -> Pixels:
            image, near = (
                cv2.warpAffine(world, np.float32([[1, 0, -80 - of], [0, 1, 0]]), (WIDTH, len(world)))
                for world, of in ((far, move), (fence, 1.5 * move))
            )
            image[strip] = near
            return image

        clean = seen_at(0)
        hole = np.pad(disk(BALL, 4), ((HEIGHT, HEIGHT), (0, 0)))
        ball = Box(BALL.x1, BALL.y1 + HEIGHT, BALL.x2, BALL.y2 + HEIGHT)
        neighbors = [noisy(seen_at(move), seed) for seed, move in enumerate((-25.4, -18.3, -10.6, 11.7, 17.5, 26.2))]
        seen = background(with_ball(clean, ball), hole, ball, np.zeros_like(hole), neighbors)
        assert seen is not None
        inside = hole[seen.window]
        assert seen.confidence[inside].mean() > 0.7
        assert np.abs(seen.pixels - clean[seen.window])[inside].mean() < 8

    def test_background_corrects_different_exposure(self) -> None:
        error, sure = self.fill(with_ball(CLEAN), [noisy((CLEAN * 0.85).astype(np.uint8), seed) for seed in range(5)])
        assert sure > 0.9
        assert error < 5

    def test_background_ignores_a_passing_player(self) -> None:
        neighbors = [noisy(CLEAN, seed) for seed in range(7)]
        for number, pixels in enumerate(neighbors[:2]):
            pixels[60:120, 140 + 5 * number : 180] = (20, 20, 200)
        error, sure = self.fill(FRAME, neighbors)
        assert error < 4
        assert sure > 0.5

    def test_background_next_to_a_moved_object_has_low_confidence(self) -> None:
        """Check a player next to the ball who may also be behind it, so that confidence is low."""
        frame = noisy(CLEAN, 9)
        frame[60:140, 138:165] = (200, 40, 40)
        seen = background(with_ball(frame), disk(BALL, 4), BALL, NOTHING, [noisy(CLEAN, seed) for seed in range(6)])
        assert seen is not None
        confidence = np.zeros((HEIGHT, WIDTH))
        confidence[seen.window] = seen.confidence
        assert confidence[82:98, 152:160].max() < 0.3

    def test_background_and_homography_from_images_of_other_scenes_are_none(self) -> None:
        others = [noisy(stands(seed), seed) for seed in range(1, 7)]
        assert background(with_ball(CLEAN), disk(BALL, 4), BALL, NOTHING, others) is None
        assert homography(Keypoints.of(stands(1)), Keypoints.of(stands(2))) is None
        assert homography(Keypoints.of(EMPTY), Keypoints.of(CLEAN)) is None

    def test_background_has_no_hard_edge_between_parts_from_two_neighboring_frames(self) -> None:
        """Check smooth neighboring frames that agree only at single pixels."""
        clean = grid_of_lines(np.full((HEIGHT, WIDTH, 3), 110, np.float32))
        rng = np.random.default_rng(3)
        waves = [cv2.GaussianBlur(rng.normal(0, 1, (HEIGHT, WIDTH)), (0, 0), 4)[..., None] for _ in range(6)]
        neighbors = [(clean + 9 * wave / wave.std()).astype(np.uint8) for wave in waves]
        seen = background(with_ball(clean.astype(np.uint8)), disk(BALL, 4), BALL, NOTHING, neighbors)
        assert seen is not None
        around = disk(BALL, 2)[seen.window]
        bends = [
            np.abs(cv2.Laplacian(difference, cv2.CV_32F))[around].max()
            for difference in (seen.pixels - clean[seen.window], *((one - clean)[seen.window] for one in neighbors))
        ]
        assert bends[0] < 2 * max(bends[1:])

    @pytest.mark.parametrize(("down", "across"), [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1), (2, 2)])
    def test_is_still_is_true_only_for_an_unshifted_image(self, down: int, across: int) -> None:
        shifted = np.roll(CLEAN, (down, across), axis=(0, 1))
        assert is_still(noisy(shifted, 1), noisy(CLEAN, 2), ~NOTHING) == ((down, across) == (0, 0))

    def test_tracked_in_another_scene_returns_none_and_corners_avoid_excluded_pixels(self) -> None:
        window = slice(60, 120), slice(130, 190)
        points = corners(stands(1), window, NOTHING)
        assert len(points) > 20
        for scene in (stands(2), EMPTY):
            assert tracked(scene, stands(1), points, None) is None
        excluded = ~NOTHING
        assert corners(stands(1), window, excluded).shape == (0, 1, 2)
        excluded[90:] = False
        assert corners(stands(1), window, excluded)[..., 1].min() >= 90


def slope() -> NDArray[np.float32]:
    """Return a smooth image with values that are not integers."""
    y, x = np.mgrid[:HEIGHT, :WIDTH].astype(np.float32)
    return np.dstack([90 + 0.11 * x + 0.07 * y, 100 + 0.05 * x + 0.13 * y, 80 + 0.09 * x - 0.06 * y])


def grid_of_lines(image: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the image with bright lines, so that a shift is visible."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    return image + np.where((x % 40 < 3) | (y % 36 < 3), np.float32(40), np.float32(0))[..., None]


class TestRounding:
    """Test that values are rounded only once, which restores most pixels of a smooth image exactly."""

    def right(
        self, clean: NDArray[np.float32], *, exact: NDArray[np.float32] | None = None, neighbors: Sequence[Any] = ()
    ) -> float:
        """Return the share of filled pixels that equal the rounded image without the ball."""
        frame = with_ball(clean.round().astype(np.uint8))
        result = filled(frame, BALL, PARTS, NOTHING, neighbors, FillSettings(compression=False), exact)
        return float((result.image == clean.round())[result.mask].mean())

    def test_filled_from_exact_neighbors_restores_more_pixels_than_from_rounded_ones(self) -> None:
        clean = grid_of_lines(slope())
        others = [clean + shift for shift in (0.3, 0.4, -0.3, 0.35, 0.45)]
        assert self.right(clean, neighbors=others) > 0.9
        assert self.right(clean, neighbors=[pixels.round().astype(np.uint8) for pixels in others]) < 0.8

    def test_filled_uses_the_exact_image_if_it_matches_the_frame(self) -> None:
        clean = slope()
        frame = with_ball(clean.round().astype(np.uint8))
        exact = np.where(frame == clean.round(), clean, frame).astype(np.float32)
        rounded = self.right(clean)
        assert self.right(clean, exact=exact) > 0.88 > rounded
        # An image that differs by more than rounding is ignored.
        assert self.right(clean, exact=exact + 20) == rounded


def test_filled_uses_patches_if_neighbors_do_not_show_the_background() -> None:
    neighbors = [noisy(CLEAN, seed) for seed in range(6)]
    stays, moves = (
        filled(FRAME, BALL, PARTS, NOTHING, others, FillSettings())
        for others in ([with_ball(image) for image in neighbors], neighbors)
    )
    assert stays.notes()["patches"] > 0.5
    assert moves.notes() == {**moves.notes(), "temporal": 1.0, "patches": 0.0, "neighbors": 6, "jpeg_quality": None}
    for result in (stays, moves):
        assert (result.image[~result.mask] == FRAME[~result.mask]).all()
        yellow = np.abs(result.image[disk(BALL)].astype(int) - (250, 240, 40)).max(axis=1) < 30
        assert yellow.mean() < 0.1

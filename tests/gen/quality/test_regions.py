"""Test how much an inpainted region stands out: visible fills, unchanged places, and hand calculations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from spotball_gen.items.item import Box
from spotball_gen.stages.check_artifacts import FEATURES, changed_outside, judge
from tests.gen.quality.pictures import disk, filled, textured


def place(seed: int) -> list[float]:
    return np.random.default_rng([seed, 1]).uniform([30, 30], [290, 150]).tolist()


class TestFills:
    def test_judge_detects_telea_inpainting_on_noise(self) -> None:
        found = []
        for seed in range(12):
            image, mask = textured(seed), disk(*place(seed), 11)
            found.append(judge(filled(image, mask), mask, seed=seed))
        assert {one.untouched for one in found} == {200}
        assert max(one.features["noise"] for one in found) < -0.3
        assert min(one.percentile for one in found) > 0.95

    @pytest.mark.slow
    def test_judge_percentile_of_an_unchanged_region_is_uniformly_distributed(self) -> None:
        found = [judge(textured(seed), disk(*place(seed), 11), seed=seed, placements=100) for seed in range(60)]
        assert stats.kstest([one.percentile for one in found], "uniform").pvalue > 0.01

    def test_judge_detects_a_region_with_more_noise_than_its_surroundings(self) -> None:
        image, mask = textured(0, noise=2), disk(100, 90, 11)
        found = judge(np.where(mask[..., None] > 0, textured(1, noise=20), image), mask, seed=0)
        assert found.percentile == 1
        assert found.features["noise"] > 1

    def test_judge_detects_a_patch_of_another_color(self) -> None:
        image, mask = textured(0), disk(100, 90, 11)
        shifted = np.clip(image + np.array([60, -40, 0]), 0, 255).astype(np.uint8)
        found = judge(np.where(mask[..., None] > 0, shifted, image), mask, seed=0)
        assert found.percentile == 1
        assert found.features["color"] > 3
        assert found.features["seam"] > 0.2

    def test_judge_depends_only_on_the_seed(self) -> None:
        image, mask = textured(3), disk(60, 60, 9)
        assert judge(image, mask, seed=5) == judge(image, mask, seed=5) != judge(image, mask, seed=6)


class TestByHand:
    def test_judge_of_a_flat_color_patch_equals_a_hand_calculation(self) -> None:
        image = np.full((100, 160, 3), 100, np.uint8)
        mask = np.zeros((100, 160), np.uint8)
        mask[40:60, 40:60] = 255
        image[40:60, 40:60] = (130, 100, 60)
        found = judge(image, mask, seed=0)
        # Both sides are flat except at the edge, so the color distance is the length of (30, 0, -40), which is 50.
        assert found.features["color"] == pytest.approx(np.log(51))
        assert found.features["seam"] > 1
        assert found.percentile == 1

    def test_judge_of_a_flat_image_gives_percentile_one_half_and_zero_features(self) -> None:
        found = judge(np.full((100, 160, 3), 100, np.uint8), disk(50, 50, 8, 100, 160), seed=0)
        assert (found.percentile, found.distance) == (0.5, 0)
        assert dict(found.features) == dict.fromkeys(FEATURES, 0.0)

    def test_judge_ignores_players_around_the_region(self) -> None:
        image, mask, players = textured(0), disk(100, 90, 9), [Box(112, 40, 140, 140, label="player")]
        striped = image.copy()
        striped[40:140, 112:140:4] = 255
        plain, known, unknown = (
            judge(pixels, mask, of, seed=0).features["texture"]
            for pixels, of in ((image, players), (striped, players), (striped, []))
        )
        assert known == pytest.approx(plain, abs=0.05)
        assert unknown < plain - 0.5

    def test_judge_accepts_a_region_at_the_image_edge_but_returns_none_for_an_empty_or_full_mask(self) -> None:
        assert judge(textured(0), disk(2, 2, 9), seed=0) is not None
        assert all(judge(textured(0), np.full((180, 320), shade, np.uint8), seed=0) is None for shade in (0, 255))

    def test_changed_outside_counts_changed_pixels(self) -> None:
        image, mask = textured(0), disk(100, 90, 9)
        painted = filled(image, mask).copy()
        assert changed_outside(image, painted, mask) == 0
        painted[0, 0, 2] ^= 1
        painted[5, 5] = 255 - painted[5, 5]
        assert changed_outside(image, painted, mask) == 2

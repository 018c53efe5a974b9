"""How much a painted region stands out: fills that are seen, places that were left alone, hand-worked cases."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from spotball_gen.items.item import Box
from spotball_gen.quality.regions import FEATURES, changed_outside, judge
from tests.gen.quality.pictures import Pixels, disk, filled, textured


def place(seed: int) -> tuple[float, float]:
    x, y = np.random.default_rng([seed, 1]).uniform([30, 30], [290, 150])
    return float(x), float(y)


class TestFills:
    def test_telea_on_noise_is_told_from_untouched(self) -> None:
        scores = []
        for seed in range(12):
            image, mask = textured(seed), disk(*place(seed), 11)
            judged = judge(filled(image, mask), mask, seed=seed)
            assert judged is not None
            assert judged.untouched == 200
            scores.append(judged.percentile)
            assert judged.features["noise"] < -0.3
        assert min(scores) > 0.95

    def test_left_alone_a_region_is_one_of_many(self) -> None:
        scores = []
        for seed in range(60):
            judged = judge(textured(seed), disk(*place(seed), 11), seed=seed, placements=100)
            assert judged is not None
            scores.append(judged.percentile)
        assert stats.kstest(scores, "uniform").pvalue > 0.01

    def test_more_noise_than_around_stands_out_too(self) -> None:
        image, mask = textured(0, noise=2), disk(100, 90, 11)
        judged = judge(np.where(mask[..., None] > 0, textured(1, noise=20), image), mask, seed=0)
        assert judged is not None
        assert judged.percentile == 1
        assert judged.features["noise"] > 1

    def test_a_patch_of_another_color_stands_out(self) -> None:
        image, mask = textured(0), disk(100, 90, 11)
        shifted = np.clip(image + np.array([60, -40, 0]), 0, 255).astype(np.uint8)
        judged = judge(np.where(mask[..., None] > 0, shifted, image), mask, seed=0)
        assert judged is not None
        assert judged.percentile == 1
        assert judged.features["color"] > 3
        assert judged.features["seam"] > 0.2

    def test_the_same_whatever_the_order(self) -> None:
        image, mask = textured(3), disk(60, 60, 9)
        assert judge(image, mask, seed=5) == judge(image, mask, seed=5)
        assert judge(image, mask, seed=5) != judge(image, mask, seed=6)


class TestByHand:
    def test_flat_inside_a_step_of_color(self) -> None:
        image = np.full((100, 160, 3), 100, np.uint8)
        mask = np.zeros((100, 160), np.uint8)
        mask[40:60, 40:60] = 255
        image[40:60, 40:60] = (130, 100, 60)
        judged = judge(image, mask, seed=0)
        assert judged is not None
        # Flat on both sides but for the rim: the color's distance is that of (30, 0, -40), 50.
        assert judged.features["color"] == pytest.approx(np.log(51))
        assert judged.features["seam"] > 1
        assert judged.percentile == 1

    def test_flat_everywhere_is_in_the_middle(self) -> None:
        judged = judge(np.full((100, 160, 3), 100, np.uint8), disk(50, 50, 8, 100, 160), seed=0)
        assert judged is not None
        assert (judged.percentile, judged.distance) == (0.5, 0)
        assert dict(judged.features) == dict.fromkeys(FEATURES, 0.0)

    def test_players_around_do_not_count(self) -> None:
        image = textured(0)
        mask = disk(100, 90, 9)
        player = Box(112, 40, 140, 140, label="player")
        striped = image.copy()
        striped[40:140, 112:140:4] = 255
        plain, known, unknown = (
            judge(pixels, mask, of, seed=0) for pixels, of in ((image, [player]), (striped, [player]), (striped, []))
        )
        assert plain is not None
        assert known is not None
        assert unknown is not None
        assert known.features["texture"] == pytest.approx(plain.features["texture"], abs=0.05)
        assert unknown.features["texture"] < plain.features["texture"] - 0.5

    def test_at_the_edge_of_the_image(self) -> None:
        image, mask = textured(0), disk(2, 2, 9)
        assert judge(image, mask, seed=0) is not None

    @pytest.mark.parametrize("mask", [np.zeros((180, 320), np.uint8), np.full((180, 320), 255, np.uint8)])
    def test_nothing_to_compare(self, mask: Pixels) -> None:
        assert judge(textured(0), mask, seed=0) is None


def test_each_pixel_that_changed_outside_is_counted() -> None:
    image, mask = textured(0), disk(100, 90, 9)
    painted = filled(image, mask).copy()
    assert changed_outside(image, painted, mask) == 0
    painted[0, 0, 2] ^= 1
    painted[5, 5] = 255 - painted[5, 5]
    assert changed_outside(image, painted, mask) == 2

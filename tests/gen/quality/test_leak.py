"""Test that the leak test detects inpainting, and does not report unchanged images."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import stats

from spotball_core.errors import InputError
from spotball_core.grid import Grid
from spotball_core.io.scenes import write_scenes
from spotball_core.schema.scene import Scene
from spotball_gen.items.pictures import PictureFile
from spotball_gen.quality.cells import FEATURES, cell_features
from spotball_gen.quality.classifier import Discriminant, areas
from spotball_gen.quality.leak import InpaintedImages, against_decoys, exchanged, joint_p, leak_test
from spotball_gen.quality.leak_result import Leak, lines, verdict
from tests.cli.process import spotball
from tests.failures import raises
from tests.gen.quality.pictures import Pixels, disk, filled, textured

GRID = Grid(4, 8, 320, 180)


def dataset(
    folder: Path, make: Callable[[int], tuple[Pixels, dict[str, Any]]], videos: int, each: int, grid: Grid = GRID
) -> Path:
    """Write a dataset. `make` returns an image and the fields of its scene, given a seed."""
    scenes = []
    for video, second in itertools.product(range(videos), range(each)):
        image, fields = make(100 * video + second)
        name = f"v{video}-{second * 1000:09d}"
        path = f"images/soccer/{name}.png"
        PictureFile.write(folder / path, image)
        scenes.append(Scene.model_validate({"sport": "soccer", "image": name, "grid": grid, "path": path, **fields}))
    write_scenes(scenes, folder / "scenes.jsonl")
    return folder


def write(folder: Path, *, painted: bool, videos: int = 6, each: int = 5, grid: Grid = GRID) -> Path:
    """Write a dataset of textured pictures with balls at random positions."""

    def make(seed: int) -> tuple[Pixels, dict[str, Any]]:
        x, y = np.random.default_rng([seed, 2]).uniform([15, 15], [305, 165])
        image = textured(seed)
        return filled(image, disk(x, y, 12)) if painted else image, {"ball_box": (x - 12, y - 12, x + 12, y + 12)}

    return dataset(folder, make, videos, each, grid)


@pytest.fixture(scope="module")
def visible(tmp_path_factory: pytest.TempPathFactory) -> Leak:
    """Return the leak test of a dataset with visible inpainting."""
    return leak_test(write(tmp_path_factory.mktemp("visible"), painted=True), permutations=100)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> Leak:
    """Return the leak test of a dataset without inpainting."""
    return leak_test(write(tmp_path_factory.mktemp("unchanged"), painted=False), permutations=100)


class TestVerdict:
    def test_leak_test_fails_for_visible_inpainting(self, visible: Leak) -> None:
        leak = visible
        assert leak.leaks
        assert min(leak.accuracy.value, leak.auc.value, leak.decoys.accuracy.value) > 0.8
        assert leak.accuracy.p == leak.auc.p == leak.p == 1 / 101
        assert leak.auc.interval[0] > leak.auc.chance_range[1]
        assert (leak.images, leak.videos, leak.folds) == (30, 6, 5)
        assert next(iter(leak.weights)).startswith("smallest")
        assert leak.decoys.distinguished
        assert leak.decoys.accuracy.chance == pytest.approx(1 / 5, abs=0.05)
        assert leak.decoys.auc.chance == pytest.approx(0.5, abs=0.05)
        said, why = list(lines(leak)), "(p = 0.010 for accuracy and AUC together). The most informative features are "
        assert said[3].startswith(f"Cells that contained the ball can be distinguished from other cells {why}smallest")
        assert said[7].startswith(f"Inpainted cells can be distinguished from their decoys {why}")
        failed = "Leak test: failed. Inpainted cells can be recognized: among 5 similar cells, a classifier chooses"
        assert said[8].startswith(failed)

    def test_leak_test_passes_without_inpainting(self, unchanged: Leak) -> None:
        leak = unchanged
        assert not leak.leaks
        low, high = leak.auc.chance_range
        assert low <= leak.auc.value <= high
        assert leak.auc.chance == pytest.approx(0.5, abs=0.05)
        assert not leak.decoys.distinguished
        p, p_decoys = (f"(p = {p:.3f} for accuracy and AUC together)" for p in (leak.p, leak.decoys.p))
        assert [line for line in lines(leak) if "not distinguished" in line] == [
            f"Cells that contained the ball were not distinguished from other cells {p}.",
            f"Inpainted cells were not distinguished from their decoys {p_decoys}.",
        ]
        said = "Leak test: passed. Inpainted cells were not recognized: among 5 similar cells"
        assert list(lines(leak))[-1].startswith(said)

    def test_verdict_depends_on_decoys_only(self, visible: Leak, unchanged: Leak) -> None:
        # Cells of balls may differ from most cells if they do not differ from their decoys.
        odd_cells = replace(visible, decoys=unchanged.decoys)
        assert odd_cells.distinguished
        assert odd_cells.leaks is odd_cells.record()["leaks"] is False
        assert verdict(odd_cells.record()).startswith("Leak test: passed.")

    def test_leak_test_ignores_the_position_of_balls(self, tmp_path: Path) -> None:
        # All balls are in one cell that looks different in all images, but nothing was inpainted.
        def make(seed: int) -> tuple[Pixels, dict[str, Any]]:
            image = textured(seed).copy()
            image[:45, :40] = 90
            return image, {"ball_cells": ["A1"]}

        leak = leak_test(dataset(tmp_path, make, 4, 5), permutations=50)
        assert leak.accuracy.value == leak.accuracy.chance == 1
        assert not leak.distinguished

    @pytest.mark.slow
    @pytest.mark.parametrize("painted", [False, True])
    def test_leak_test_ignores_the_surroundings_of_balls(self, tmp_path: Path, painted: bool) -> None:
        # Balls are on a strip of rough ground among players, so their cells differ even without inpainting.
        def make(seed: int) -> tuple[Pixels, dict[str, Any]]:
            rng = np.random.default_rng([seed, 3])
            image = textured(seed + 5000)
            image[90:135] = textured(seed, noise=40)[90:135]  # the third of four rows of cells
            x, y = rng.uniform(25, 295), rng.uniform(100, 125)
            mask = disk(x, y, 12)
            name = f"v{seed // 100}-{seed % 100 * 1000:09d}"
            PictureFile.write(tmp_path / f"with_ball/soccer/{name}.png", np.where(mask[..., None] > 0, 255, image))
            players = [(edge, 92.0, edge + 30, 133.0) for edge in range(5, 300, 60)]
            fields = {"ball_box": (x - 12, y - 12, x + 12, y + 12), "players": players}
            return filled(image, mask) if painted else image, fields

        leak = leak_test(dataset(tmp_path, make, 6, 8), permutations=100)
        assert leak.auc.value > 0.8
        assert leak.decoys.images == 48
        assert leak.leaks is painted
        low, high = leak.decoys.auc.chance_range
        if painted:
            assert leak.decoys.auc.value > 0.8
        else:
            assert low - 0.02 <= leak.decoys.auc.value <= high + 0.02

    def test_leak_test_uses_at_most_the_given_number_of_images(self, tmp_path: Path) -> None:
        leak = leak_test(write(tmp_path, painted=False), permutations=20, most=12)
        assert leak.images == 12


def test_leak_test_of_one_video_several_grids_or_a_missing_image_is_an_error(tmp_path: Path) -> None:
    scenes = write(tmp_path, painted=True, videos=1) / "scenes.jsonl"
    with raises(InputError, "invalid-value:scenes"):
        leak_test(tmp_path)
    write(tmp_path, painted=True, videos=3, each=1, grid=Grid(6, 10, 320, 180))
    last = scenes.read_text().splitlines()[-1]
    write(tmp_path, painted=True, videos=2, each=2)
    scenes.write_text(f"{scenes.read_text()}{last}\n")
    with raises(InputError, "different-grids:grid"):
        leak_test(tmp_path)
    write(tmp_path, painted=True, videos=2, each=2)
    (tmp_path / "images/soccer/v1-000001000.png").unlink()
    with raises(InputError, "missing-file:image"):
        leak_test(tmp_path)


def test_leak_test_without_decoys_or_with_too_few_positions_has_no_verdict(tmp_path: Path) -> None:
    leak = leak_test(write(tmp_path / "small", painted=True, grid=Grid(2, 2, 320, 180)), permutations=20)
    assert leak.decoys is leak.leaks is leak.record()["leaks"] is None
    assert list(lines(leak))[-1].startswith("Leak test: no verdict, because there are too few images")
    # Here, each permutation keeps the balls in place, so that p is 1 even for visible fills.
    leak = leak_test(write(tmp_path / "few", painted=True, videos=2, each=1), permutations=50)
    assert leak.decoys is leak.leaks is None
    assert leak_test(write(tmp_path / "more", painted=True, videos=2, each=12), permutations=50).leaks


def test_gen_check_prints_text_and_json(tmp_path: Path) -> None:
    """Check also that the leak test is deterministic."""
    check = ("gen", "check", write(tmp_path, painted=True, videos=3, each=3), "--permutations", "20")
    text, told = spotball(*check), spotball(*check, "--format", "json")
    assert text.returncode == 0
    first = "9 images of 3 videos; 3 folds of cross-validation; 20 permutations of the balls' positions\naccuracy "
    assert text.stdout.startswith(first)
    record = leak_test(tmp_path, permutations=20).record()
    assert json.loads(told.stdout) == record
    json.dumps(record, allow_nan=False)


class TestClassifierAndFeatures:
    def test_discriminant_weights_equal_the_fisher_formula(self) -> None:
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 3))
        labels = rows[:, 0] + rng.normal(size=400) > 1
        found = Discriminant(rows, ridge=0).weights(labels)
        means = rows[labels].mean(axis=0) - rows[~labels].mean(axis=0)
        within = sum(np.cov(rows[of].T, ddof=0) * of.sum() for of in (labels, ~labels))
        expected = np.linalg.solve(within, means)
        assert found / np.linalg.norm(found) == pytest.approx(expected / np.linalg.norm(expected))

    def test_areas_under_the_roc_curve_equal_normalized_mann_whitney_u_from_scipy(self) -> None:
        rng = np.random.default_rng(1)
        scores = rng.integers(0, 6, size=(20, 15)).astype(float)
        labels = rng.random((20, 15)) < 0.3
        labels[0] = False
        for found, score, of in zip(areas(scores, labels), scores, labels, strict=True):
            if of.any():
                expected = stats.mannwhitneyu(score[of], score[~of]).statistic / (of.sum() * (~of).sum())
                assert found == pytest.approx(expected)
            else:
                assert np.isnan(found)

    def test_cell_features_identify_a_smooth_cell_and_are_zero_for_a_flat_image(self) -> None:
        image = textured(0, height=192, width=320).copy()
        image[48:96, 40:80] = 128
        found = cell_features(image, Grid(4, 8, 640, 384))
        assert found.shape == (32, len(FEATURES))
        assert np.argmin(found[:, FEATURES.index("median noise")]) == 9
        assert np.argmax(found[:, FEATURES.index("blocks with hardly any noise")]) == 9
        assert not cell_features(np.full((96, 160, 3), 7, np.uint8), Grid(6, 10, 160, 96)).any()


def arrays_of(sports: list[list[int]]) -> InpaintedImages:
    """Return images without content, given the number of images per video for each sport."""
    sizes = [size for videos in sports for size in videos]
    n = sum(sizes)
    return InpaintedImages(
        features=np.zeros((n, 6, 1)),
        places=np.zeros((n, 6, 4)),
        ball_cells=np.zeros((n, 6), dtype=bool),
        main_cell=np.zeros(n, dtype=np.int64),
        touched=np.zeros((n, 6), dtype=bool),
        video=np.repeat(np.arange(len(sizes)), sizes),
        sport=np.repeat(np.arange(len(sports)), [sum(videos) for videos in sports]),
    )


class TestExchanged:
    @given(
        st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=4), min_size=1, max_size=3),
        st.randoms(use_true_random=False),
        st.integers(0, 1000),
    )
    def test_exchanged_moves_balls_only_within_a_sport_and_keeps_most_neighboring_images_together(
        self, sports: list[list[int]], random: Random, seed: int
    ) -> None:
        images = arrays_of(sports)
        n = len(images.video)
        # Images of different videos may alternate, but those of one video are in order.
        numbers = images.video.tolist()
        random.shuffle(numbers)
        sport_of = np.repeat(np.arange(len(sports)), [len(videos) for videos in sports])
        images = replace(images, video=np.array(numbers), sport=sport_of[numbers])
        order = exchanged(images, np.random.default_rng(seed))
        assert sorted(order.tolist()) == list(range(n))
        assert (images.sport[order] == images.sport).all()
        place = np.array([numbers[:image].count(video) for image, video in enumerate(numbers)])
        broken = 0
        for video in set(numbers):
            moved = order[images.video == video]
            broken += ((np.diff(images.video[moved]) != 0) | (np.abs(np.diff(place[moved])) != 1)).sum()
        assert broken <= sum(len(videos) for videos in sports)

    def test_exchanged_rotates_and_reverses_a_video_and_permutes_single_images_freely(self) -> None:
        rng = np.random.default_rng(0)
        moved = {tuple((start + step * k) % 4 for k in range(4)) for start in range(4) for step in (-1, 1)}
        assert {tuple(exchanged(arrays_of([[4]]), rng).tolist()) for _ in range(200)} == moved
        drawn = Counter(tuple(exchanged(arrays_of([[1, 1, 1]]), rng).tolist()) for _ in range(600))
        assert len(drawn) == 6
        assert min(drawn.values()) > 60

    @pytest.mark.slow
    def test_against_decoys_keeps_its_significance_level_for_correlated_images(self) -> None:
        # Cells look the same in all images of a video, and the ball remains in a cell for some images. If balls were
        # exchanged independently, the test would fail for a fifth of these datasets.
        p, images = [], arrays_of([[30, 30, 30]])
        for seed in range(50):
            rng = np.random.default_rng(seed)
            look = rng.normal(size=(3, 6, 2))
            features = look[images.video] + 0.05 * rng.normal(size=(90, 6, 2))
            cell = np.concatenate([np.repeat(rng.integers(6, size=5), 6) for _ in range(3)])
            images = replace(images, features=features, main_cell=cell, touched=np.eye(6, dtype=bool)[cell])
            p.append(against_decoys(images, rng, 40).p)
        assert np.mean(np.array(p) < 0.05) <= 0.1


class TestJointP:
    @given(st.integers(1, 30).flatmap(lambda n: arrays(np.int64, (n + 1, 2), elements=st.integers(0, 5))))
    def test_joint_p_equals_plain_loops(self, values: NDArray[np.int64]) -> None:
        rows = [tuple(row) for row in (values / 5).tolist()]
        smallest = [min(sum(other[k] >= row[k] for other in rows) / len(rows) for k in (0, 1)) for row in rows]
        expected = sum(value <= smallest[0] for value in smallest) / len(rows)
        assert joint_p(values[0] / 5, values[1:] / 5) == pytest.approx(expected, abs=1e-12)

    @given(st.integers(0, 1000))
    def test_joint_p_keeps_its_significance_level_under_the_null_hypothesis(self, seed: int) -> None:
        # Under the null hypothesis, each draw has the same probability of being the observed one.
        draws = np.random.default_rng(seed).multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 100)
        p = np.array([joint_p(draw, np.delete(draws, number, axis=0)) for number, draw in enumerate(draws)])
        assert (p <= 0.05).mean() <= 0.05

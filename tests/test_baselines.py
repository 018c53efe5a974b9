"""Test baselines: distributions against hand-computed values and plain loops, and responses against distributions."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from spotball_core.baselines import BASELINES, NEAR_SCALE, SOCIAL_WEIGHTS, baseline_distributions, baseline_responses
from spotball_core.counting.read import read_counts
from spotball_core.cue_maps.registry import cue_scores
from spotball_core.errors import OptionError
from spotball_core.grid import Grid
from spotball_core.io.frames import COLUMNS
from spotball_core.io.scenes import write_scenes
from spotball_core.random import generator_for
from spotball_core.schema import Scene
from spotball_core.scoring.score import score
from spotball_core.synthetic.poses import synthetic_poses
from spotball_core.synthetic.respondents import cue_responses
from spotball_core.synthetic.scenes import synthetic_scenes
from tests.cli.process import spotball
from tests.conftest import ROOT
from tests.failures import codes, raises

SMALL = Grid(2, 2, 20, 20)


def scene(image: int, cells: Any = None, *, sport: str = "soccer", grid: Grid = SMALL, **fields: Any) -> Scene:
    return Scene(sport=sport, image=str(image), grid=grid, ball_cells=cells, **fields)


class TestDistributions:
    def test_baselines_registry_lists_all_baselines_in_order_with_descriptions(self) -> None:
        assert list(BASELINES) == ["uniform", "center", "nearest-player", "prior", "oracle", "social"]
        assert all(record.name == name and record.description for name, record in BASELINES.items())

    @pytest.mark.parametrize("name", BASELINES)
    @given(
        rows=st.integers(1, 7),
        cols=st.integers(1, 7),
        sizes=st.lists(st.tuples(st.integers(1, 900), st.integers(1, 900)), min_size=1, max_size=4),
        seed=st.integers(0, 99),
    )
    def test_baseline_distributions_sum_to_one_or_are_nan_without_an_answer(
        self, name: str, rows: int, cols: int, sizes: list[tuple[int, int]], seed: int
    ) -> None:
        rng = np.random.default_rng(seed)
        scenes = []
        for i, (width, height) in enumerate(sizes):
            grid = Grid(rows, cols, width, height)
            # Detectors may return boxes far outside the image. The probabilities must not underflow to 0 in this case.
            corners = np.sort(rng.uniform(-50, 50, (rng.integers(0, 4), 2, 2)) * [width, height], axis=1).reshape(-1, 4)
            cells = [grid.label(int(cell)) for cell in rng.integers(0, grid.n_cells, rng.integers(0, 3))] or None
            sport = ("soccer", "volleyball")[int(rng.integers(2))]
            scenes.append(scene(i, cells, players=corners.tolist(), grid=grid, sport=sport))
        distributions = baseline_distributions(name, scenes)
        assert distributions.shape == (len(scenes), rows * cols)
        for one, row in zip(scenes, distributions, strict=True):
            has_answer = {"nearest-player": bool(one.players), "oracle": one.ball_cells is not None}.get(name, True)
            if has_answer:
                assert row.sum() == pytest.approx(1, abs=1e-12)
                assert (row >= 0).all()
            else:
                assert np.isnan(row).all()

    def test_distributions_of_uniform_oracle_and_prior_equal_hand_computed_values(self) -> None:
        scenes = [scene(1, ["A1", "B1"]), scene(2), scene(3, ["B2"])]
        assert baseline_distributions("uniform", scenes).tolist() == [[0.25] * 4] * 3
        oracle = baseline_distributions("oracle", scenes)
        assert oracle[::2].tolist() == [[0.5, 0, 0.5, 0], [0, 0, 0, 1]]
        assert np.isnan(oracle[1]).all()
        # The prior of an image does not use the ball in this image.
        scenes = [scene(1, ["A1", "B1"]), scene(2, ["A1"]), scene(3, ["B2"])]
        assert baseline_distributions("prior", scenes).tolist() == [
            [1 / 2, 0, 0, 1 / 2],  # A1 of image 2, B2 of image 3
            [1 / 3, 0, 1 / 3, 1 / 3],  # A1 and B1 of image 1, B2 of image 3
            [2 / 3, 0, 1 / 3, 0],  # A1 and B1 of image 1, A1 of image 2
        ]

    def test_prior_baseline_uses_only_balls_of_the_same_sport_and_answers_images_without_ground_truth(self) -> None:
        volleyball = [scene(1, ["B2"], sport="volleyball"), scene(2, ["A2"], sport="volleyball", control=True)]
        scenes = [scene(1, ["A1"]), scene(2), *volleyball, scene(1, sport="tennis")]
        assert baseline_distributions("prior", scenes).tolist() == [
            [0.25] * 4,  # no other soccer image has ground truth: uniform
            [1, 0, 0, 0],
            [0, 1, 0, 0],  # the ground truth of a control counts too
            [0, 0, 0, 1],
            [0.25] * 4,
        ]

    def test_center_baseline_equals_a_truncated_gaussian_integrated_over_each_cell(self) -> None:
        grid = Grid(3, 4, 120, 90)
        (row,) = baseline_distributions("center", [scene(1, grid=grid)])
        gaussian = stats.truncnorm(-0.5 / 0.15, 0.5 / 0.15, loc=0.5, scale=0.15)
        for index in range(grid.n_cells):
            x1, y1, x2, y2 = grid.rectangles[index] / [120, 90, 120, 90]
            expected = (gaussian.cdf(x2) - gaussian.cdf(x1)) * (gaussian.cdf(y2) - gaussian.cdf(y1))
            assert row[index] == pytest.approx(expected, rel=1e-9)

    @given(rows=st.integers(1, 9), cols=st.integers(1, 9))
    def test_center_baseline_is_symmetric_and_decreases_from_the_center_outward(self, rows: int, cols: int) -> None:
        (row,) = baseline_distributions("center", [scene(1, grid=Grid(rows, cols, 640, 360))])
        table = row.reshape(rows, cols)
        np.testing.assert_allclose(table, table[::-1], rtol=1e-9)
        np.testing.assert_allclose(table, table[:, ::-1], rtol=1e-9)
        if cols > 1:
            half = table[:, (cols - 1) // 2 :: -1]
            assert (np.diff(half, axis=1) < 0).all()

    def test_nearest_player_baseline_equals_hand_computed_values_and_is_nan_without_players(self) -> None:
        # The player's box is cell A1 (10 x 10 px). It is 5 px from the centers of A2 and B1, and 5 * sqrt(2) from B2's.
        scenes = [scene(1, players=[[0, 0, 10, 10]]), scene(2), scene(3, players=[])]
        distributions = baseline_distributions("nearest-player", scenes)
        scale = 0.04 * math.sqrt(20**2 + 20**2)
        mass = [1, math.exp(-25 / (2 * scale**2)), math.exp(-25 / (2 * scale**2)), math.exp(-50 / (2 * scale**2))]
        np.testing.assert_allclose(distributions[0], np.array(mass) / sum(mass), rtol=1e-9)
        assert pytest.approx(0.08 / 2) == NEAR_SCALE
        assert np.isnan(distributions[1:]).all()

    @given(
        boxes=st.lists(st.tuples(*[st.integers(0, 600)] * 2, *[st.integers(0, 200)] * 2), min_size=1, max_size=5),
        width=st.integers(100, 1000),
    )
    def test_nearest_player_baseline_does_not_increase_with_the_distance_from_players(
        self, boxes: list[tuple[int, ...]], width: int
    ) -> None:
        grid = Grid(4, 5, width, 360)
        players = [[x, y, x + w, y + h] for x, y, w, h in boxes]
        other = scene(2, players=[[0, 0, 1, 1]], grid=Grid(4, 5, 50, 50))
        row = baseline_distributions("nearest-player", [scene(1, players=players, grid=grid), other])[0]
        distances = []
        for x, y in grid.centers:
            distances.append(
                min(math.hypot(max(x1 - x, 0, x - x2), max(y1 - y, 0, y - y2)) for x1, y1, x2, y2 in players)
            )
        for i, j in itertools.product(range(grid.n_cells), repeat=2):
            if distances[i] < distances[j]:
                assert row[i] >= row[j]
            elif distances[i] == distances[j]:
                assert row[i] == pytest.approx(row[j], rel=1e-12)

    def test_baseline_distributions_accept_mixed_image_sizes_and_reject_mixed_grid_shapes(self) -> None:
        scenes = [scene(1, grid=Grid(2, 2, 20, 20)), scene(2, grid=Grid(2, 2, 90, 60))]
        assert baseline_distributions("uniform", scenes).shape == (2, 4)
        with raises(OptionError, "different-grids"):
            baseline_distributions("uniform", [*scenes, scene(9, grid=Grid(3, 2, 20, 20))])

    @pytest.mark.parametrize(
        ("arguments", "where"),
        [
            ({"names": ["center", "gpt"]}, "unknown-name"),
            ({"names": []}, "no-data"),
            ({"samples": 0}, "invalid-option:samples"),
            ({"seed": -1}, "invalid-option:seed"),
            ({"scenes": []}, "no-data:scenes"),
            ({"scenes": [scene(1), scene(1)]}, "duplicate"),
        ],
    )
    def test_baseline_responses_with_invalid_options_raise_option_error(
        self, arguments: dict[str, Any], where: str
    ) -> None:
        with raises(OptionError, where):
            baseline_responses(**{"scenes": [scene(1)], **arguments})


PLAYERS = [[100.0, 80.0, 160.0, 250.0], [400.0, 100.0, 450.0, 240.0]]


def standard_scenes() -> list[Scene]:
    grid = Grid.standard()
    return [
        scene(1, ["C2", "C3"], players=PLAYERS, grid=grid),
        scene(2, ["D5", "E5", "F1"], players=PLAYERS[:1], grid=grid),
        scene(1, ["B9"], players=PLAYERS, grid=grid, sport="volleyball"),
        scene(3, ["A1"], players=PLAYERS, grid=grid, sport="volleyball", control=True),
    ]


def cells_of(rows: pl.DataFrame, respondent: str, one: Scene) -> list[str | None]:
    return rows.filter(respondent=respondent, sport=one.sport, image=one.image)["cell"].to_list()


class TestResponses:
    def test_baseline_responses_have_the_columns_of_a_responses_file(self) -> None:
        scenes = [scene(1, ["A1"]), scene(2, players=[[0, 0, 5, 5]], control=True)]
        rows = baseline_responses(scenes, ["oracle", "nearest-player"], samples=3)
        assert tuple(rows.columns) == COLUMNS
        expected = itertools.product(("oracle", "nearest-player"), ("1", "2"), (1, 2, 3))
        assert rows.select("respondent", "image", "sample").rows() == list(expected)
        assert rows["cell"].is_null().to_list() == [False] * 3 + [True] * 3 + [True] * 3 + [False] * 3
        assert set(rows["kind"]) == {"baseline"}
        assert set(rows["prompt"]) == {"base"}
        assert rows["participant"].null_count() == rows["reasoning"].null_count() == len(rows)
        counts = read_counts(rows, scenes)
        assert counts.table["n"].sum() == 12
        assert counts.table.filter(respondent="oracle", image="2")["cell"].to_list() == [None]

    @pytest.mark.parametrize("name", BASELINES)
    def test_baseline_responses_follow_the_distribution_of_the_baseline(self, name: str) -> None:
        scenes = standard_scenes()
        samples = 20_000
        rows = baseline_responses(scenes, [name], samples=samples, seed=5)
        for one, expected in zip(scenes, baseline_distributions(name, scenes), strict=True):
            drawn = Counter(cells_of(rows, name, one))
            observed = np.array([drawn[label] for label in one.layout.labels])
            assert observed.sum() == samples
            assert (observed[expected == 0] == 0).all()
            # Rare cells are pooled, because the chi-square approximation needs larger counts.
            common = expected * samples >= 10
            observed = np.append(observed[common], observed[~common].sum())
            expected = np.append(expected[common], expected[~common].sum()) * samples
            if (kept := expected > 0).sum() > 1:
                assert stats.chisquare(observed[kept], expected[kept]).pvalue > 1e-3

    def test_baseline_responses_differ_between_scenes_with_equal_distributions(self) -> None:
        """Check that neither scenes with equal distributions nor samples of one scene all get the same cells."""
        scenes = standard_scenes()
        rows = baseline_responses(scenes, samples=40)
        sequences = [tuple(cells_of(rows, "uniform", one)) for one in scenes]
        assert len(set(sequences)) == len(scenes)
        assert all(len(set(sequence)) > 5 for sequence in sequences)
        a, b = generator_for(0, "a", "bc"), generator_for(0, "ab", "c")
        assert a.random() != b.random()

    def test_baseline_responses_are_equal_for_the_same_seed_and_differ_for_another_seed(self) -> None:
        scenes = standard_scenes()
        first = baseline_responses(scenes, seed=0)
        assert first.equals(baseline_responses(scenes, seed=0))
        assert not first.equals(baseline_responses(scenes, seed=1))
        generator = np.random.default_rng(3)
        drawn = baseline_responses(scenes, seed=generator)
        assert drawn.equals(baseline_responses(scenes, seed=np.random.default_rng(3)))
        assert not drawn.equals(baseline_responses(scenes, seed=generator))

    def test_baseline_responses_can_be_reproduced_from_seed_and_names_without_the_library(self) -> None:
        """Check that the draws can be reproduced from the seed on any machine, with NumPy but without this library."""
        rows = baseline_responses([scene(163, grid=Grid.standard())], ["uniform"], samples=9, seed=7)
        digest = hashlib.sha256(b'["uniform", "soccer", "163"]').hexdigest()
        random = np.random.default_rng([7, int(digest, 16)]).random(9)
        assert rows["cell"].to_list() == [Grid.standard().labels[int(u * 60)] for u in random]

    def test_baseline_responses_do_not_depend_on_other_baselines_scene_order_or_the_number_of_samples(self) -> None:
        scenes = standard_scenes()
        names = ["uniform", "center", "nearest-player", "oracle"]
        everything, more = (baseline_responses(scenes, samples=n, seed=2) for n in (7, 9))
        reversed_ = baseline_responses(scenes[::-1], names[::-1], samples=7, seed=2)
        fewer = baseline_responses(scenes[:2], samples=7, seed=2)
        for name in names:
            alone = baseline_responses(scenes, [name], samples=7, seed=2)
            for one in scenes:
                expected = cells_of(everything, name, one)
                assert cells_of(alone, name, one) == cells_of(reversed_, name, one) == expected
                if one in scenes[:2]:
                    assert cells_of(fewer, name, one) == expected
        for name, one in itertools.product(BASELINES, scenes):
            assert cells_of(more, name, one)[:7] == cells_of(everything, name, one)


@pytest.fixture(scope="module")
def posed() -> tuple[Scene, ...]:
    return synthetic_poses([one for one in synthetic_scenes(30) if one.sport == "synthetic-soccer"])


class TestCommand:
    def test_baselines_command_writes_responses_of_all_baselines_next_to_the_scenes(self, tmp_path: Path) -> None:
        scenes = [*standard_scenes(), scene(9, grid=Grid.standard())]
        write_scenes(scenes, tmp_path / "scenes.jsonl")
        done = spotball("baselines", tmp_path, "--samples", "4", "--seed", "3")
        assert done.returncode == 0, done.stderr
        expected = baseline_responses(scenes, samples=4, seed=3)["cell"].to_list()
        lines = (tmp_path / "responses-baselines.jsonl").read_text().splitlines()
        assert [json.loads(line)["cell"] for line in lines] == expected
        assert "120 answers of uniform, center, nearest-player, prior, oracle, social to 5 images" in done.stderr
        assert "oracle has no answer for 1 of 5 images" in done.stderr
        assert "nearest-player has no answer for 1 of 5 images" in done.stderr

    def test_baselines_command_with_name_and_out_writes_only_the_given_file(self, tmp_path: Path) -> None:
        write_scenes(standard_scenes(), tmp_path / "scenes.jsonl")
        out = tmp_path / "elsewhere" / "b.csv"
        done = spotball("baselines", tmp_path, "--name", "center, uniform", "--samples", "2", "--out", out, "--quiet")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert len(out.read_text().splitlines()) == 1 + 2 * 4 * 2
        assert not (tmp_path / "responses-baselines.jsonl").exists()

    @pytest.mark.parametrize(
        ("arguments", "value", "expected"),
        [
            (["--name", "gpt"], "'gpt'", ["unknown-name"]),
            (["--samples", "0"], "--samples", []),
            (["--out", "a.txt"], "a.txt", ["unsupported-format"]),
            (None, "scenes.jsonl", ["missing-file"]),
        ],
    )
    def test_baselines_command_with_an_invalid_option_or_without_scenes_fails_and_writes_nothing(
        self, tmp_path: Path, arguments: list[str] | None, value: str, expected: list[str]
    ) -> None:
        if arguments is not None:
            write_scenes(standard_scenes(), tmp_path / "scenes.jsonl")
        before = sorted(tmp_path.iterdir())
        done = spotball("baselines", tmp_path, *(arguments or ()))
        assert (done.returncode, codes(done.stderr)) == (2, expected)
        assert value in done.stderr
        assert "Traceback" not in done.stderr
        assert sorted(tmp_path.iterdir()) == before


class TestSocial:
    def test_social_baseline_weights_equal_the_documented_weights_fitted_to_people(self) -> None:
        found = json.loads((ROOT / "docs/assets/cues.json").read_text(encoding="utf-8"))["report"]
        (people,) = (group for group in found["groups"] if group["respondent"] == "human")
        assert {one["key"]: float(f"{one['per_unit']:.3g}") for one in people["weights"]} == SOCIAL_WEIGHTS

    def test_social_baseline_equals_a_conditional_logit_of_the_cue_scores(self, posed: tuple[Scene, ...]) -> None:
        scores = cue_scores(posed, SOCIAL_WEIGHTS).values
        for place, row in enumerate(baseline_distributions("social", posed)):
            utility = [
                sum(w * s for w, s in zip(SOCIAL_WEIGHTS.values(), cell, strict=True) if math.isfinite(s))
                for cell in scores[place]
            ]
            expected = np.exp(np.array(utility) - max(utility))
            assert row == pytest.approx(expected / expected.sum())

    def test_social_baseline_does_not_use_the_ball_of_the_predicted_image(self, posed: tuple[Scene, ...]) -> None:
        before = baseline_distributions("social", posed)
        moved = {**posed[3].model_dump(), "ball_box": (0, 0, 20, 20), "ball_cells": None}
        after = baseline_distributions("social", [*posed[:3], Scene.model_validate(moved), *posed[4:]])
        assert after[3] == pytest.approx(before[3], abs=1e-9)
        assert after[4] != pytest.approx(before[4], abs=1e-6)

    @pytest.mark.slow
    def test_social_baseline_is_closest_of_three_baselines_to_synthetic_people_who_use_body_cues(self) -> None:
        scenes = synthetic_poses([one for one in synthetic_scenes(90) if one.sport == "synthetic-soccer"])
        people = cue_responses(scenes, {"people": {"location": 1.0, "feet": 0.8, "head": 0.8}}, samples=200)
        rows = baseline_responses(scenes, ["social", "nearest-player", "center"], samples=200)
        report = score(pl.concat([people, rows]), scenes, reference="people", bootstrap=0)
        distances = {group.respondent: group.metrics["wasserstein_matched"].value for group in report.groups}
        assert min(distances, key=lambda name: distances[name] if name != "people" else math.inf) == "social"

    def test_social_baseline_of_a_scene_with_only_a_grid_peaks_in_the_center(self) -> None:
        (row,) = baseline_distributions("social", [Scene(sport="a", image="1", grid=Grid.standard())])
        assert row.sum() == pytest.approx(1)
        assert row.reshape(6, 10).argmax() in (24, 25, 34, 35)

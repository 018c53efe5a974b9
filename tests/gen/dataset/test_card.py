"""Test the card, split and exports of a generated dataset, and that other commands can read it."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import shutil
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import polars as pl
import pytest
import yaml
from hypothesis import given, strategies as st

from spotball_core.errors import InputError, OptionError
from spotball_core.grid import Grid
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.schema.outline import polygons_of
from spotball_core.schema.scene import Scene
from spotball_gen.dataset import positions
from spotball_gen.dataset.card import markdown
from spotball_gen.dataset.exports import FORMATS, export
from spotball_gen.dataset.statistics import ball_map, difficulty, player_map, table_1
from spotball_gen.items.pictures import decoded
from spotball_gen.quality.leak import leak_test
from spotball_gen.quality.splits import split, video_of
from spotball_gen.run import generate
from tests.cli.process import spotball
from tests.failures import raises
from tests.gen.runs import files, write_config, write_videos

GRID = Grid.standard()


def scene(name: str, sport: str = "soccer", **fields: Any) -> Scene:
    return Scene.model_validate({"sport": sport, "image": name, "grid": GRID, **fields})


class TestStatistics:
    def test_table_1_equals_a_hand_calculation_and_statistics_are_none_without_labels(self) -> None:
        assert set(table_1([scene("1")]).values()) == {None}
        assert difficulty([scene("1")])["in_center"] is None
        scenes = [
            scene("1", ball_box=(310, 170, 330, 190), players=[(0, 0, 10, 20), (0, 0, 20, 20)]),
            scene("2", ball_box=(10, 170, 30, 180), players=[]),
        ]
        assert table_1(scenes) == {
            "cells": 2.5,
            "ball_area": 300.0,
            "center_distance": pytest.approx((0 + np.hypot(300, 5)) / 2, abs=1e-3),
            "players": 1.0,
            "player_area": 300.0,
        }

    def test_ball_map_and_player_map_return_shares_per_cell(self) -> None:
        players = [(0, 0, 32, 60), (0, 0, 64, 30)]
        scenes = [scene("1", ball_cells=["A1"], players=players), scene("2", ball_cells=["A2"])]
        assert ball_map(scenes)[:3].tolist() == [0.5, 0.5, 0]
        assert player_map(scenes)[:2].tolist() == [0.5, 0]

    def test_positions_picture_states_ball_and_player_shares_per_cell(self) -> None:
        scenes = {"a<b": [scene("1", "a<b", ball_cells=["A1"], players=[(64, 0, 96, 60)])]}
        assert {"A1: 100.0%", "A2: 50.0%", "a<b, 1 image"} <= set(ET.fromstring(positions.picture(scenes)).itertext())


class TestSplit:
    @given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 5), st.integers(0, 99)), min_size=1, unique=True))
    def test_split_puts_each_video_in_one_part_only(self, found: list[tuple[str, int, int]]) -> None:
        scenes = [scene(f"{sport}{video}-{ms:09d}", sport) for sport, video, ms in found]
        parts = split(scenes, seed=0)
        train, test = (set(parts[part]["videos"]) for part in ("train", "test"))
        assert not train & test
        assert train | test == {video_of(one) for one in scenes}
        for part in ("train", "test"):
            for name in parts[part]["images"]:
                assert name.split("/")[1].rsplit("-", 1)[0] in parts[part]["videos"]
        images = sorted(f"{one.sport}/{one.image}" for one in scenes)
        assert sorted(parts["train"]["images"] + parts["test"]["images"]) == images
        # Each sport is in the training part, and also in the test part if it has at least two videos.
        for sport in {one.sport for one in scenes}:
            videos = {video_of(one) for one in scenes if one.sport == sport}
            assert videos & train
            assert bool(videos & test) == (len(videos) > 1)

    def test_split_puts_a_fifth_of_images_in_the_test_part_and_depends_only_on_the_seed(self) -> None:
        scenes = [scene(f"v{n // 10}-{n % 10:09d}") for n in range(300)]
        once, reverse, other = split(scenes, seed=0), split(scenes[::-1], seed=0), split(scenes, seed=1)
        assert len(once["test"]["images"]) == 60
        assert once["test"]["videos"] == reverse["test"]["videos"] != other["test"]["videos"]


class TestCard:
    def test_card_json_and_checksums_of_a_generated_dataset_agree_with_its_files(self, made: Path) -> None:
        found = files(made)
        sums = dict(reversed(line.split("  ")) for line in found["checksums.sha256"].decode().splitlines())
        assert sums == {n: hashlib.sha256(d).hexdigest() for n, d in found.items() if n != "checksums.sha256"}
        card = json.loads(found["card.json"])
        scenes = read_scenes(made / "scenes.jsonl")
        assert card["items"] == {"soccer": len(scenes)} == {"soccer": 12}
        assert card["table_1"]["soccer"] == table_1(scenes)
        assert [stage["stage"] for stage in card["stages"]][:2] == ["frames", "filter"]
        sources = {source["origin"]: source["items"] for source in card["sources"]}
        assert sources == {"videos/a.avi": 5, "videos/b.avi": 4, "videos/c|d.avi": 3}
        assert sum(part["images"] for part in card["splits"].values()) == 12
        assert card["artifacts"]["outside_the_mask"] == {"compared": 12, "changed": 0}
        assert card["leak_test"]["videos"] == 3
        assert card["leak_test"] == leak_test(made, permutations=200, seed=3).record()
        assert b"Infinity" not in found["card.json"]

    def test_card_markdown_states_the_values_of_the_json(self, made: Path) -> None:
        text = (made / "card.md").read_text()
        card = json.loads((made / "card.json").read_text())
        assert text == markdown(card)
        assert "12 items: 12 soccer." in text
        assert ("Leak test: failed." in text) == (card["leak_test"]["leaks"] is True)
        assert "c\\|d" in text
        for name in re.findall(r"\]\((.*?)\)", text):
            ET.parse(made / name)
        assert all(line.endswith("|") for line in text.splitlines() if line.startswith("|"))

    @pytest.mark.usefixtures("plugins")
    def test_dataset_of_a_single_video_has_no_leak_test_and_no_test_images(self, tmp_path: Path) -> None:
        write_videos(tmp_path / "videos", {"a": 3})
        config, out = write_config(tmp_path / "c.toml"), tmp_path / "out"
        assert [generate(config, out).written.without_test for _ in range(2)] == [("soccer",), ("soccer",)]
        assert json.loads((out / "splits.json").read_text())["test"] == {"videos": [], "images": []}
        card, text = json.loads((out / "card.json").read_text()), (out / "card.md").read_text()
        assert card["leak_test"] == {"not_done": "it needs images of at least two videos"}
        assert card["artifacts"]["scored"] == 0
        assert "Leak test: not done" in text
        lacking = "There are no test images of soccer, because all images of this sport are from one shot of one video."
        assert lacking in text


def instances(folder: Path) -> list[dict[str, Any]]:
    """Return the parsed annotation files of a COCO export: of the training part, then of the test part."""
    return [json.loads((folder / f"annotations/instances_{part}.json").read_text()) for part in ("train", "test")]


class TestExports:
    def test_export_imagefolder_has_images_and_metadata_by_split(self, made: Path, exported: Path) -> None:
        split_of = json.loads((made / "splits.json").read_text())
        for part in ("train", "test"):
            folder = exported / "imagefolder" / part
            lines = [json.loads(line) for line in (folder / "metadata.jsonl").read_text().splitlines()]
            assert [f"{line['sport']}/{line['id']}" for line in lines] == split_of[part]["images"]
            for line in lines:
                assert (folder / line["file_name"]).read_bytes() == (made / "images" / line["file_name"]).read_bytes()
                assert line["license"] == "CC0"

    def test_export_coco_has_boxes_outlines_and_licenses(self, made: Path, exported: Path) -> None:
        scenes = {one.image: one for one in read_scenes(made / "scenes.jsonl")}
        seen = 0
        for told in instances(exported / "coco"):
            names = {category["id"]: category["name"] for category in told["categories"]}
            licenses = {one["id"]: one["name"] for one in told["licenses"]}
            for image in told["images"]:
                of = scenes[image["scene"]]
                pixels = decoded(exported / "coco/images" / image["file_name"])
                assert pixels.shape[:2] == (image["height"], image["width"])
                boxes = [one for one in told["annotations"] if one["image_id"] == image["id"]]
                assert Counter(names[box["category_id"]] for box in boxes) == {"ball": 1, "player": 2}
                (ball,) = (box["bbox"] for box in boxes if names[box["category_id"]] == "ball")
                x, y, wide, high = ball
                assert (x, y, x + wide, y + high) == pytest.approx(of.ball_box)
                assert licenses[image["license"]] == "CC0"
                outlined = [polygons_of(one["segmentation"]) for one in boxes if one["segmentation"]]
                assert outlined == [outline for outline in of.player_outlines or () if outline]
                seen += len(outlined) == 1
            ids = [box["id"] for box in told["annotations"]]
            assert len(set(ids)) == len(ids)
        assert seen == 12

    def test_export_coco_has_keypoints_only_for_players_with_a_pose(self, made: Path, tmp_path: Path) -> None:
        copy = shutil.copytree(made, tmp_path / "posed")
        scenes = [one.with_keypoints([None, None]) for one in read_scenes(copy / "scenes.jsonl")]
        poses = [[[box[0], box[1], 0.5], *[[0, 0, 0]] * 15, [box[2], box[3], 1]] for box in scenes[0].boxes.tolist()]
        write_scenes([scenes[0].with_keypoints([None, *poses[1:]]), *scenes[1:]], copy / "scenes.jsonl")
        export(copy, "coco", tmp_path / "to")
        parts = instances(tmp_path / "to")
        (annotation,) = (one for part in parts for one in part["annotations"] if "keypoints" in one)
        _, ((x, y, _), *_, (u, v, _)) = poses
        assert annotation["keypoints"] == [x, y, 2, *[0] * 45, u, v, 2]
        assert annotation["num_keypoints"] == 2
        assert annotation["keypoint_scores"] == [0.5, *[0] * 15, 1]
        assert [len(kind["keypoints"]) for kind in parts[0]["categories"] if "keypoints" in kind] == [17]

    def test_export_parquet_has_images_outlines_and_features(self, made: Path, exported: Path) -> None:
        paths = sorted((exported / "parquet/data").iterdir())
        assert [path.name for path in paths] == ["test-00000-of-00001.parquet", "train-00000-of-00001.parquet"]
        frame = pl.concat(pl.read_parquet(path) for path in paths)
        assert len(frame) == 12
        for row in frame.iter_rows(named=True):
            packed = np.frombuffer(row["image"]["bytes"], np.uint8)
            pixels = cv2.imdecode(packed, cv2.IMREAD_COLOR)[..., ::-1]
            assert np.array_equal(pixels, decoded(made / "images/soccer" / row["image"]["path"]))
            assert len(row["players"]) == 2
            assert [outline is not None for outline in row["player_outlines"]] == [True, False]
        metadata = pl.read_parquet_metadata(paths[0])
        features = json.loads(metadata["huggingface"])["info"]["features"]
        assert list(features) == frame.columns
        assert features["image"] == {"_type": "Image"}
        assert "ARROW:schema" not in metadata

    def test_export_coco_with_ball_has_the_images_with_the_ball(self, made: Path, exported: Path) -> None:
        name = instances(exported / "coco-with-ball")[0]["images"][0]["file_name"]
        assert (exported / "coco-with-ball/images" / name).read_bytes() == (made / "with_ball" / name).read_bytes()
        assert (made / "with_ball" / name).read_bytes() != (made / "images" / name).read_bytes()
        assert "The ball is visible." in (exported / "coco-with-ball/README.md").read_text()

    @pytest.mark.parametrize("format", FORMATS)
    def test_export_writes_a_valid_readme_and_croissant_file(self, made: Path, exported: Path, format: str) -> None:
        folder = exported / format
        text = (folder / "README.md").read_text()
        metadata = yaml.safe_load(text.split("---\n")[1])
        assert metadata["license"] == "cc0-1.0"
        assert metadata["size_categories"] == ["n<1K"]
        for config in metadata.get("configs", []):
            assert all(list(folder.glob(part["path"])) for part in config["data_files"])
        assert re.search(r"^\| c-d-\w{8} \| CC0 \| videos/c\\\|d\.avi \| 3 \|$", text, re.MULTILINE)
        assert "No video is in both parts." in text
        assert (folder / "card.md").read_bytes() == (made / "card.md").read_bytes()
        content = json.loads((folder / "croissant.json").read_text())
        assert content["license"] == ["https://creativecommons.org/publicdomain/zero/1.0/"]
        for file in content["distribution"]:
            if "sha256" in file:
                assert hashlib.sha256((folder / file["contentUrl"]).read_bytes()).hexdigest() == file["sha256"]

    def test_export_readme_lists_nonstandard_licenses_and_states_that_videos_are_split_by_shot(
        self, made: Path, tmp_path: Path
    ) -> None:
        copy = shutil.copytree(made, tmp_path / "copy")
        splits, card = (json.loads((copy / name).read_text()) for name in ("splits.json", "card.json"))
        splits["train"]["images"].append(splits["test"]["images"].pop())
        card["sources"][0]["license"] = 'ask: the "club"'
        (copy / "splits.json").write_text(json.dumps(splits))
        (copy / "card.json").write_text(json.dumps(card))
        assert export(copy, "parquet", tmp_path / "to") == 12
        text = (tmp_path / "to/README.md").read_text()
        assert "Some videos are in both parts, but each shot is in only one." in text
        metadata = yaml.safe_load(text.split("---\n")[1])
        assert metadata["license"] == "other"
        assert set(metadata["license_details"].split("; ")) == {'ask: the "club"', "CC0"}

    def test_export_without_split_and_card_writes_all_images_to_train(self, made: Path, tmp_path: Path) -> None:
        shutil.copytree(made / "images", tmp_path / "bare/images")
        shutil.copy(made / "scenes.jsonl", tmp_path / "bare")
        assert export(tmp_path / "bare", "imagefolder", tmp_path / "to") == 12
        line = json.loads((tmp_path / "to/train/metadata.jsonl").read_text().splitlines()[0])
        assert (line["license"], line["origin"]) == ("", "")
        with raises(InputError, "missing-file:image"):
            export(tmp_path / "bare", "coco", tmp_path / "with-ball", with_ball=True)

    @pytest.mark.parametrize("format", FORMATS)
    def test_export_with_a_missing_image_is_an_error_and_writes_nothing(
        self, made: Path, tmp_path: Path, format: str
    ) -> None:
        (tmp_path / "bare").mkdir()
        shutil.copy(made / "scenes.jsonl", tmp_path / "bare")
        with raises(InputError, "missing-file:image"):
            export(tmp_path / "bare", format, tmp_path / "to")
        assert not (tmp_path / "to").exists()

    def test_export_with_the_ball_to_parquet_or_to_a_folder_with_other_files_is_an_error(
        self, made: Path, tmp_path: Path
    ) -> None:
        with raises(OptionError, "conflicting-options:--with-ball"):
            export(made, "parquet", tmp_path / "to", with_ball=True)
        (tmp_path / "mine.txt").write_text("mine")
        with raises(OptionError, "output-exists:--out"):
            export(made, "coco", tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_run_and_score_accept_a_generated_dataset(made: Path, tmp_path: Path) -> None:
    options = ("--provider", "baseline", "--model", "center", "--prompt", "base", "--quiet")
    assert spotball("run", made, *options, "--out", tmp_path / "run").returncode == 0
    scenes = made / "scenes.jsonl"
    scored = spotball("score", tmp_path / "run", "--scenes", scenes, "--bootstrap", "0", "--format", "csv")
    assert scored.returncode == 0
    assert {row["sport"] for row in csv.DictReader(io.StringIO(scored.stdout))} >= {"soccer"}


def test_gen_export_prints_the_count_and_fails_if_the_folder_exists(made: Path, tmp_path: Path) -> None:
    first, second = (spotball("gen", "export", made, "--format", "parquet", "--out", tmp_path / "to") for _ in "ab")
    assert (first.returncode, second.returncode) == (0, 2)
    assert "12 images" in first.stderr

"""Test the card, split and exports of a generated dataset, and that other commands can read it."""

from __future__ import annotations

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

from spotball_core.cli.app import main
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
from tests.failures import raises
from tests.gen.runs import write_config, write_videos

GRID = Grid.standard()


def scene(name: str, sport: str = "soccer", **fields: Any) -> Scene:
    return Scene.model_validate({"sport": sport, "image": name, "grid": GRID, **fields})


class TestStatistics:
    def test_table_1_equals_a_hand_calculation(self) -> None:
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

    def test_statistics_of_scenes_without_labels_are_none(self) -> None:
        assert set(table_1([scene("1")]).values()) == {None}
        assert difficulty([scene("1")])["in_center"] is None

    def test_ball_map_and_player_map_return_shares_per_cell(self) -> None:
        scenes = [
            scene("1", ball_cells=["A1"], players=[(0, 0, 32, 60), (0, 0, 64, 30)]),
            scene("2", ball_cells=["A2"]),
        ]
        assert ball_map(scenes)[:3].tolist() == [0.5, 0.5, 0]
        assert player_map(scenes)[:2].tolist() == [0.5, 0]

    def test_positions_picture_states_ball_and_player_shares(self) -> None:
        scenes = {"a<b": [scene("1", "a<b", ball_cells=["A1"], players=[(64, 0, 96, 60)])]}
        texts = list(ET.fromstring(positions.picture(scenes)).itertext())
        assert "A1: 100.0%" in texts
        assert "A2: 50.0%" in texts
        assert "a<b, 1 image" in texts


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
        assert sorted(parts["train"]["images"] + parts["test"]["images"]) == sorted(
            f"{one.sport}/{one.image}" for one in scenes
        )
        # Each sport is in the training part, and also in the test part if it has at least two videos.
        for sport in {one.sport for one in scenes}:
            videos = {video_of(one) for one in scenes if one.sport == sport}
            assert videos & train
            assert bool(videos & test) == (len(videos) > 1)

    def test_split_puts_a_fifth_in_test_and_depends_only_on_the_seed(self) -> None:
        scenes = [scene(f"v{n // 10}-{n % 10:09d}") for n in range(300)]
        assert len(split(scenes, seed=0)["test"]["images"]) == 60
        assert split(scenes, seed=0) == split(scenes[::-1], seed=0) | {
            part: {**split(scenes, seed=0)[part]} for part in ("train", "test")
        }
        assert split(scenes, seed=1)["test"]["videos"] != split(scenes, seed=0)["test"]["videos"]


class TestCard:
    def test_card_json_describes_the_dataset(self, made: Path) -> None:
        card = json.loads((made / "card.json").read_text())
        scenes = read_scenes(made / "scenes.jsonl")
        assert card["items"] == {"soccer": len(scenes)} == {"soccer": 12}
        assert card["table_1"]["soccer"] == table_1(scenes)
        assert {source["items"] for source in card["sources"]} == {5, 4, 3}
        assert sum(part["images"] for part in card["splits"].values()) == 12
        assert card["artifacts"]["outside_the_mask"] == {"compared": 12, "changed": 0}
        assert card["leak_test"]["videos"] == 3
        assert card["leak_test"] == leak_test(made, permutations=200, seed=3).record()
        assert "Infinity" not in (made / "card.json").read_text()

    def test_card_markdown_states_the_values_of_the_json(self, made: Path) -> None:
        text = (made / "card.md").read_text()
        card = json.loads((made / "card.json").read_text())
        assert text == markdown(card)
        assert "12 items: 12 soccer." in text
        assert ("Leak test: failed." in text) == (card["leak_test"]["leaks"] is True)
        assert "c\\|d" in text
        for name in re.findall(r"\]\((.*?)\)", text):
            ET.parse(made / name)
        rows = [line for line in text.splitlines() if line.startswith("|")]
        assert all(line.endswith("|") for line in rows)

    def test_card_of_a_single_video_has_no_leak_test(self, tmp_path: Path, plugins: Path) -> None:
        write_videos(tmp_path / "videos", {"a": 3})
        generate(write_config(tmp_path / "c.toml"), tmp_path / "out")
        card = json.loads((tmp_path / "out/card.json").read_text())
        assert card["leak_test"] == {"not_done": "it needs images of at least two videos"}
        assert card["artifacts"]["scored"] == 0
        assert "Leak test: not done" in (tmp_path / "out/card.md").read_text()


class TestExports:
    def test_export_imagefolder_has_images_and_metadata_by_split(self, made: Path, tmp_path: Path) -> None:
        assert export(made, "imagefolder", tmp_path / "to") == 12
        split_of = json.loads((made / "splits.json").read_text())
        for part in ("train", "test"):
            lines = [json.loads(line) for line in (tmp_path / "to" / part / "metadata.jsonl").read_text().splitlines()]
            assert [f"{line['sport']}/{line['id']}" for line in lines] == split_of[part]["images"]
            for line in lines:
                copied = (tmp_path / "to" / part / line["file_name"]).read_bytes()
                assert copied == (made / "images" / line["file_name"]).read_bytes()
                assert line["license"] == "CC0"

    def test_export_coco_has_boxes_outlines_and_licenses(self, made: Path, tmp_path: Path) -> None:
        export(made, "coco", tmp_path / "to")
        scenes = {one.image: one for one in read_scenes(made / "scenes.jsonl")}
        seen = 0
        for part in ("train", "test"):
            told = json.loads((tmp_path / "to/annotations" / f"instances_{part}.json").read_text())
            names = {category["id"]: category["name"] for category in told["categories"]}
            licenses = {one["id"]: one["name"] for one in told["licenses"]}
            for image in told["images"]:
                of = scenes[image["scene"]]
                pixels = decoded(tmp_path / "to/images" / image["file_name"])
                assert pixels.shape[:2] == (image["height"], image["width"])
                boxes = [one for one in told["annotations"] if one["image_id"] == image["id"]]
                assert Counter(names[box["category_id"]] for box in boxes) == {"ball": 1, "player": 2}
                (ball,) = (box["bbox"] for box in boxes if names[box["category_id"]] == "ball")
                x, y, wide, high = ball
                assert (x, y, x + wide, y + high) == pytest.approx(of.ball_box)
                assert licenses[image["license"]] == "CC0"
                outlined = [one for one in boxes if one["segmentation"]]
                assert [polygons_of(one["segmentation"]) for one in outlined] == [
                    outline for outline in of.player_outlines or () if outline
                ]
                seen += len(outlined) == 1
            ids = [box["id"] for box in told["annotations"]]
            assert len(set(ids)) == len(ids)
        assert seen == 12

    def test_export_coco_has_keypoints_of_posed_players_only(self, made: Path, tmp_path: Path) -> None:
        copy = tmp_path / "posed"
        shutil.copytree(made, copy)
        scenes = [one.with_keypoints([None, None]) for one in read_scenes(copy / "scenes.jsonl")]
        poses = [[[box[0], box[1], 0.5], *[[0, 0, 0]] * 15, [box[2], box[3], 1]] for box in scenes[0].boxes.tolist()]
        posed = scenes[0].with_keypoints([None, *poses[1:]])
        write_scenes([posed, *scenes[1:]], copy / "scenes.jsonl")
        export(copy, "coco", tmp_path / "to")
        files = [
            json.loads((tmp_path / f"to/annotations/instances_{part}.json").read_text()) for part in ("train", "test")
        ]
        annotations = [one for file in files for one in file["annotations"] if "keypoints" in one]
        assert len(annotations) == len(poses) - 1 == 1
        (x, y, _), *_, (u, v, _) = poses[1]
        assert annotations[0]["keypoints"] == [x, y, 2, *[0] * 45, u, v, 2]
        assert annotations[0]["num_keypoints"] == 2
        assert annotations[0]["keypoint_scores"] == [0.5, *[0] * 15, 1]
        assert [len(kind["keypoints"]) for kind in files[0]["categories"] if "keypoints" in kind] == [17]

    def test_export_parquet_has_images_outlines_and_features(self, made: Path, tmp_path: Path) -> None:
        export(made, "parquet", tmp_path / "to")
        files = sorted((tmp_path / "to/data").iterdir())
        assert [path.name for path in files] == ["test-00000-of-00001.parquet", "train-00000-of-00001.parquet"]
        frame = pl.concat(pl.read_parquet(path) for path in files)
        assert len(frame) == 12
        for row in frame.iter_rows(named=True):
            packed = np.frombuffer(row["image"]["bytes"], np.uint8)
            pixels = cv2.imdecode(packed, cv2.IMREAD_COLOR)[..., ::-1]
            assert np.array_equal(pixels, decoded(made / "images/soccer" / row["image"]["path"]))
            assert len(row["players"]) == 2
            assert [outline is not None for outline in row["player_outlines"]] == [True, False]
        metadata = pl.read_parquet_metadata(files[0])
        features = json.loads(metadata["huggingface"])["info"]["features"]
        assert list(features) == frame.columns
        assert features["image"] == {"_type": "Image"}
        assert "ARROW:schema" not in metadata

    def test_export_coco_with_ball_has_the_images_with_the_ball(self, made: Path, tmp_path: Path) -> None:
        assert export(made, "coco", tmp_path / "to", with_ball=True) == 12
        told = json.loads((tmp_path / "to/annotations/instances_train.json").read_text())
        name = told["images"][0]["file_name"]
        assert (tmp_path / "to/images" / name).read_bytes() == (made / "with_ball" / name).read_bytes()
        assert (made / "with_ball" / name).read_bytes() != (made / "images" / name).read_bytes()
        assert "The ball is visible." in (tmp_path / "to/README.md").read_text()

    def test_export_with_ball_in_another_format_is_an_error(self, made: Path, tmp_path: Path) -> None:
        with raises(OptionError, "conflicting-options:--with-ball"):
            export(made, "parquet", tmp_path / "to", with_ball=True)

    def test_export_with_ball_without_these_images_is_an_error(self, made: Path, tmp_path: Path) -> None:
        shutil.copytree(made / "images", tmp_path / "bare/images")
        write_scenes(read_scenes(made / "scenes.jsonl"), tmp_path / "bare/scenes.jsonl")
        with raises(InputError, "missing-file:image"):
            export(tmp_path / "bare", "coco", tmp_path / "to", with_ball=True)

    @pytest.mark.parametrize("format", FORMATS)
    def test_export_writes_a_valid_readme_and_croissant_file(self, made: Path, tmp_path: Path, format: str) -> None:
        export(made, format, tmp_path / "to")
        text = (tmp_path / "to/README.md").read_text()
        metadata = yaml.safe_load(text.split("---\n")[1])
        assert metadata["license"] == "cc0-1.0"
        assert metadata["size_categories"] == ["n<1K"]
        for config in metadata.get("configs", []):
            for files in config["data_files"]:
                assert list((tmp_path / "to").glob(files["path"]))
        assert re.search(r"^\| c-d-\w{8} \| CC0 \| videos/c\\\|d\.avi \| 3 \|$", text, re.MULTILINE)
        assert (tmp_path / "to/card.md").read_bytes() == (made / "card.md").read_bytes()
        content = json.loads((tmp_path / "to/croissant.json").read_text())
        assert content["license"] == ["https://creativecommons.org/publicdomain/zero/1.0/"]
        for file in content["distribution"]:
            if "sha256" in file:
                digest = hashlib.sha256((tmp_path / "to" / file["contentUrl"]).read_bytes()).hexdigest()
                assert digest == file["sha256"]

    def test_export_readme_states_if_videos_are_split_by_shot(self, made: Path, tmp_path: Path) -> None:
        assert export(made, "coco", tmp_path / "by-video") == 12
        assert "No video is in both parts." in (tmp_path / "by-video/README.md").read_text()
        changed = shutil.copytree(made, tmp_path / "made")
        splits = json.loads((changed / "splits.json").read_text())
        splits["train"]["images"].append(splits["test"]["images"].pop())
        (changed / "splits.json").write_text(json.dumps(splits))
        assert export(changed, "coco", tmp_path / "by-shot") == 12
        assert (
            "Some videos are in both parts, but each shot is in only one."
            in (tmp_path / "by-shot/README.md").read_text()
        )

    def test_export_readme_lists_unknown_licenses_as_other(self, made: Path, tmp_path: Path) -> None:
        copy = shutil.copytree(made, tmp_path / "copy")
        card = json.loads((copy / "card.json").read_text())
        card["sources"][0]["license"] = 'ask: the "club"'
        (copy / "card.json").write_text(json.dumps(card))
        export(copy, "parquet", tmp_path / "to")
        metadata = yaml.safe_load((tmp_path / "to/README.md").read_text().split("---\n")[1])
        assert metadata["license"] == "other"
        assert set(metadata["license_details"].split("; ")) == {'ask: the "club"', "CC0"}

    def test_export_without_split_and_card_writes_all_images_to_train(self, made: Path, tmp_path: Path) -> None:
        shutil.copytree(made / "images", tmp_path / "bare/images")
        write_scenes(read_scenes(made / "scenes.jsonl"), tmp_path / "bare/scenes.jsonl")
        assert export(tmp_path / "bare", "imagefolder", tmp_path / "to") == 12
        line = json.loads((tmp_path / "to/train/metadata.jsonl").read_text().splitlines()[0])
        assert (line["license"], line["origin"]) == ("", "")

    @pytest.mark.parametrize("format", FORMATS)
    def test_export_with_a_missing_image_is_an_error_and_writes_nothing(
        self, made: Path, tmp_path: Path, format: str
    ) -> None:
        write_scenes(read_scenes(made / "scenes.jsonl"), tmp_path / "bare/scenes.jsonl")
        with raises(InputError, "missing-file:image"):
            export(tmp_path / "bare", format, tmp_path / "to")
        assert not (tmp_path / "to").exists()

    def test_export_to_an_existing_folder_is_an_error_and_keeps_its_files(self, made: Path, tmp_path: Path) -> None:
        (tmp_path / "mine.txt").write_text("mine")
        with raises(OptionError, "output-exists:--out"):
            export(made, "coco", tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


class TestCommands:
    def test_run_and_score_accept_a_generated_dataset(
        self, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        asked = ["run", made, "--provider", "baseline", "--model", "center", "--respondent", "mine", "--prompt", "base"]
        assert call(*asked, "--out", tmp_path / "run", "--quiet") == 0
        files = sorted((tmp_path / "run").glob("responses.jsonl"))
        assert files
        capsys.readouterr()
        assert call("score", *files, "--scenes", made / "scenes.jsonl", "--bootstrap", "0", "--format", "json") == 0
        assert json.load(io.StringIO(capsys.readouterr().out))

    def test_gen_export_prints_the_count_and_fails_if_the_folder_exists(
        self, made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert call("gen", "export", made, "--format", "parquet", "--out", tmp_path / "to") == 0
        assert "12 images" in capsys.readouterr().err
        assert call("gen", "export", made, "--format", "parquet", "--out", tmp_path / "to") == 2


def call(*arguments: object) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.argv", ["spotball", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
    return int(ended.value.code or 0)

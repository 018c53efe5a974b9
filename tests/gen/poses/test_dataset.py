"""Test `spotball cues poses`: the new dataset, the report, and invalid input."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from spotball_core.errors import InputError, OptionError
from spotball_core.io.scenes import read_scenes
from spotball_gen.cli.poses import summary
from spotball_gen.dataset.exports import export
from spotball_gen.poses.dataset import add_poses
from spotball_gen.poses.estimator import Estimate, no_pose
from spotball_gen.poses.report import PosesReport, image_poses, poses_report
from tests.builders import dataset, scene, scenes
from tests.cli.process import spotball
from tests.failures import codes, raises
from tests.gen.poses.toy_poses import Middle, install

LEFT, RIGHT = (10, 20, 30, 60), (100, 20, 130, 80)
OPTIONS = {"confidence": "0.5"}


def pose(x: float, y: float) -> list[float]:
    return [number for place in range(17) for number in (x, y + place, 0.5)]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a dataset of three images, one without players, and install an estimator of another package."""
    monkeypatch.syspath_prepend(install(tmp_path / "plugins"))
    known = [
        scene("1", players=[LEFT, RIGHT], path="images/soccer/1.png"),
        scene("2", players=[LEFT], path="images/soccer/2.png"),
        scene("3", path="images/soccer/3.png"),
    ]
    folder = dataset(tmp_path / "set", known, me=[{"image": "1", "respondent": "me", "cell": "D5"}])
    (folder / "images/soccer").mkdir(parents=True)
    for one in known:
        cv2.imwrite(str(folder / str(one.path)), np.full((360, 640, 3), 90, dtype=np.uint8))
    return folder


@pytest.fixture
def keypoints(tmp_path: Path) -> Path:
    """Write poses of one player and a spectator in image 1, and of a person in image 2 who is not a player."""
    places = (("1", 20, [9, 19, 21, 41]), ("1", 500, [480, 19, 40, 41]), ("2", 300, [280, 19, 40, 41]))
    people = [
        {"image_id": image, "category_id": 1, "keypoints": pose(x, 30), "score": 1, "bbox": box}
        for image, x, box in places
    ]
    path = tmp_path / "people.json"
    path.write_text(json.dumps(people))
    return path


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class TestNewDataset:
    def test_add_poses_writes_a_copy_with_poses_and_a_report(self, data: Path, keypoints: Path, tmp_path: Path) -> None:
        before = content(data)
        report = add_poses(data, "file", tmp_path / "new", {"file": str(keypoints)})
        after = content(tmp_path / "new")
        assert (content(data), set(after)) == (before, {*before, "poses.json"})
        assert all(after[name] == before[name] for name in before if name != "scenes.jsonl")
        old, new = read_scenes(data / "scenes.jsonl"), read_scenes(tmp_path / "new/scenes.jsonl")
        assert [one.with_keypoints([None] * len(one.boxes)) for one in new] == list(old)
        assert new[0].keypoints[0].ravel().tolist() == pose(20, 30)
        assert np.isnan(new[0].keypoints[1]).all()
        assert [one.player_keypoints for one in new[1:]] == [None, None]
        assert PosesReport.model_validate_json(after["poses.json"]) == report

    def test_cues_poses_prints_and_writes_the_report(self, data: Path, keypoints: Path, tmp_path: Path) -> None:
        done = spotball("cues", "poses", data, "--with", "file", "--file", keypoints, "--out", tmp_path / "new")
        assert done.returncode == 0
        assert done.stderr.splitlines() == [
            "estimating poses: 3 done",
            "soccer/1: 1 of 2 players; no pose for 2 (not detected)",
            "soccer/2: 0 of 1 players; no pose for 1 (not detected)",
            "poses of 1 of 3 players (33%) in 3 images",
            "2 players without a pose: not detected",
            "2 detected people were not matched to a player",
            "1 images have no players",
            f"wrote {tmp_path / 'new'}; poses.json lists the failures per image",
        ]
        report = json.loads((tmp_path / "new/poses.json").read_text())
        about = {"schema_version": 1, "estimator": "file", "version": "1", "options": {"file": str(keypoints)}}
        counts = {"n_images": 3, "n_without_players": 1, "n_players": 3, "n_poses": 1, "unmatched": 2}
        images = report.pop("images")
        assert report == {**about, **counts, "failures": {"not detected": 2}}
        of_first = {"n_players": 2, "n_poses": 1, "unmatched": 1}
        failures = [{"player": 2, "reason": "not detected"}]
        assert images[0] == {"sport": "soccer", "image": "1", **of_first, "failures": failures}

    def test_summary_lists_at_most_20_images_with_missing_poses_and_counts_the_rest(self) -> None:
        images = [
            image_poses(scene(str(i), players=[LEFT]), Estimate(no_pose(1), {0: "not detected"})) for i in range(23)
        ]
        assert summary(poses_report("file", "1", {}, images))[19:] == [
            "soccer/19: 0 of 1 players; no pose for 1 (not detected)",
            "... and 3 more images with players without a pose",
            "poses of 0 of 23 players (0%) in 23 images",
            "23 players without a pose: not detected",
        ]

    def test_cues_poses_with_draw_and_quiet_prints_nothing_and_draws_boxes_colored_by_pose(
        self, data: Path, keypoints: Path, tmp_path: Path
    ) -> None:
        """Check that boxes are white with a pose and magenta without, in an image of twice the size."""
        options = ("--with", "file", "--file", keypoints, "--out", tmp_path / "new", "--draw", "--quiet")
        done = spotball("cues", "poses", data, *options)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        drawn = cv2.imread(str(tmp_path / "new/poses/soccer/1.png"))[..., ::-1]
        assert drawn.shape == (720, 1280, 3)
        assert drawn[40, 40].tolist() == [255, 255, 255]
        assert drawn[40, 220].tolist() == [255, 0, 200]
        assert drawn[60, 40].tolist() == [255, 240, 0]
        assert sorted(path.name for path in (tmp_path / "new/poses/soccer").iterdir()) == ["1.png", "2.png"]

    def test_add_poses_keeps_the_split_and_card_for_exports(self, data: Path, keypoints: Path, tmp_path: Path) -> None:
        """Check an unusual split, because exports split a dataset themselves if it has no split."""
        parts = {"train": {"images": ["soccer/2"]}, "test": {"images": ["soccer/1", "soccer/3"]}}
        (data / "splits.json").write_text(json.dumps(parts))
        (data / "card.json").write_text(json.dumps({"sources": []}))
        add_poses(data, "file", tmp_path / "new", {"file": str(keypoints)})
        add_poses(data, "file", tmp_path / "new", {"file": str(keypoints)})
        export(tmp_path / "new", "coco", tmp_path / "coco")
        train, test = (json.loads((tmp_path / f"coco/annotations/instances_{part}.json").read_text()) for part in parts)
        assert (len(train["images"]), len(test["images"])) == (1, 2)
        assert [one["keypoints"] for one in test["annotations"] if "keypoints" in one] == [
            [number for place in range(17) for number in (20, 30 + place, 2)]
        ]
        assert (tmp_path / "new/card.json").is_file()

    def test_add_poses_to_scenes_without_responses_or_images_writes_only_scenes_and_report(
        self, tmp_path: Path, keypoints: Path
    ) -> None:
        dataset(tmp_path / "set", scenes("1", "2", players=[LEFT]))
        add_poses(tmp_path / "set", "file", tmp_path / "new", {"file": str(keypoints)})
        assert set(content(tmp_path / "new")) == {"scenes.jsonl", "poses.json"}

    def test_add_poses_replaces_existing_poses(self, data: Path, keypoints: Path, tmp_path: Path) -> None:
        add_poses(data, "middle", tmp_path / "middle", OPTIONS)
        add_poses(tmp_path / "middle", "file", tmp_path / "new", {"file": str(keypoints)})
        add_poses(data, "file", tmp_path / "direct", {"file": str(keypoints)})
        assert content(tmp_path / "new") == content(tmp_path / "direct")


class TestOtherPackages:
    def test_cues_poses_uses_estimators_of_other_packages(self, data: Path, tmp_path: Path) -> None:
        options = ("--with", "middle", "--option", "confidence=0.5", "--out", tmp_path / "new")
        assert spotball("cues", "poses", data, *options).returncode == 0
        first, *_ = read_scenes(tmp_path / "new/scenes.jsonl")
        assert first.keypoints[1].tolist() == [[115, 50, 0.5]] * 17
        assert json.loads((tmp_path / "new/poses.json").read_text())["version"] == "3"
        # Poses with low confidence are excluded.
        report = add_poses(data, "middle", tmp_path / "low", {"confidence": "0.1"})
        assert report.failures == {"too few keypoints near the box": 3}

    @pytest.mark.parametrize(
        ("arguments", "code", "values"),
        [
            (("--with", "nothing"), "unknown-name", ("'nothing'", "mediapipe, middle, yolo")),
            (("--with", "middle"), "invalid-value", ("middle: ", "--option confidence=VALUE")),
            (("--with", "file"), "invalid-value", ("--file FILE",)),
            (("--with", "middle", "--option", "confidence=x"), "invalid-value", ("middle: confidence: ", "'x'")),
            (("--with", "file", "--file", "f", "--option", "a=b"), "invalid-value", ("'a'", "score, overlap")),
            (("--with", "middle", "--option", "confidence"), "invalid-option", ("--option confidence: ",)),
            (("--with", "file", "--file", "f", "--option", "file=g"), "duplicate", ("--option file=g: ",)),
        ],
    )
    def test_cues_poses_with_invalid_options_exits_with_status_2(
        self, arguments: tuple[str, ...], code: str, values: tuple[str, ...], data: Path
    ) -> None:
        done = spotball("cues", "poses", data, *arguments, "--out", data.parent / "new")
        assert (done.returncode, codes(done.stderr)) == (2, [code])
        assert all(value in done.stderr for value in values)
        assert not (data.parent / "new").exists()


class TestRefusedInput:
    @pytest.mark.parametrize("place", [".", "inside", ".."])
    def test_add_poses_with_an_overlapping_output_folder_is_an_error(self, place: str, data: Path) -> None:
        with raises(OptionError, "output-exists:--out"):
            add_poses(data, "middle", data / place, OPTIONS)

    def test_add_poses_overwrites_only_its_own_earlier_output(self, data: Path, tmp_path: Path) -> None:
        out = tmp_path / "new"
        out.mkdir()
        add_poses(data, "middle", out, OPTIONS)
        add_poses(data, "middle", out, {"confidence": "0.75"})
        assert read_scenes(out / "scenes.jsonl")[0].keypoints[0, 0, 2] == 0.75
        before = content(out)
        (out / "notes.txt").write_text("mine")
        with raises(OptionError, "output-exists"):
            add_poses(data, "middle", out, OPTIONS)
        (out / "notes.txt").unlink()
        assert content(out) == before
        shutil.copytree(data, tmp_path / "other")
        with raises(OptionError, "output-exists"):
            add_poses(data, "middle", tmp_path / "other", OPTIONS)

    @pytest.mark.parametrize(
        ("damage", "where"),
        [
            (lambda path: path.unlink(), "missing-file:image"),
            (lambda path: path.write_text("no image"), "unreadable-file:image"),
            (lambda path: cv2.imwrite(str(path), np.zeros((10, 20, 3), dtype=np.uint8)), "invalid-value:image"),
            # The image is moved out of the dataset, and a link to it remains.
            (lambda path: path.symlink_to(path.rename(path.parents[3] / "secret.png")), "invalid-path:image"),
        ],
    )
    def test_add_poses_with_a_missing_or_invalid_image_is_an_error(self, damage: Any, where: str, data: Path) -> None:
        damage(data / "images/soccer/1.png")
        with raises(InputError, where):
            add_poses(data, "middle", data.parent / "new", OPTIONS)
        assert not (data.parent / "new").exists()

    def test_add_poses_with_an_interrupted_or_wrong_estimate_leaves_no_files(
        self, data: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = sorted(data.parent.iterdir())
        with pytest.raises(KeyboardInterrupt):
            add_poses(data, "middle", data.parent / "new", {**OPTIONS, "fail_at": "2"})
        # The number of players is wrong.
        monkeypatch.setattr(Middle, "estimate", lambda *_: Estimate(no_pose(1), {}))
        with raises(OptionError, "wrong-shape"):
            add_poses(data, "middle", data.parent / "new", OPTIONS)
        assert sorted(data.parent.iterdir()) == before

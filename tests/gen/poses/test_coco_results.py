"""Test reading keypoints from COCO JSON: results, annotations, image names, and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from spotball_core.errors import InputError, OptionError
from spotball_gen.poses.from_file import FileSettings, FromFile, image_names, read_people
from tests.builders import scene
from tests.failures import raises

FLAT = [number for place in range(17) for number in (10 + place, 20 + place, 0.5)]
UNSEEN = [0, 0, 0]


def write(folder: Path, content: object) -> Path:
    path = folder / "keypoints.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def result(image: object = "1", **fields: Any) -> dict[str, Any]:
    return {"image_id": image, "category_id": 1, "keypoints": FLAT, "score": 0.9, **fields}


def flags(first: int) -> list[float]:
    return [10, 20, first, 11, 21, 1, *UNSEEN * 15]


def confidences(folder: Path, *keypoints: list[float], **fields: Any) -> list[list[float]]:
    people = read_people(write(folder, [result(keypoints=one, **fields) for one in keypoints]), 0)
    return [person.keypoints[:3, 2].tolist() for person in people["1"]]


def test_read_people_of_results_returns_keypoints_and_boxes_above_a_minimum_score(tmp_path: Path) -> None:
    path = write(tmp_path, [result(163, bbox=[10, 20, 30, 40]), result("b.jpg", score=0.2), result(163)])
    people = read_people(path, 0)
    assert list(people) == ["163", "b.jpg"]
    first, second = people["163"]
    assert first.keypoints.tolist() == np.reshape(FLAT, (17, 3)).tolist()
    assert first.box is not None
    assert first.box.tolist() == [10, 20, 40, 60]
    assert second.box is None
    assert list(read_people(path, 0.5)) == ["163"]


def test_read_people_of_annotations_groups_people_by_file_name(tmp_path: Path) -> None:
    images = [{"id": 7, "file_name": "a.jpg"}, {"id": 8, "file_name": "b.jpg"}]
    annotations = [
        result(8),
        {"image_id": 7, "bbox": [0, 0, 1, 1]},
        result(8, iscrowd=1),
        result(8, keypoints=[0] * 51),
    ]
    people = read_people(write(tmp_path, {"images": images, "annotations": annotations}), 0)
    assert {name: len(of) for name, of in people.items()} == {"a.jpg": 0, "b.jpg": 1}


def test_read_people_interprets_the_third_number_as_confidence_or_flag(tmp_path: Path) -> None:
    assert confidences(tmp_path, flags(2)) == [[1, 0.5, 0]]
    # If any value in the file is 2, all are flags.
    assert confidences(tmp_path, flags(1), flags(2)) == [[0.5, 0.5, 0], [1, 0.5, 0]]
    assert confidences(tmp_path, flags(1)) == [[1, 1, 0]]
    assert confidences(tmp_path, flags(2), keypoint_scores=[0.9, 0.4, *[0] * 15]) == [[0.9, 0.4, 0]]


@pytest.mark.parametrize(
    ("content", "where", "found"),
    [
        ("x", "invalid-value:file", "str"),
        ([{"image_id": 1, "keypoints": FLAT[:-1]}], "invalid-value:0.keypoints", "[10, 20, 0.5"),
        ([result(), {"keypoints": FLAT}], "missing-value:1.image_id", ""),
        ([result(keypoints=[1.0, 2.0, 1.5, *FLAT[3:]])], "invalid-value:0.keypoints", "1.5"),
        ([result(keypoints=[1.0, 2.0, 2, *FLAT[3:]])], "invalid-value:0.keypoints", "2"),
        ({"annotations": []}, "invalid-value:images", ""),
        ({"images": [], "annotations": [result(3)]}, "invalid-value:annotations.0.image_id", "3"),
        ({"images": [{"id": 3}], "annotations": []}, "missing-value:images.0.file_name", ""),
    ],
)
def test_read_people_of_an_invalid_file_is_an_error(content: object, where: str, found: str, tmp_path: Path) -> None:
    path = write(tmp_path, content)
    with raises(InputError, where) as caught:
        read_people(path, 0)
    assert caught.value.file == str(path)
    assert found in caught.value.problems[0].found


@pytest.mark.parametrize("name", ["1", "soccer/1", "soccer/1.jpg", "images/soccer/1.jpg", "1.jpg"])
def test_from_file_accepts_several_names_for_an_image(name: str, tmp_path: Path) -> None:
    one, empty = (scene(image, players=[(10, 20, 30, 40)], path=f"images/soccer/{image}.jpg") for image in ("1", "3"))
    estimator = FromFile(FileSettings(file=write(tmp_path, [result(name)])), [one, empty])
    assert estimator.estimate(one, None).keypoints[0].ravel().tolist() == FLAT
    assert estimator.estimate(empty, None).failures == {0: "not detected"}


def test_image_names_of_a_scene_without_a_path_returns_sport_slash_id_then_the_id_alone() -> None:
    assert image_names("a", "7", None) == ("a/7", "7")


def test_from_file_with_an_ambiguous_or_unknown_image_name_is_an_error(tmp_path: Path) -> None:
    scenes = [scene("1"), scene("1", "basketball")]
    with raises(OptionError, "invalid-value"):
        FromFile(FileSettings(file=write(tmp_path, [result()])), scenes)
    FromFile(FileSettings(file=write(tmp_path, [result("soccer/1"), result("basketball/1")])), scenes)
    path = write(tmp_path, [result("1"), result("2")])
    with raises(InputError, "unknown-image:image"):
        FromFile(FileSettings(file=path), [scene("1")])
    FromFile(FileSettings(file=path, other_images="ignore"), [scene("1")])

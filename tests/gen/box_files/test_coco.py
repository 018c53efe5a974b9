"""Test reading COCO JSON: boxes by image, and all problems of a file at once."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from spotball_core.errors import InputError
from spotball_core.schema.outline import polygons_of
from spotball_gen.box_files.boxes import FileBox, ImageView
from spotball_gen.box_files.coco import read_coco
from spotball_gen.items.item import Box
from tests.failures import raises

FILE: dict[str, Any] = {
    "info": {"year": 2024},
    "images": [
        {"id": 1, "file_name": "match/000001.jpg", "width": 1280, "height": 720},
        {"id": 2, "file_name": "match/000002.jpg", "width": 1280, "height": 720},
    ],
    "categories": [{"id": 1, "name": "person"}, {"id": 37, "name": "sports ball"}],
    "annotations": [
        {"id": 9, "image_id": 1, "category_id": 37, "bbox": [10.5, 20, 30, 40], "iscrowd": 0, "area": 1200},
        {"id": 8, "image_id": 1, "category_id": 1, "bbox": [0, 0, 100, 200], "score": 0.5},
        {"id": 7, "image_id": 1, "category_id": 1, "bbox": [0, 0, 1280, 200], "iscrowd": 1},
    ],
}

SECOND = "invalid-value:annotations.1"
FLAT = [number for place in range(17) for number in (10 + place, 20, 0.5)]

VIEW = ImageView((1920, 1080), (160, 90, 1760, 990), (640, 360))
"""The middle 1600 x 900 pixels, scaled to 640 x 360: (x - 160) * 0.4, (y - 90) * 0.4."""


def written(folder: Path, data: object) -> Path:
    path = folder / "boxes.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def test_read_coco_returns_boxes_by_image_and_skips_crowd_annotations(tmp_path: Path) -> None:
    assert dict(read_coco(written(tmp_path, FILE))) == {
        "match/000001": (
            FileBox((10.5, 20, 40.5, 60), "sports ball", 1.0, (1280, 720)),
            FileBox((0, 0, 100, 200), "person", 0.5, (1280, 720)),
        ),
        "match/000002": (),
    }


def broken(*steps: Any, value: Any = None) -> dict[str, Any]:
    """Return the content of `FILE` with one entry replaced, or removed if `value` is None."""
    data = deepcopy(FILE)
    *way, last = steps
    into: Any = data
    for step in way:
        into = into[step]
    if value is None:
        del into[last]
    else:
        into[last] = value
    return data


@pytest.mark.parametrize(
    ("data", "where", "found"),
    [
        ('{"images": [\n  {"id": 1,}\n]}', "invalid-json:file:2", ""),
        ([], "wrong-file:file", "list"),
        (broken("annotations"), "missing-value:annotations", ""),
        (broken("images", value={}), "invalid-value:images", "dict"),
        (broken("images", 1, "width"), "missing-value:images.1.width", ""),
        (broken("images", 1, "id", value=1), "duplicate:images.1.id", "1"),
        (broken("images", 1, "file_name", value="match/000001.png"), "duplicate:images", "match/000001"),
        (broken("categories", 0, "name", value=3), "invalid-value:categories.0.name", "3"),
        (broken("annotations", 0, "image_id", value=5), "invalid-value:annotations.0.image_id", "5"),
        (broken("annotations", 0, "category_id", value=5), "invalid-value:annotations.0.category_id", "5"),
        (broken("annotations", 0, "bbox", value=[1, 2, 3]), "missing-value:annotations.0.bbox.3", ""),
        (broken("annotations", 0, "bbox", value=[1, 2, 0, 4]), "invalid-value:annotations.0.bbox.2", "0"),
        (broken("annotations", 0, "bbox", value=[1, 2, "wide", 4]), "invalid-value:annotations.0.bbox.2", '"wide"'),
        (broken("annotations", 1, "segmentation", value=[[1, 2, 3]]), f"{SECOND}.segmentation", "[[1, 2, 3]]"),
        (broken("annotations", 1, "keypoints", value=[10, 20, 1.5, *FLAT[3:]]), f"{SECOND}.keypoints", ""),
        (broken("annotations", 1, "score", value=50), f"{SECOND}.score", "50"),
    ],
)
def test_read_coco_with_an_invalid_field_raises_an_error_that_names_the_field(
    tmp_path: Path, data: object, where: str, found: str
) -> None:
    path = written(tmp_path, data)
    with raises(InputError, where) as caught:
        read_coco(path)
    assert caught.value.file == str(path)
    assert found in caught.value.problems[0].found


@pytest.mark.parametrize(
    ("segmentation", "outline"),
    [
        ([[0, 0, 100, 0, 100, 200]], (((0.0, 0.0), (100.0, 0.0), (100.0, 200.0)),)),
        ([[0, 0, 9, 0, 9, 9], [50, 0, 59, 0, 59, 9]], None),
        ({"counts": [0, 720 * 1280], "size": [720, 1280]}, None),
        ([], ()),
    ],
)
def test_read_coco_converts_segmentations_to_outlines(tmp_path: Path, segmentation: Any, outline: Any) -> None:
    data = deepcopy(FILE)
    data["annotations"][1]["segmentation"] = segmentation
    _, player = read_coco(written(tmp_path, data))["match/000001"]
    expected = polygons_of(segmentation) if outline is None else outline or None
    assert player.outline == expected


@pytest.mark.parametrize(
    ("corners", "outline", "expected"),
    [
        ((560, 290, 960, 790), ((560, 290), (960, 290), (560, 790)), [(160, 80), (160, 280), (320, 80)]),
        ((60, 290, 260, 490), ((60, 290), (260, 290), (260, 490), (60, 490)), [(0, 80), (0, 160), (40, 80), (40, 160)]),
        ((60, 290, 260, 490), ((60, 290), (100, 290), (60, 490)), None),
    ],
)
def test_image_view_transforms_and_clips_outlines(corners: Any, outline: Any, expected: Any) -> None:
    box = VIEW.box(FileBox(corners, "0", outline=(outline,)), "player")
    assert (box.outline and sorted(box.outline[0])) == expected


def test_read_coco_reports_all_problems_at_once(tmp_path: Path) -> None:
    data = deepcopy(FILE)
    data["annotations"][0]["image_id"] = 5
    data["annotations"][1]["bbox"][2] = -1
    data["categories"].append({"id": 1, "name": "person"})
    with pytest.raises(InputError) as error:
        read_coco(written(tmp_path, data))
    assert error.value.total == 3


@pytest.mark.parametrize(
    ("fields", "first"),
    [
        ({"keypoints": FLAT}, (10, 20, 0.5)),
        ({"keypoints": [10, 20, 2, *[0] * 48]}, (10, 20, 1)),
        ({"keypoints": [10, 20, 2, *[0] * 48], "keypoint_scores": [0.75, *[0] * 16]}, (10, 20, 0.75)),
        ({"keypoints": [0] * 51}, None),
        ({"keypoints": [10, 20, 2] * 21}, None),
        ({}, None),
    ],
)
def test_read_coco_converts_keypoints_to_poses(tmp_path: Path, fields: dict[str, Any], first: Any) -> None:
    data = deepcopy(FILE)
    data["annotations"][1] |= fields
    ball, player = read_coco(written(tmp_path, data))["match/000001"]
    assert ball.keypoints is None
    assert (player.keypoints and player.keypoints[0]) == first


def test_image_view_transforms_keypoints_and_sets_those_outside_the_window_to_zero() -> None:
    keypoints = ((560.0, 290.0, 0.5), (100.0, 290.0, 0.5), *[(600.0, 300.0, 0.0)] * 15)
    box = VIEW.box(FileBox((60, 290, 960, 790), "0", keypoints=keypoints), "player")
    assert box.keypoints == ((160, 80, 0.5), *[(0, 0, 0)] * 16)
    assert Box.from_record(json.loads(json.dumps(asdict(box)))) == box

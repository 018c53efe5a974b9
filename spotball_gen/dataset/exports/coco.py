"""Export in COCO's detection format: an annotation file per split, and the images."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from spotball_core.geometry import outline_area
from spotball_core.schema.keypoints import KEYPOINT_NAMES, SKELETON, Keypoints
from spotball_core.schema.outline import Outline
from spotball_gen.dataset.exports.rows import PARTS, Row

Corners = tuple[float, float, float, float]

CATEGORIES = [
    {"id": 1, "name": "ball", "supercategory": "sports"},
    {
        "id": 2,
        "name": "player",
        "supercategory": "person",
        "keypoints": list(KEYPOINT_NAMES),
        "skeleton": [[start + 1, end + 1] for start, end in SKELETON],
    },
]


def write(rows: list[Row], out: Path) -> None:
    """Write annotations/instances_PART.json and images/SPORT/IMAGE.

    PART is `train` or `test`; these file names let CVAT recognize the format. Boxes are [x, y, width, height] in
    pixels. Players' outlines are written as `segmentation`, which is empty for a box without an outline. A player with
    a known pose has `keypoints`, and `keypoint_scores` with their confidences, which COCO does not define.

    In images without the ball, the ball's box shows where the ball was.
    """
    (out / "annotations").mkdir()
    for row in rows:
        row.copy(out / "images")
    for part in PARTS:
        content = _annotations([row for row in rows if row.part == part])
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
        (out / "annotations" / f"instances_{part}.json").write_text(text + "\n", encoding="utf-8", newline="\n")


def _annotations(rows: list[Row]) -> dict[str, Any]:
    licenses = {name: number for number, name in enumerate(dict.fromkeys(row.license for row in rows), start=1)}
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number, row in enumerate(rows, start=1):
        scene, record = row.scene, row.record()
        extra = {key: record[key] for key in ("id", "sport", "rows", "cols", "ball_cells", "video", "origin")}
        extra["scene"] = extra.pop("id")
        image = {"id": number, "file_name": row.name, "width": scene.width, "height": scene.height}
        images.append({**image, "license": licenses[row.license], **extra})
        players = scene.players or ()
        outlines = scene.player_outlines or (None,) * len(players)
        poses = scene.player_keypoints or (None,) * len(players)
        boxes: list[tuple[int, Corners, Outline | None, Keypoints | None]] = []
        if scene.ball_box is not None:
            boxes.append((1, scene.ball_box, None, None))
        boxes += [(2, box.corners, outline, pose) for box, outline, pose in zip(players, outlines, poses, strict=True)]
        for category, (x1, y1, x2, y2), outline, pose in boxes:
            box = [x1, y1, round(x2 - x1, 4), round(y2 - y1, 4)]
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": number,
                    "category_id": category,
                    "bbox": box,
                    "area": round(box[2] * box[3] if outline is None else outline_area(outline), 4),
                    "iscrowd": 0,
                    "segmentation": [] if outline is None else _flat(outline),
                    **({} if pose is None else _keypoints(pose)),
                }
            )
    return {
        "info": {"description": "Spot the Ball items"},
        "licenses": [{"id": number, "name": name or "not known", "url": ""} for name, number in licenses.items()],
        "images": images,
        "annotations": annotations,
        "categories": CATEGORIES,
    }


def _keypoints(pose: Keypoints) -> dict[str, Any]:
    """Return COCO's fields for a pose. A detected keypoint has x, y and visibility 2; the others have zeros."""
    points = [[x, y, 2] if confidence > 0 else [0, 0, 0] for x, y, confidence in pose]
    return {
        "num_keypoints": sum(confidence > 0 for *_, confidence in pose),
        "keypoints": [number for point in points for number in point],
        "keypoint_scores": [confidence for *_, confidence in pose],
    }


def _flat(outline: Outline) -> list[list[float]]:
    return [[number for point in polygon for number in point] for polygon in outline]

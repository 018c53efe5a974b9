"""Measure how many players of the published soccer images get a pose from MediaPipe's weights, and how long it takes.

Writes docs/assets/poses.json, which the documentation shows. To compare with MediaPipe's own pipeline, this file also
runs itself with an interpreter that has MediaPipe. MediaPipe needs protobuf below 5, so create a separate environment
for it:

    pip download --no-deps mediapipe==0.10.14
    python -m venv mediapipe && mediapipe/bin/pip install --no-deps mediapipe-0.10.14-*.whl
    mediapipe/bin/pip install absl-py attrs flatbuffers matplotlib numpy "protobuf<5" opencv-python-headless
    python benchmarks/poses.py RELEASE mediapipe-0.10.14-*.whl mediapipe/bin/python
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

PAGE_DATA = Path(__file__).parents[1] / "docs/assets/poses.json"

PARTS = {"eyes": (1, 2), "shoulders": (5, 6), "hips": (11, 12), "wrists": (9, 10), "ankles": (15, 16)}
CONFIDENT = 0.5


def main() -> None:
    from spotball_core import __version__, import_release, read_scenes
    from spotball_core.service.files import replacing
    from spotball_gen.poses.dataset import add_poses

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("release", type=Path)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("python", type=Path, help="an interpreter that has MediaPipe")
    parser.add_argument("--out", type=Path, default=PAGE_DATA)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        dataset, posed = Path(folder) / "soccer", Path(folder) / "posed"
        import_release(options.release).write(dataset)
        start = time.process_time()
        report = add_poses(dataset, "mediapipe", posed, {"file": str(options.wheel)})
        seconds = time.process_time() - start
        scenes = read_scenes(posed / "scenes.jsonl")
        command = [options.python, __file__, "--with-mediapipe", posed]
        own = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    keypoints = np.concatenate([scene.keypoints for scene in scenes])
    known = keypoints[~np.isnan(keypoints).any(axis=(1, 2))]
    content = {
        "version": str(__version__),
        "images": report.n_images,
        "players": report.n_players,
        "poses": report.n_poses,
        "failures": dict(report.failures),
        "confident": {
            part: float((known[:, list(places), 2] >= CONFIDENT).all(axis=1).mean()) for part, places in PARTS.items()
        },
        "seconds": round(seconds, 1),
        "mediapipe": differences(np.concatenate([scene.boxes for scene in scenes]), keypoints, own),
    }
    with replacing(options.out) as beside:
        beside.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(content, indent=1))


def differences(boxes: Any, keypoints: Any, own: list[Any]) -> dict[str, Any]:
    """Return the distance between MediaPipe's keypoints and ours, as fractions of the longer side of the
    player's box.
    """
    shares: list[float] = []
    both = 0
    for box, ours, theirs in zip(boxes, keypoints, own, strict=True):
        if theirs is None or np.isnan(ours).any():
            continue
        both += 1
        points = np.array(theirs)
        confident = (ours[:, 2] >= CONFIDENT) & (points[:, 2] >= CONFIDENT)
        distances = np.hypot(*(ours[confident, :2] - points[confident, :2]).T)
        shares += (distances / max(box[2:] - box[:2])).tolist()
    found = sum(pose is not None for pose in own)
    median, far = float(np.median(shares)), float((np.array(shares) > 0.1).mean())
    return {"found": found, "both": both, "keypoints": len(shares), "median": median, "far": far}


def with_mediapipe(dataset: Path) -> None:
    """Print the poses of MediaPipe's own pipeline, one per player or null. Runs without spotball-core."""
    import cv2
    import mediapipe

    coco = (0, 2, 5, 7, 8, 11, 12, 13, 14, 15, 16, 23, 24, 25, 26, 27, 28)
    poses: list[Any] = []
    pipeline = mediapipe.solutions.pose.Pose(static_image_mode=True, model_complexity=1, min_detection_confidence=0.5)
    for line in (dataset / "scenes.jsonl").read_text(encoding="utf-8").splitlines():
        scene = json.loads(line)
        image = cv2.cvtColor(cv2.imread(str(dataset / scene["path"])), cv2.COLOR_BGR2RGB)
        for x1, y1, x2, y2 in scene["players"] or ():
            margin = 0.25 * max(x2 - x1, y2 - y1)
            left, top = max(0, int(x1 - margin)), max(0, int(y1 - margin))
            crop = image[top : int(y2 + margin), left : int(x2 + margin)]
            scale = max(1.0, 256 / max(crop.shape[:2]))
            enlarged = cv2.resize(crop, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC)
            found = pipeline.process(np.ascontiguousarray(enlarged)).pose_landmarks
            height, width = crop.shape[:2]
            points = [found.landmark[place] for place in coco] if found else []
            poses.append([[p.x * width + left, p.y * height + top, p.visibility] for p in points] or None)
    print(json.dumps(poses))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--with-mediapipe"]:
        with_mediapipe(Path(sys.argv[2]))
    else:
        main()

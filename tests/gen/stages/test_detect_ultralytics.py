"""Test the ultralytics detector, with the package if it is installed and with a stand-in for its API otherwise."""

from __future__ import annotations

import hashlib
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from spotball_core.errors import OptionError
from spotball_gen.items.item import Box, Sport
from spotball_gen.pipeline.config import find
from spotball_gen.stages.detect_ultralytics import Ultralytics
from spotball_gen.stages.detect_yolov8_onnx import YoloV8Onnx
from tests.failures import raises
from tests.gen.making import context_of, item_of

pytestmark = pytest.mark.slow
torch = pytest.importorskip("torch", reason="PyTorch is not installed: it comes with the local extra")

asked: list[tuple[int, dict[str, Any]]] = []


class StandIn:
    """Stand in for a model: detect red and blue areas in images with OpenCV's order of channels (BGR)."""

    def __init__(self, model: str) -> None:
        if "broken" in model:
            raise RuntimeError("PytorchStreamReader failed\nand more")
        self.model, self.names = model, {0: "person", 2: "bird", 32: "sports ball"}

    def predict(self, images: list[Any], **options: Any) -> list[SimpleNamespace]:
        asked.append((len(images), options))
        return [self.result(image.astype(int)) for image in images]

    def result(self, image: Any) -> SimpleNamespace:
        rows = [(1.0, 1.0, 5.0, 5.0, 0.99, 2.0), (9.0, 0.0, 9.0, 7.0, 0.98, 0.0)]
        for channel, number, score in ((0, 0, 0.6), (2, 32, 0.7)):
            ys, xs = np.nonzero(image[..., channel] - image[..., 1] > 100)
            if len(xs):
                rows.append((xs.min(), ys.min(), xs.max() + 1, ys.max() + 1, score, number))
        table = torch.tensor(rows, dtype=torch.float64)
        triangles = [np.array([[x1, y1], [x2, y1], [x1, y2]]) for x1, y1, x2, y2, *_ in rows]
        # The mask of a detection with a low score may be empty.
        triangles[1] = np.empty((0, 2))
        masks = SimpleNamespace(xy=triangles) if "-seg" in self.model else None
        return SimpleNamespace(boxes=SimpleNamespace(xyxy=table[:, :4], conf=table[:, 4], cls=table[:, 5]), masks=masks)


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("ultralytics")
    module.YOLO = StandIn  # type: ignore[attr-defined]
    module.__spec__ = ModuleSpec("ultralytics", None)
    monkeypatch.setitem(sys.modules, "ultralytics", module)
    asked.clear()


def picture(shift: int = 0, size: tuple[int, int] = (90, 160)) -> Any:
    pixels = np.full((*size, 3), 90, dtype=np.uint8)
    pixels[20:32, 40 + shift : 52 + shift] = (250, 20, 20)
    pixels[30:70, 100:115] = (20, 20, 250)
    return pixels


def stage(model: str, work: Path, sports: Any = None, **settings: Any) -> Ultralytics:
    made = Ultralytics.Settings.model_validate({"model": model, "device": "cpu", **settings})
    detector: Ultralytics = Ultralytics(made, context_of(work, sports=sports or {}, folder=work))
    return detector


@pytest.mark.usefixtures("stand_in")
def test_ultralytics_boxes_are_converted_and_options_are_passed(tmp_path: Path) -> None:
    sizes = [(90, 160), (100, 150), (90, 160)]
    items = [item_of(picture(at, size), tmp_path, f"match-{at:09}") for at, size in enumerate(sizes)]
    outcome = stage("yolov8n.pt", tmp_path, confidence=0.3, overlap=0.5, size=320).process(items)
    for at, item in enumerate(outcome.items):
        ball = Box(40 + at, 20, 52 + at, 32, 0.7, "ball")
        assert (item.id, item.boxes) == (items[at].id, (ball, Box(100, 30, 115, 70, 0.6, "player")))
        assert item.notes["detect"] == {"weights": "yolov8n.pt"}
    options = {"conf": 0.3, "iou": 0.5, "device": "cpu", "verbose": False, "imgsz": 320}
    assert asked == [(2, options), (1, options)]


@pytest.mark.usefixtures("stand_in")
def test_weights_file_is_loaded_and_ball_class_of_the_sport_is_used(tmp_path: Path) -> None:
    (tmp_path / "mine.pt").write_bytes(b"weights")
    item = item_of(picture(), tmp_path, sport="badminton")
    sports = {"badminton": Sport(ball_class="bird")}
    detector = stage("mine.pt", tmp_path, sports)
    (done,) = detector.process([item]).items
    assert [box.label for box in done.boxes] == ["ball", "player"]
    assert done.boxes[0].corners == (1, 1, 5, 5)
    assert done.notes["detect"] == {"weights": f"mine.pt@{hashlib.sha256(b'weights').hexdigest()[:12]}"}
    assert detector._model.model == str(tmp_path / "mine.pt")
    assert "imgsz" not in asked[0][1]
    with raises(OptionError, "unknown-name:detect"):
        stage("mine.pt", tmp_path, {"badminton": Sport(ball_class="shuttlecock")}).process([item])


@pytest.mark.usefixtures("stand_in")
def test_missing_or_broken_weights_raise_option_error(tmp_path: Path) -> None:
    with raises(OptionError, "missing-file:detect"):
        stage("./weights/nothing.pt", tmp_path)
    (tmp_path / "broken.pt").write_bytes(b"")
    with raises(OptionError, "unusable-model:detect"):
        stage("broken.pt", tmp_path).process([item_of(picture(), tmp_path)])


def test_missing_ultralytics_package_raises_option_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find("detect", "ultralytics") is Ultralytics
    monkeypatch.setitem(sys.modules, "ultralytics", None)
    with raises(OptionError, "missing-package"):
        stage("yolov8n.pt", tmp_path)


@pytest.mark.filterwarnings("default")
def test_ultralytics_model_and_onnx_export_give_the_same_boxes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that both detectors find the same boxes with random weights that the package creates and exports."""
    package = pytest.importorskip(
        "ultralytics", reason="ultralytics is not installed: no extra has it, for its license and for torchvision"
    )
    monkeypatch.chdir(tmp_path)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = package.YOLO("yolov8n.yaml")
    rng = torch.Generator().manual_seed(0)
    head = model.model.model[-1]
    noise = torch.rand((1, 3, 384, 640), generator=rng)
    for layer in model.model.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            layer.momentum = None
            layer.reset_running_stats()
    with torch.no_grad():
        model.model.train()(noise)
        for classes, edges in zip(head.cv3, head.cv2, strict=True):
            classes[-1].weight.normal_(0, 0.08, generator=rng)
            edges[-1].weight.normal_(0, 0.5, generator=rng)
            classes[-1].bias.fill_(-9)
            classes[-1].bias[[0, 32]] = -1.5
    model.model.eval()
    model.model.names = {number: f"class {number}" for number in range(80)} | {0: "person", 32: "sports ball"}
    model.save(tmp_path / "tiny.pt")
    exported = Path(package.YOLO(tmp_path / "tiny.pt").export(format="onnx", dynamic=True))
    pixels = np.random.default_rng(0).integers(0, 256, (384, 640, 3), dtype=np.uint8)
    with torch.no_grad():
        places = model.model(torch.from_numpy(pixels.transpose(2, 0, 1)[None] / np.float32(255)))[0][0]
    confidence = places[4:].max(dim=0).values.sort(descending=True).values[150].item()
    item, limits = item_of(pixels, tmp_path), {"confidence": confidence, "overlap": 0.7, "device": "cpu"}
    (theirs,) = stage(str(tmp_path / "tiny.pt"), tmp_path, **limits).process([item]).items
    onnx_settings = YoloV8Onnx.Settings.model_validate({"model": str(exported), **limits})
    (ours,) = YoloV8Onnx(onnx_settings, context_of(tmp_path)).process([item]).items
    assert 20 < len(theirs.boxes) < 300
    assert [box.label for box in ours.boxes] == [box.label for box in theirs.boxes]
    for one, other in zip(ours.boxes, theirs.boxes, strict=True):
        assert one.corners == pytest.approx(other.corners, abs=0.05)
        assert one.score == pytest.approx(other.score, abs=1e-3)


@pytest.mark.usefixtures("stand_in")
def test_segmentation_model_adds_outlines_only_to_player_boxes(tmp_path: Path) -> None:
    item = item_of(picture(), tmp_path)
    (done,) = stage("yolov8n-seg.pt", tmp_path).process([item]).items
    (player,) = (box for box in done.boxes if box.label == "player")
    assert player.outline is not None
    assert sorted(player.outline[0]) == [(100, 30), (100, 70), (115, 30)]
    assert [box.outline for box in done.boxes if box.label == "ball"] == [None]
    (plain,) = stage("yolov8n.pt", tmp_path).process([item]).items
    assert [box.corners for box in plain.boxes] == [box.corners for box in done.boxes]
    assert all(box.outline is None for box in plain.boxes)

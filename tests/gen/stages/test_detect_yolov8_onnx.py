"""Test the ONNX Runtime detector with graphs that find drawn rectangles by color."""

from __future__ import annotations

import hashlib
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely

from spotball_core.errors import MissingExtraError, OptionError
from spotball_gen.items.item import Box, Item, Sport
from spotball_gen.pipeline.config import find
from spotball_gen.stages.detect_yolov8_onnx import YoloV8Onnx
from tests.failures import raises
from tests.gen.making import context_of, item_of

pytestmark = pytest.mark.slow
onnxruntime = pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed: it comes with the gen extra")
onnx = pytest.importorskip(
    "onnx", reason="onnx, which only these tests need, is not installed: make test-all installs it"
)

from onnx import TensorProto, helper  # noqa: E402

from tests.gen.models.yolo.onnx_models import COCO_LIKE, picture, write_detector  # noqa: E402

OPEN = {"batch": "batch", "height": "height", "width": "width"}
NAMELESS = {"names": {0: "person", 1: "sports ball"}, "metadata": {"names": "{}"}}
BALL, PLAYER = (96, 60, 128, 92), (200, 100, 260, 300)

Options = dict[str, Any]


def stage(model: Path, context: Any = None, **settings: Any) -> YoloV8Onnx:
    made = YoloV8Onnx.Settings.model_validate({"model": str(model), "device": "cpu", **settings})
    detector: YoloV8Onnx = YoloV8Onnx(made, context or context_of(model.parent))
    return detector


def boxes_of(items: list[Item], detector: YoloV8Onnx) -> list[tuple[Box, ...]]:
    outcome = detector.process(items)
    assert [item.id for item in outcome.items] == [item.id for item in items]
    assert not outcome.rejects
    assert not outcome.failures
    return [item.boxes for item in outcome.items]


def found(ball: tuple[int, ...], player: tuple[int, ...]) -> tuple[Box, Box]:
    score = float(np.float32(0.9))
    return Box(*ball, score, "ball"), Box(*player, score, "player")


@pytest.mark.parametrize(
    ("made", "settings"),
    [
        ({}, {}),
        ({"batch": 4}, {}),
        ({"batch": "batch"}, {}),
        (OPEN, {}),
        ({"height": 320, "width": 320}, {}),
        ({"height": 384, "width": 640}, {"size": 640}),
        ({"height": 720, "width": 1280, "batch": 2}, {}),
        (NAMELESS, {"names": ["person", "sports ball"]}),
    ],
    ids=str,
)
def test_detected_boxes_equal_the_drawn_rectangles(made: Options, settings: Options, tmp_path: Path) -> None:
    model = write_detector(tmp_path / "yolov8n.onnx", **made)
    moved = [tuple(edge + 4 * step for edge in BALL) for step in range(6)]
    items = [item_of(picture(ball, PLAYER), tmp_path, f"match-{step:09}") for step, ball in enumerate(moved)]
    assert boxes_of(items, stage(model, batch_size=4, **settings)) == [found(ball, PLAYER) for ball in moved]


@pytest.mark.parametrize("size", [(90, 160), (720, 1280), (300, 500), (640, 360), (1080, 1920)])
@pytest.mark.parametrize("sides", [{}, OPEN], ids=str)
def test_boxes_in_images_of_any_size_are_within_one_model_pixel_of_the_drawn_rectangles(
    size: tuple[int, int], sides: Options, tmp_path: Path
) -> None:
    height, width = size
    ball = (width // 8, height // 8, width // 4, height // 4)
    player = (width // 2, height // 2, width - 3, height - 5)
    (boxes,) = boxes_of(
        [item_of(picture(ball, player, size), tmp_path)], stage(write_detector(tmp_path / "m.onnx", **sides))
    )
    # An edge that falls inside a pixel of the model input can be off by up to that pixel.
    pixel = max(1.0, max(size) / 640)
    assert [box.label for box in boxes] == ["ball", "player"]
    assert boxes[0].corners == pytest.approx(ball, abs=pixel)
    assert boxes[1].corners == pytest.approx(player, abs=pixel)


def test_dynamic_input_size_is_the_smallest_that_fits_the_image_and_the_metadata(tmp_path: Path) -> None:
    told = {"imgsz": "[320, 320]", "stride": "64"}
    plain, small = (
        stage(write_detector(tmp_path / "m.onnx", metadata=metadata, **OPEN))._detector.file for metadata in ({}, told)
    )
    assert plain.canvas((360, 640), None) == (384, 640)
    assert plain.canvas((360, 640), 320) == small.canvas((360, 640), None) == (192, 320)
    assert plain.canvas((1080, 1920), 1280) == (736, 1280)


@pytest.mark.parametrize("sides", [{"batch": 4}, OPEN], ids=str)
def test_boxes_do_not_depend_on_other_images_of_the_batch(sides: Options, tmp_path: Path) -> None:
    model = write_detector(tmp_path / "m.onnx", **sides)
    rng = np.random.default_rng(0)
    sizes = [(360, 640), (720, 1280)]
    items = []
    for step in range(7):
        x, y = (int(edge) for edge in rng.integers(0, 300, 2))
        ball = (x, y, x + 40, y + 41) if step % 3 else None
        items.append(item_of(picture(ball, None, sizes[step % 2]), tmp_path, f"match-{step:09}"))
    together = boxes_of(items, stage(model))
    assert [len(boxes) for boxes in together] == [0, 1, 1, 0, 1, 1, 0]
    assert [boxes_of([item], stage(model))[0] for item in items] == together
    assert boxes_of(items[::-1], stage(model))[::-1] == together


@pytest.mark.parametrize("sides", [{}, {"batch": 2}, OPEN], ids=str)
def test_half_precision_model_finds_the_drawn_boxes(sides: Options, tmp_path: Path) -> None:
    model = write_detector(tmp_path / "m.onnx", half=True, **sides)
    ((ball, player),) = boxes_of([item_of(picture(BALL, PLAYER), tmp_path)], stage(model))
    assert (ball.corners, player.corners) == (BALL, PLAYER)
    assert ball.score == pytest.approx(0.9, abs=1e-3)


def test_confidence_and_overlap_settings_filter_boxes(tmp_path: Path) -> None:
    model = write_detector(tmp_path / "m.onnx")
    items = [item_of(picture(BALL), tmp_path)]
    scores = [box.score for box in boxes_of(items, stage(model, overlap=0.95))[0]]
    assert scores == pytest.approx([0.9, 0.6])
    assert len(boxes_of(items, stage(model, overlap=1.0, confidence=0.05))[0]) == 3
    assert boxes_of(items, stage(model, confidence=0.95)) == [()]


def test_class_names_of_the_sport_are_used_and_a_missing_class_is_an_error(tmp_path: Path) -> None:
    # The graph is built with the COCO names. The metadata of the file then gives other names to the same classes.
    model = write_detector(tmp_path / "m.onnx", metadata={"names": str(COCO_LIKE | {32: "handball", 0: "keeper"})})
    sports = {"handball": Sport(ball_class="handball", player_class="keeper")}
    item = item_of(picture(BALL, PLAYER), tmp_path, sport="handball")
    detector = stage(model, context_of(tmp_path, sports=sports))
    assert boxes_of([item], detector) == [found(BALL, PLAYER)]
    with raises(OptionError, "unknown-name:detect"):
        detector.process([item_of(picture(BALL, PLAYER), tmp_path, sport="soccer")])


@pytest.mark.parametrize(
    ("made", "settings", "where"),
    [
        ({"transposed": True}, {}, "unusable-model:detect"),
        ({"metadata": {"task": "pose"}}, {}, "unusable-model"),
        ({"metadata": {"task": "segment"}}, {}, "unusable-model:detect"),
        ({"metadata": {"names": "person, ball"}}, {}, "unusable-model"),
        ({"metadata": {"imgsz": "large"}}, {}, "unusable-model"),
        ({"metadata": {"stride": "x"}}, {}, "unusable-model"),
        (NAMELESS, {}, "unusable-model:detect"),
        (NAMELESS, {"names": ["person", "sports ball", "bird"]}, "unusable-model:detect"),
        ({}, {"size": 320}, "invalid-option"),
    ],
    ids=str,
)
def test_model_with_unsupported_output_metadata_or_size_raises_option_error(
    made: Options, settings: Options, where: str, tmp_path: Path
) -> None:
    detector = stage(write_detector(tmp_path / "m.onnx", **made), **settings)
    with raises(OptionError, where):
        detector.process([item_of(picture(BALL, PLAYER), tmp_path)])


def test_file_that_is_not_a_model_of_color_images_raises_option_error(tmp_path: Path) -> None:
    node = helper.make_node("Identity", ["images"], ["output0"])
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, 640, 640]) for name in ("images", "output0")]
    graph = helper.make_graph([node], "gray", ends[:1], ends[1:])
    gray = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(gray, tmp_path / "gray.onnx")
    (tmp_path / "text.onnx").write_text("not a model")
    for name in ("gray.onnx", "text.onnx"):
        with raises(OptionError, "unusable-model"):
            stage(tmp_path / name).process([item_of(picture(BALL, PLAYER), tmp_path)])


def test_missing_file_device_or_library_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = write_detector(tmp_path / "m.onnx")
    with raises(OptionError, "missing-file:detect"):
        stage(tmp_path / "nothing.onnx")
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        with raises(OptionError, "unsupported-device"):
            stage(model, device="cuda")
        assert stage(model, device="auto").device == "cpu"
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with raises(MissingExtraError, "missing-extra"):
        stage(model)


def test_model_path_is_relative_to_the_configuration_and_its_digest_is_noted(tmp_path: Path) -> None:
    model = write_detector(tmp_path / "yolov8n.onnx")
    detector = stage(Path("yolov8n.onnx"), context_of(tmp_path / "work", folder=tmp_path))
    (item,) = detector.process([item_of(picture(BALL, PLAYER), tmp_path)]).items
    assert item.boxes == found(BALL, PLAYER)
    digest = hashlib.sha256(model.read_bytes()).hexdigest()
    assert item.notes["detect"] == {"weights": f"yolov8n.onnx@{digest[:12]}"}


def test_yolov8_onnx_stage_is_registered_and_detects_the_same_boxes_after_pickling(tmp_path: Path) -> None:
    assert find("detect", "yolov8-onnx") is YoloV8Onnx
    sent = pickle.loads(pickle.dumps(stage(write_detector(tmp_path / "m.onnx"))))
    assert boxes_of([item_of(picture(BALL, PLAYER), tmp_path)], sent) == [found(BALL, PLAYER)]


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("size", [(360, 640), (720, 1280)])
def test_segmentation_model_adds_outlines_only_to_player_boxes(
    size: tuple[int, int], half: bool, tmp_path: Path
) -> None:
    """Check that the outline of a player drawn as a right triangle fits the triangle, not the box."""
    scale = size[1] // 640
    pixels = picture(tuple(scale * edge for edge in BALL), size=size)
    x1, y1, x2, y2 = (scale * edge for edge in (200, 60, 400, 340))
    ys, xs = np.mgrid[: size[0], : size[1]] + 0.5
    inside = (xs > x1) & (ys < y2) & ((xs - x1) / (x2 - x1) < (ys - y1) / (y2 - y1))
    pixels[inside] = (20, 20, 250)
    model = write_detector(tmp_path / "yolov8n-seg.onnx", masks=True, half=half)
    items = [item_of(pixels, tmp_path), item_of(picture(BALL, size=size), tmp_path, "match-000002000")]
    (ball, player), (alone,) = boxes_of(items, stage(model))
    assert ball.outline is None
    assert alone.outline is None
    assert player.outline is not None
    drawn = shapely.Polygon([(x1, y1), (x2, y2), (x1, y2)])
    seen = shapely.union_all([shapely.Polygon(polygon) for polygon in player.outline])
    assert seen.intersection(drawn).area / seen.union(drawn).area > 0.93
    assert seen.area < 0.6 * player.area

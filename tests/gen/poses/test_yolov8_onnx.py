"""Test YOLOv8-pose models in ONNX Runtime, with graphs that detect red and blue areas as people."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from spotball_core.errors import MissingExtraError, OptionError
from spotball_core.schema.scene import Scene
from spotball_core.typing import FloatArray
from spotball_gen.poses.estimator import Estimate
from spotball_gen.poses.yolov8_onnx import YoloV8PoseOnnx, YoloV8PoseSettings, _window
from tests.builders import scene
from tests.failures import raises

pytestmark = pytest.mark.slow
pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed: it comes with the gen extra")
pytest.importorskip("onnx", reason="onnx, which only these tests need, is not installed: make test-all installs it")

from tests.gen.models.yolo.onnx_models import POSE, picture, write_detector, write_pose_model  # noqa: E402

OPEN = {"batch": "batch", "height": "height", "width": "width"}
RED, BLUE = (40, 60, 80, 160), (400, 100, 460, 300)


def pose_in(box: tuple[float, ...]) -> FloatArray:
    """Return the keypoints that the graph detects for a person in a box."""
    x1, y1, x2, y2 = box
    return np.array([[x1 + across * (x2 - x1), y1 + down * (y2 - y1), seen] for across, down, seen in POSE])


def estimated(model: Path, one: Scene, pixels: NDArray[np.uint8], **settings: Any) -> Estimate:
    made = YoloV8PoseSettings.model_validate({"file": model, "device": "cpu", **settings})
    return YoloV8PoseOnnx(made, [one]).estimate(one, pixels)


@pytest.mark.parametrize("views", ["both", "image", "crops"])
@pytest.mark.parametrize("sides", [{}, {"batch": 3}, OPEN, {"height": 384, "width": 640}], ids=str)
@pytest.mark.parametrize("suppressed", [False, True])
def test_estimate_returns_the_keypoints_of_synthetic_people(
    sides: dict[str, Any], views: str, suppressed: bool, tmp_path: Path
) -> None:
    """Check slightly inaccurate boxes, as from a detector, and a third player who is not in the image."""
    model = write_pose_model(tmp_path / "m.onnx", suppressed=suppressed, **sides)
    players = [(402, 97, 463, 305), (200, 20, 230, 90), (38, 63, 79, 158)]
    estimate = estimated(model, scene("1", players=players), picture(RED, BLUE), views=views)
    assert (estimate.failures, estimate.unmatched) == ({1: "not detected"}, 0)
    # The whole image is not scaled; a crop is scaled, which blurs its edges by up to one pixel.
    off = 1e-3 if views == "image" else 1.0
    np.testing.assert_allclose(estimate.keypoints[0], pose_in(BLUE), atol=off)
    np.testing.assert_allclose(estimate.keypoints[2], pose_in(RED), atol=off)


def test_crops_find_people_that_are_too_small_in_the_whole_image(tmp_path: Path) -> None:
    """Check a person so small that no pixel of the person remains if the image is reduced to a tenth."""
    small = (306, 106, 313, 113)
    model = write_pose_model(tmp_path / "m.onnx", **OPEN)
    one, pixels = scene("1", players=[small]), picture(small)
    whole = estimated(model, one, pixels, views="image", size=64)
    both = estimated(model, one, pixels, views="both", size=64)
    assert (whole.failures, both.failures) == ({0: "not detected"}, {})
    np.testing.assert_allclose(both.keypoints[0], pose_in(small), atol=0.5)


def test_crops_do_not_assign_the_pose_of_a_neighbor_to_an_undetected_player(tmp_path: Path) -> None:
    """Check a second player who is not in the image, and whose crop shows the first one."""
    players = [BLUE, (470, 100, 530, 300)]
    model = write_pose_model(tmp_path / "m.onnx")
    estimate = estimated(model, scene("1", players=players), picture((0, 0, 2, 2), BLUE), views="crops")
    assert estimate.failures == {1: "not detected"}
    np.testing.assert_allclose(estimate.keypoints[0], pose_in(BLUE), atol=1)
    # A person who is not a player is counted as unmatched.
    estimate = estimated(model, scene("1", players=[BLUE]), picture(RED, BLUE))
    assert (estimate.failures, estimate.unmatched) == ({}, 1)


def test_estimate_does_not_depend_on_the_batch_size(tmp_path: Path) -> None:
    model = write_pose_model(tmp_path / "m.onnx", **OPEN)
    players = [RED, BLUE, (0, 0, 30, 30), (600, 300, 640, 360), (200, 10, 400, 40)]
    one, pixels = scene("1", players=players), picture(RED, BLUE)
    alone, together = (estimated(model, one, pixels, batch_size=n).keypoints for n in (1, 8))
    np.testing.assert_array_equal(alone, together)


def test_crop_window_is_clipped_to_the_image() -> None:
    """Check that a box of 20 x 40 gets 10 pixels on each side, except outside the image."""
    pixels = picture()
    assert _window(np.array([100.0, 100.0, 120.0, 140.0]), 1.5, pixels) == (90, 90, 130, 150)
    assert _window(np.array([0.0, 340.0, 20.0, 360.0]), 1.5, pixels) == (0, 335, 25, 360)
    assert _window(np.array([640.0, 360.0, 640.0, 360.0]), 1.5, pixels) == (639, 359, 640, 360)


@pytest.mark.parametrize(
    ("write", "metadata", "value"),
    [
        (write_pose_model, {"task": "detect"}, "task 'detect'"),
        (write_pose_model, {"imgsz": "x"}, "malformed node"),
        (write_detector, {"task": "pose"}, ""),
    ],
)
def test_pose_model_with_wrong_metadata_or_output_raises_option_error(
    write: Any, metadata: dict[str, str], value: str, tmp_path: Path
) -> None:
    model = write(tmp_path / "m.onnx", metadata=metadata)
    with raises(OptionError, "unusable-model") as caught:
        estimated(model, scene("1", players=[RED]), picture(RED))
    assert value in str(caught.value)


def test_missing_model_file_or_onnx_runtime_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = scene("1", players=[RED])
    with raises(OptionError, "missing-file"):
        estimated(tmp_path / "m.onnx", one, picture(RED))
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with raises(MissingExtraError, "missing-extra"):
        estimated(tmp_path / "m.onnx", one, picture(RED))

"""Test the crops and landmarks of BlazePose, without its weights."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from spotball_core.errors import OptionError
from spotball_core.schema.keypoints import KEYPOINT_NAMES
from spotball_gen.poses.blazepose import (
    COCO_LANDMARKS,
    IN_WHEEL,
    LANDMARKS,
    SIZE,
    BlazePose,
    SquareCrop,
    coco_keypoints,
)
from tests.failures import raises

# The order is that of PoseLandmark in mediapipe/python/solutions/pose.py.
BLAZEPOSE_NAMES = (
    *("nose", "left_eye_inner", "left_eye", "left_eye_outer", "right_eye_inner", "right_eye", "right_eye_outer"),
    *("left_ear", "right_ear", "mouth_left", "mouth_right", "left_shoulder", "right_shoulder"),
    *("left_elbow", "right_elbow", "left_wrist", "right_wrist", "left_pinky", "right_pinky", "left_index"),
    *("right_index", "left_thumb", "right_thumb", "left_hip", "right_hip", "left_knee", "right_knee"),
    *("left_ankle", "right_ankle", "left_heel", "right_heel", "left_foot_index", "right_foot_index"),
)


def test_coco_landmarks_select_the_coco_keypoints() -> None:
    assert len(BLAZEPOSE_NAMES) == 33
    assert tuple(BLAZEPOSE_NAMES[place] for place in COCO_LANDMARKS) == KEYPOINT_NAMES


def test_coco_keypoints_confidence_is_visibility_times_presence() -> None:
    landmarks = np.zeros((LANDMARKS, 4))
    landmarks[:, 0] = np.arange(LANDMARKS)
    landmarks[27] = [100, 200, 0.5, 0.75]
    keypoints = coco_keypoints(landmarks)
    assert keypoints[:, 0].tolist()[:15] == list(COCO_LANDMARKS[:15])
    assert keypoints[KEYPOINT_NAMES.index("left_ankle")].tolist() == [100, 200, 0.375]


class TestCrops:
    @given(st.floats(-50, 600), st.floats(-50, 300), st.floats(0, 200), st.floats(0, 200), st.floats(1, 4))
    def test_square_crop_is_centered_on_the_box(
        self, x: float, y: float, wide: float, high: float, enlarge: float
    ) -> None:
        crop = SquareCrop.around(np.array([x, y, x + wide, y + high]), enlarge)
        assert crop.side == pytest.approx(enlarge * max(wide, high, 1))
        assert crop.left + crop.side / 2 == pytest.approx(x + wide / 2, abs=1e-9)
        middle = np.zeros((17, 3))
        middle[:, :2] = SIZE / 2
        np.testing.assert_allclose(crop.to_image(middle)[0], [x + wide / 2, y + high / 2, 0], atol=1e-9)

    @pytest.mark.parametrize("box", [(300, 100, 340, 164), (280, 60, 420, 188), (0, 0, 20, 64), (620, 300, 660, 364)])
    def test_square_crop_to_image_maps_crop_positions_to_the_image(self, box: tuple[int, ...]) -> None:
        """Check that the center of a white patch maps to its center in the image, and that the outside is black."""
        image = np.full((360, 640, 3), 20, dtype=np.uint8)
        x, y = (box[0] + box[2]) // 2, (box[1] + box[3]) // 2
        image[y - 8 : y + 4, x - 5 : x + 7] = 255
        crop = SquareCrop.around(np.array(box, dtype=float), 1.5)
        pixels = crop.cut(image)
        assert pixels.shape == (SIZE, SIZE, 3)
        rows, columns = np.nonzero(pixels[..., 0] > 137)
        seen = np.zeros((17, 3))
        seen[:, :2] = columns.mean() + 0.5, rows.mean() + 0.5
        expected = x + 1 - max(0, x + 7 - 640) / 2, y - 2
        np.testing.assert_allclose(crop.to_image(seen)[0, :2], expected, atol=0.2)
        assert (pixels[0, 0] == 0).all() == (crop.left < -1 or crop.top < -1)


class TestWeights:
    def test_load_of_a_missing_file_is_an_error(self, tmp_path: Path) -> None:
        with raises(OptionError, "missing-file"):
            BlazePose.load(tmp_path / "m.whl")

    def test_load_of_a_wheel_without_weights_is_an_error(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "m.whl", "w") as wheel:
            wheel.writestr("mediapipe/__init__.py", "")
        with raises(OptionError, "wrong-folder"):
            BlazePose.load(tmp_path / "m.whl")

    @pytest.mark.parametrize("data", [b"", b"text", b"1234TFL3" + bytes(100)])
    def test_load_of_files_that_are_not_weights_is_an_error(self, data: bytes, tmp_path: Path) -> None:
        (tmp_path / "m.tflite").write_bytes(data)
        with zipfile.ZipFile(tmp_path / "m.whl", "w") as wheel:
            wheel.writestr(IN_WHEEL, data)
        for name in ("m.tflite", "m.whl"):
            with raises(OptionError, "unusable-model"):
                BlazePose.load(tmp_path / name)

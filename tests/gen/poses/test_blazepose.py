"""BlazePose's crops and landmarks, without its weights."""

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

# As MediaPipe lists them: mediapipe/python/solutions/pose.py, PoseLandmark.
BLAZEPOSE_NAMES = (
    *("nose", "left_eye_inner", "left_eye", "left_eye_outer", "right_eye_inner", "right_eye", "right_eye_outer"),
    *("left_ear", "right_ear", "mouth_left", "mouth_right", "left_shoulder", "right_shoulder"),
    *("left_elbow", "right_elbow", "left_wrist", "right_wrist", "left_pinky", "right_pinky", "left_index"),
    *("right_index", "left_thumb", "right_thumb", "left_hip", "right_hip", "left_knee", "right_knee"),
    *("left_ankle", "right_ankle", "left_heel", "right_heel", "left_foot_index", "right_foot_index"),
)


def test_cocos_keypoints_among_the_landmarks() -> None:
    assert len(BLAZEPOSE_NAMES) == 33
    assert tuple(BLAZEPOSE_NAMES[place] for place in COCO_LANDMARKS) == KEYPOINT_NAMES


def test_the_confidence_is_that_it_is_visible_and_there() -> None:
    landmarks = np.zeros((LANDMARKS, 4))
    landmarks[:, 0] = np.arange(LANDMARKS)
    landmarks[27] = [100, 200, 0.5, 0.75]
    keypoints = coco_keypoints(landmarks)
    assert keypoints[:, 0].tolist()[:15] == list(COCO_LANDMARKS[:15])
    assert keypoints[KEYPOINT_NAMES.index("left_ankle")].tolist() == [100, 200, 0.375]


class TestCrops:
    @given(st.floats(-50, 600), st.floats(-50, 300), st.floats(0, 200), st.floats(0, 200), st.floats(1, 4))
    def test_the_box_is_in_the_middle(self, x: float, y: float, wide: float, high: float, enlarge: float) -> None:
        crop = SquareCrop.around(np.array([x, y, x + wide, y + high]), enlarge)
        assert crop.side == pytest.approx(enlarge * max(wide, high, 1))
        assert crop.left + crop.side / 2 == pytest.approx(x + wide / 2, abs=1e-9)
        middle = np.zeros((17, 3))
        middle[:, :2] = SIZE / 2
        np.testing.assert_allclose(crop.to_image(middle)[0], [x + wide / 2, y + high / 2, 0], atol=1e-9)

    @pytest.mark.parametrize("box", [(300, 100, 340, 164), (280, 60, 420, 188), (0, 0, 20, 64), (620, 300, 660, 364)])
    def test_what_is_seen_in_a_crop_is_found_in_the_image(self, box: tuple[int, ...]) -> None:
        """The center of a white patch in the crop is the patch's center in the image; outside the image is black."""
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
    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(
            OptionError, match=r"the file .*m\.whl does not exist\. Download the weights with: pip download"
        ):
            BlazePose.load(tmp_path / "m.whl")

    def test_another_wheel(self, tmp_path: Path) -> None:
        with zipfile.ZipFile(tmp_path / "m.whl", "w") as wheel:
            wheel.writestr("mediapipe/__init__.py", "")
        with pytest.raises(OptionError, match=r"does not contain mediapipe/modules/.*\. Download the weights"):
            BlazePose.load(tmp_path / "m.whl")

    @pytest.mark.parametrize("data", [b"", b"text", b"1234TFL3" + bytes(100)])
    def test_other_files(self, data: bytes, tmp_path: Path) -> None:
        (tmp_path / "m.tflite").write_bytes(data)
        with zipfile.ZipFile(tmp_path / "m.whl", "w") as wheel:
            wheel.writestr(IN_WHEEL, data)
        for name in ("m.tflite", "m.whl"):
            with pytest.raises(OptionError, match=rf"{name} does not contain the weights of BlazePose: .*\. Download"):
                BlazePose.load(tmp_path / name)

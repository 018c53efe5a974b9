"""Test MediaPipe poses: crops and landmarks without weights, and poses with the original weights from PyPI."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from spotball_core.errors import OptionError
from spotball_core.io.scenes import read_scenes, write_scenes
from spotball_core.release.convert import import_release
from spotball_core.schema.keypoints import KEYPOINT_NAMES
from spotball_core.synthetic.pictures import draw_scene
from spotball_core.synthetic.scenes import synthetic_scenes
from spotball_core.typing import FloatArray
from spotball_gen.poses.checks import checked
from spotball_gen.poses.dataset import add_poses
from spotball_gen.poses.mediapipe import (
    COCO_LANDMARKS,
    IN_WHEEL,
    LANDMARKS,
    SIZE,
    BlazePose,
    MediaPipe,
    MediaPipeSettings,
    SquareCrop,
    agreed,
    coco_keypoints,
    mirrored,
)
from tests.failures import raises

pytest.importorskip("cv2", reason="OpenCV is not installed: it comes with the gen extra")

VERSION = "0.10.14"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the path of MediaPipe's wheel. The platform is irrelevant because only the weights are read."""
    folder = tmp_path_factory.mktemp("wheel")
    options = ("--no-deps", "--only-binary", ":all:", "--python-version", "3.11", "--platform", "manylinux2014_x86_64")
    download = (sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder, *options)
    done = subprocess.run([*download, f"mediapipe=={VERSION}"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"pip cannot download mediapipe {VERSION}: {done.stderr.strip().splitlines()[-1:]}")
    (path,) = folder.glob("*.whl")
    return path


def pose(side: float) -> FloatArray:
    """Return a pose with the left keypoints `side` pixels to the right of the right ones."""
    points = np.zeros((17, 3))
    points[:, 1], points[:, 2] = np.arange(17) * 10.0, 0.8
    points[1::2, 0], points[2::2, 0] = 100 + side / 2, 100 - side / 2
    return points


def test_mirrored_keeps_the_direction_a_person_faces() -> None:
    """Check that a person facing the camera has the left side on the right of the image, mirrored or not."""
    once = mirrored(pose(30))
    assert once[5, 0] == SIZE - (100 - 15)
    assert (once[1::2, 0] > once[2::2, 0]).all()
    assert mirrored(once).tolist() == pose(30).tolist()


def test_agreed_averages_positions_and_lowers_confidence_with_distance() -> None:
    """Check against plain arithmetic for the left knee, which has a sigma of 0.087."""
    first, second = pose(30), pose(30)
    assert agreed(first, second, area=1e4).tolist() == first.tolist()
    second[13, :2] += [6, 8]
    result = agreed(first, second, area=1e4)
    assert result[13].tolist() == pytest.approx([118, 134, 0.8 * np.exp(-100 / (2 * 1e4 * 0.174**2))])
    np.testing.assert_array_equal(np.delete(result, 13, axis=0), np.delete(first, 13, axis=0))


def test_agreed_has_low_confidence_if_one_pose_faces_the_front_and_the_other_the_back() -> None:
    """Check shoulders 40 pixels apart in a box of 60 x 160; a shift of the whole body matters less."""
    turned = agreed(pose(40), pose(-40), area=60 * 160)
    shifted = agreed(pose(40), pose(40) + np.array([40, 0, 0]), area=60 * 160)
    assert (turned[[5, 6, 11, 12], 2] < 0.05).all()
    assert (shifted[[11, 12], 2] > 0.1).all()


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
    def test_square_crop_around_a_box_is_centered_on_it(
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
        """Check that the center of a white patch maps to its center in the image, and that padding is black."""
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


@pytest.mark.parametrize("data", [b"", b"text", b"1234TFL3" + bytes(100)])
def test_blazepose_load_of_files_without_weights_is_an_error(data: bytes, tmp_path: Path) -> None:
    with raises(OptionError, "missing-file"):
        BlazePose.load(tmp_path / "none.whl")
    (tmp_path / "m.tflite").write_bytes(data)
    for name, inside in (("m.whl", IN_WHEEL), ("other.whl", "mediapipe/__init__.py")):
        with zipfile.ZipFile(tmp_path / name, "w") as wheel:
            wheel.writestr(inside, data)
    for name, code in (("m.tflite", "unusable-model"), ("m.whl", "unusable-model"), ("other.whl", "wrong-folder")):
        with raises(OptionError, code):
            BlazePose.load(tmp_path / name)


def figure() -> NDArray[np.uint8]:
    """Return an image of a person made of a disk and five rectangles, seen from the front."""
    pixels = np.full((SIZE, SIZE, 3), 90, dtype=np.uint8)
    rows, columns = np.mgrid[:SIZE, :SIZE]
    skin, shirt, dark = (224, 172, 132), (206, 60, 52), (40, 40, 60)
    pixels[(columns - 128) ** 2 + (rows - 58) ** 2 <= 14**2] = skin
    pixels[74:134, 108:148] = shirt
    pixels[76:128, 96:107] = pixels[76:128, 149:160] = skin
    pixels[134:206, 110:126] = pixels[134:206, 130:146] = dark
    return pixels


@pytest.mark.slow
def test_blazepose_equals_tensorflow_lite(wheel: Path) -> None:
    """Check landmarks of a synthetic figure against TensorFlow Lite's interpreter (ai-edge-litert 2.3.0)."""
    landmarks, person = BlazePose.load(wheel).run(figure())
    expected = {
        0: [129.636, 66.868, 0.921, 0.628],
        11: [144.671, 77.647, 0.958, 0.751],
        12: [113.697, 75.839, 0.960, 0.662],
        23: [136.502, 130.451, 0.886, 0.768],
        24: [117.540, 129.887, 0.857, 0.669],
        27: [130.373, 191.294, 0.137, 0.037],
        28: [119.248, 192.706, 0.169, 0.032],
    }
    for place, values in expected.items():
        np.testing.assert_allclose(landmarks[place], values, atol=0.01)
    assert person == pytest.approx(0.8841, abs=1e-3)


@pytest.mark.slow
def test_mediapipe_finds_heads_and_feet_of_synthetic_players(wheel: Path) -> None:
    """Check that most poses have the head in the upper and the ankles in the lower part of the box."""
    estimator = MediaPipe(MediaPipeSettings(file=wheel), [])
    heads, feet, n_players = [], [], 0
    for scene in synthetic_scenes(4, seed=1):
        image = np.asarray(draw_scene(scene, ball=False).convert("RGB"))
        poses = checked(estimator.estimate(scene, image), scene).keypoints
        n_players += len(poses)
        for points, (_, top, _, bottom) in zip(poses, scene.boxes, strict=True):
            if not np.isnan(points).any():
                heads.append((points[0, 1] - top) / (bottom - top))
                feet.append((points[15:, 1].mean() - top) / (bottom - top))
    assert len(heads) >= n_players / 2
    assert np.median(heads) < 0.25
    assert np.median(feet) > 0.7


@pytest.mark.slow
@pytest.mark.real
def test_mediapipe_finds_most_players_in_published_photos(wheel: Path, real_release: Path, tmp_path: Path) -> None:
    import_release(real_release).write(tmp_path / "set")
    known = read_scenes(tmp_path / "set/scenes.jsonl")[::3]
    write_scenes(known, tmp_path / "set/scenes.jsonl")
    report = add_poses(tmp_path / "set", "mediapipe", tmp_path / "posed", {"file": str(wheel)})
    assert report.n_players == sum(len(scene.players or ()) for scene in known) > 80
    assert report.n_poses / report.n_players > 0.7
    assert report.n_poses + sum(report.failures.values()) == report.n_players

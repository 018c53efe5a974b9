"""Estimator `mediapipe`: the pose landmark model of MediaPipe 0.10.14, whose package contains the weights."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from spotball_core.errors import OptionError
from spotball_core.schema.keypoints import KEYPOINT_NAMES
from spotball_core.schema.scene import Scene
from spotball_core.typing import FloatArray
from spotball_gen.items.item import Image
from spotball_gen.items.pictures import opencv
from spotball_gen.poses.checks import SIGMAS, keypoint_similarity
from spotball_gen.poses.estimator import Estimate, FailureReason, PoseSettings, no_pose

SIZE = 256
"""Side length of the input in pixels."""

LANDMARKS = 39
"""Number of landmarks: 33 of the body, and 6 that only MediaPipe's tracking uses."""

COCO_LANDMARKS = (0, 2, 5, 7, 8, 11, 12, 13, 14, 15, 16, 23, 24, 25, 26, 27, 28)
"""Landmark index of each COCO keypoint: nose, eyes (their centers), ears, shoulders, elbows, ..."""

IN_WHEEL = "mediapipe/modules/pose_landmark/pose_landmark_full.tflite"

_GET_IT = "Download the weights with: pip download --no-deps mediapipe==0.10.14"


@dataclass(frozen=True)
class BlazePose:
    """BlazePose's landmark model, run by OpenCV.

    Attributes:
        net: OpenCV's network.
    """

    net: Any

    @classmethod
    def load(cls, path: Path) -> BlazePose:
        """Read weights from MediaPipe's wheel, or from a file such as pose_landmark_full.tflite.

        Raises:
            OptionError: if the file does not exist, or does not contain the weights of BlazePose.
            MissingExtraError: if OpenCV is not installed.
        """
        cv2 = opencv()
        data = _weights(path)
        try:
            if data[4:8] != b"TFL3":
                raise ValueError("the file is not a TensorFlow Lite file")
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder, "weights.tflite")
                file.write_bytes(data)
                # OpenCV 5 returns only one output with its new engine, and ignores the choice of engine for bytes.
                new = int(cv2.__version__.split(".")[0]) >= 5
                engine = {"engine": cv2.dnn.ENGINE_CLASSIC} if new else {}
                model = cls(cv2.dnn.readNetFromTFLite(str(file), **engine))
            model.run(np.zeros((SIZE, SIZE, 3), dtype=np.uint8))
        except (cv2.error, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise OptionError(
                f"{path} does not contain the weights of BlazePose: {reason}. {_GET_IT}", code="unusable-model"
            ) from error
        return model

    def run(self, crop: Image) -> tuple[FloatArray, float]:
        """Return the landmarks of the person in a crop.

        Args:
            crop: RGB, shape (256, 256, 3), with the person in the center and some margin.

        Returns:
            The landmarks, shape (39, 4): x and y in pixels of the crop, and the probabilities that the landmark is
            visible and that it is within the crop; and the probability that there is a person.

        Raises:
            ValueError: if the network does not return 39 x 5 numbers for landmarks and one number for the person.
        """
        pixels = np.ascontiguousarray(crop.transpose(2, 0, 1)[None], dtype=np.float32) / np.float32(255)
        self.net.setInput(pixels)
        landmarks, person = self.net.forward(["Identity", "Identity_1"])
        if landmarks.size != LANDMARKS * 5 or person.size != 1:
            raise ValueError(
                f"the model's outputs have {landmarks.size} and {person.size} numbers instead of {LANDMARKS * 5} and 1"
            )
        x, y, _, visible, present = landmarks.reshape(LANDMARKS, 5).astype(float).T
        return np.stack([x, y, _probability(visible), _probability(present)], axis=1), float(person.item())


def coco_keypoints(landmarks: FloatArray) -> FloatArray:
    """Convert BlazePose's landmarks to COCO's 17 keypoints.

    Args:
        landmarks: shape (39, 4): x, y, and the probabilities of being visible and present.

    Returns:
        Shape (17, 3): x, y, and the confidence, which is the product of the two probabilities.
    """
    chosen = landmarks[list(COCO_LANDMARKS)]
    return np.concatenate([chosen[:, :2], chosen[:, 2:3] * chosen[:, 3:4]], axis=1)


def mirrored(keypoints: FloatArray) -> FloatArray:
    """Convert keypoints of a mirrored crop, shape (17, 3), to the original crop: reverse x, swap left and right."""
    swapped = keypoints[[0, *(place + (1 if place % 2 else -1) for place in range(1, len(KEYPOINT_NAMES)))]]
    swapped[:, 0] = SIZE - swapped[:, 0]
    return swapped


@dataclass(frozen=True, slots=True)
class SquareCrop:
    """A square part of an image around a player, scaled to the input's size.

    Attributes:
        left, top: position of the square's top left corner in pixels of the image; it may be outside the image.
        side: side length of the square in pixels of the image.
    """

    left: float
    top: float
    side: float

    @classmethod
    def around(cls, box: FloatArray, enlarge: float) -> SquareCrop:
        """Return the square around a box's center. Its side is the box's longer side times `enlarge`.

        Examples:
            >>> SquareCrop.around(np.array([10, 20, 30, 60]), 1.5)
            SquareCrop(left=-10.0, top=10.0, side=60.0)
        """
        x1, y1, x2, y2 = map(float, box)
        side = max(x2 - x1, y2 - y1, 1.0) * enlarge
        return cls((x1 + x2 - side) / 2, (y1 + y2 - side) / 2, side)

    def cut(self, image: Image) -> Image:
        """Return the crop, shape (256, 256, 3). Parts outside the image are black."""
        cv2 = opencv()
        scale = SIZE / self.side
        matrix = np.array([[scale, 0, -self.left * scale], [0, scale, -self.top * scale]])
        # Pixel centers are at half-integers here, but at integers in OpenCV.
        matrix[:, 2] += (scale - 1) / 2
        crop: NDArray[np.uint8] = cv2.warpAffine(image, matrix, (SIZE, SIZE), flags=cv2.INTER_LINEAR)
        return crop

    def to_image(self, keypoints: FloatArray) -> FloatArray:
        """Convert keypoints of the crop, shape (17, 3), to keypoints of the image."""
        moved = keypoints.copy()
        moved[:, :2] = keypoints[:, :2] * (self.side / SIZE) + [self.left, self.top]
        return moved


def _weights(path: Path) -> bytes:
    """Return the bytes of the weights in a file or in a wheel."""
    if not path.is_file():
        raise OptionError(f"the file {path} does not exist. {_GET_IT}", code="missing-file")
    if not zipfile.is_zipfile(path):
        return path.read_bytes()
    with zipfile.ZipFile(path) as wheel:
        try:
            return wheel.read(IN_WHEEL)
        except (KeyError, zipfile.BadZipFile) as error:
            raise OptionError(f"{path} does not contain {IN_WHEEL}. {_GET_IT}", code="wrong-folder") from error


def _probability(logits: FloatArray) -> FloatArray:
    probability: FloatArray = 1 / (1 + np.exp(-np.clip(logits, -50, 50)))
    return probability


_LEFT, _RIGHT = [5, 11], [6, 12]
"""Indices of COCO's keypoints: left shoulder and hip, right shoulder and hip."""


class MediaPipeSettings(PoseSettings):
    """Settings of `mediapipe`.

    Attributes:
        file: MediaPipe's wheel, or pose_landmark_full.tflite, which it contains.
        person: minimum probability, according to the model, that a crop shows a person.
        enlarge: side of the square crop, as a multiple of the longer side of the player's box. MediaPipe's own crops
            are about 1.45 times the box. On the published soccer images, 1.5 finds most players.
        mirror: whether to estimate the pose in the mirrored crop as well, and to reduce the confidence of keypoints on
            which the two estimates differ. This doubles the time.
    """

    file: Path
    person: float = Field(0.5, ge=0, le=1)
    enlarge: float = Field(1.5, ge=1, le=4)
    mirror: bool = True


class MediaPipe:
    """Estimate the pose in a crop around each player's box.

    MediaPipe's person detector is not needed, because the box locates the player.
    """

    Settings: ClassVar[type[PoseSettings]] = MediaPipeSettings
    needs_images: ClassVar[bool] = True
    version: ClassVar[str] = "1"

    def __init__(self, settings: MediaPipeSettings, scenes: Sequence[Scene]) -> None:
        self.settings = settings

    def estimate(self, scene: Scene, image: Image | None) -> Estimate:
        """Estimate one pose per player.

        Raises:
            OptionError: if the file does not exist, or does not contain the weights of BlazePose.
            MissingExtraError: if OpenCV is not installed.
        """
        assert image is not None
        keypoints = no_pose(len(scene.boxes))
        failures: dict[int, FailureReason] = {}
        for player, box in enumerate(scene.boxes):
            pose, person = self._pose(image, box)
            if person >= self.settings.person and np.isfinite(pose).all():
                keypoints[player] = pose
            else:
                failures[player] = "not detected"
        return Estimate(keypoints, failures)

    def _pose(self, image: Image, box: FloatArray) -> tuple[FloatArray, float]:
        """Return the keypoints of the player in a box, and the probability that there is a person."""
        crop = SquareCrop.around(box, self.settings.enlarge)
        pixels = crop.cut(image)
        landmarks, person = self._model.run(pixels)
        pose = crop.to_image(coco_keypoints(landmarks))
        if not self.settings.mirror:
            return pose, person
        landmarks, mirrored_person = self._model.run(np.ascontiguousarray(pixels[:, ::-1]))
        second = crop.to_image(mirrored(coco_keypoints(landmarks)))
        return agreed(pose, second, float((box[2:] - box[:2]).prod())), (person + mirrored_person) / 2

    @cached_property
    def _model(self) -> BlazePose:
        return BlazePose.load(self.settings.file)


def agreed(first: FloatArray, second: FloatArray, area: float) -> FloatArray:
    """Return the mean of two estimates of a pose, with reduced confidence in keypoints on which they differ.

    The mean confidence of a keypoint is multiplied by COCO's similarity of its two positions, which is 1 for equal and
    0 for distant positions. The confidence of shoulders is also multiplied by the similarity of the two vectors from
    the right to the left shoulder, and the confidence of hips likewise. If the estimates confuse the sides, the mean
    positions of left and right coincide, and the direction of the torso is unknown.

    Args:
        first: keypoints of the first estimate, shape (17, 3).
        second: keypoints of the second estimate, shape (17, 3).
        area: area of the player's box in square pixels.
    """
    mean: FloatArray = (first + second) / 2
    mean[:, 2] *= keypoint_similarity(first, second, area)
    across, across_second = (pose[_LEFT, :2] - pose[_RIGHT, :2] for pose in (first, second))
    squared = ((across - across_second) ** 2).sum(axis=1)
    same_side = np.exp(-squared / (2 * max(area, 1.0) * (2 * SIGMAS[_LEFT]) ** 2))
    mean[_LEFT, 2] *= same_side
    mean[_RIGHT, 2] *= same_side
    return mean

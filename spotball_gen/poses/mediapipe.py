"""Estimator `mediapipe`: the pose landmark model of MediaPipe 0.10.14, whose package contains the weights."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic import Field

from spotball_core.schema.scene import Scene
from spotball_core.typing import FloatArray
from spotball_gen.items.item import Image
from spotball_gen.poses.blazepose import BlazePose, SquareCrop, coco_keypoints, mirrored
from spotball_gen.poses.checks import SIGMAS, keypoint_similarity
from spotball_gen.poses.estimator import Estimate, FailureReason, PoseSettings, no_pose

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

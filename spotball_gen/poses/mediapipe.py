"""Kind `mediapipe`: the pose landmarks of MediaPipe 0.10.14, whose package contains the weights."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
from pydantic import Field

from spotball_core.schema.scene import Scene
from spotball_gen.items.item import Image
from spotball_gen.poses.blazepose import BlazePose, SquareCrop, coco_keypoints
from spotball_gen.poses.estimator import Estimate, FailureReason, PoseSettings, no_pose


class MediaPipeSettings(PoseSettings):
    """Settings of `mediapipe`.

    Attributes:
        file: MediaPipe's wheel, or pose_landmark_full.tflite, which it contains.
        person: the model's probability that a crop shows a person must be at least this.
        enlarge: side of the square crop, as a multiple of the longer side of the player's box. MediaPipe's own crops
            are about 1.45 times the box, and on the published soccer images 1.5 finds most players.
    """

    file: Path
    person: float = Field(0.5, ge=0, le=1)
    enlarge: float = Field(1.5, ge=1, le=4)


class MediaPipe:
    """Estimates the pose in a crop around each player's box.

    MediaPipe's own detector of people is not used: the box says where the player is.
    """

    Settings: ClassVar[type[PoseSettings]] = MediaPipeSettings
    needs_images: ClassVar[bool] = True
    version: ClassVar[str] = "1"

    def __init__(self, settings: MediaPipeSettings, scenes: Sequence[Scene]) -> None:
        self.settings = settings

    def estimate(self, scene: Scene, image: Image | None) -> Estimate:
        """Estimate one pose per player.

        Raises:
            OptionError: if the file has no such weights.
            MissingExtraError: without OpenCV.
        """
        assert image is not None
        keypoints = no_pose(len(scene.boxes))
        failures: dict[int, FailureReason] = {}
        for player, box in enumerate(scene.boxes):
            crop = SquareCrop.around(box, self.settings.enlarge)
            landmarks, person = self._model.run(crop.cut(image))
            if person >= self.settings.person and np.isfinite(landmarks).all():
                keypoints[player] = crop.to_image(coco_keypoints(landmarks))
            else:
                failures[player] = "not detected"
        return Estimate(keypoints, failures)

    @cached_property
    def _model(self) -> BlazePose:
        return BlazePose.load(self.settings.file)

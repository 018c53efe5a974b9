"""Define a pose estimator of another package that puts all keypoints in the middle of each box."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from spotball_core import Scene
from spotball_gen.poses.estimator import Estimate, PoseSettings, no_pose
from tests.packages import install_package


class MiddleSettings(PoseSettings):
    confidence: float
    fail_at: str = ""


class Middle:
    Settings: ClassVar[type[PoseSettings]] = MiddleSettings
    needs_images: ClassVar[bool] = True
    version: ClassVar[str] = "3"

    def __init__(self, settings: MiddleSettings, scenes: Sequence[Scene]) -> None:
        self.settings = settings

    def estimate(self, scene: Scene, image: NDArray[np.uint8] | None) -> Estimate:
        assert image is not None
        assert image.shape == (scene.height, scene.width, 3)
        if scene.image == self.settings.fail_at:
            raise KeyboardInterrupt
        keypoints = no_pose(len(scene.boxes))
        keypoints[..., :2] = ((scene.boxes[:, :2] + scene.boxes[:, 2:]) / 2)[:, None]
        keypoints[..., 2] = self.settings.confidence
        return Estimate(keypoints, {})


def install(folder: Path) -> Path:
    """Return a folder that provides the kind `middle` like an installed package once it is on the path."""
    return install_package(folder, "toy-poses", "spotball.poses", {"middle": "tests.gen.poses.toy_poses:Middle"})

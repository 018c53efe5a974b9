"""The job of `spotball run`: a dataset's scenes, as images with grids."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from spotball_adapters.prompts.picture import ScenePictures
from spotball_adapters.runs.job import RunJob
from spotball_adapters.runs.store import SCENES
from spotball_core.io.scenes import write_scenes
from spotball_core.overlay import layout
from spotball_core.schema.scene import Scene


@dataclass(frozen=True)
class SceneJob(RunJob[Scene]):
    """Job that asks about the scenes of a dataset.

    Attributes:
        dataset: the dataset's folder.
        scenes: all scenes of the dataset, including those that the run does not ask about.
    """

    dataset: Path = field(kw_only=True)
    scenes: tuple[Scene, ...] = field(kw_only=True)

    kept_file: ClassVar[str] = SCENES
    without_pictures: ClassVar[tuple[str, ...]] = ("baseline",)

    def pictures(self, cache: Path | None) -> ScenePictures | None:
        """Return the images with their grids, or None if the provider does not use images."""
        return ScenePictures(self.dataset, cache) if self.looks else None

    def size(self, item: Scene) -> tuple[int, int]:
        """Return the width and height of a scene's image, in pixels."""
        return layout(item.layout).size

    def about(self) -> Mapping[str, Any]:
        """Return the digest of the scenes. Keypoints are excluded, because no prompt shows them."""
        scenes = sorted(scene.model_dump_json(exclude={"player_keypoints"}) for scene in self.scenes)
        return {"scenes": hashlib.sha256("\n".join(scenes).encode()).hexdigest()}

    def keep(self, out: Path) -> None:
        """Write the scenes, so that the run's folder is a dataset."""
        write_scenes(self.scenes, out / SCENES)

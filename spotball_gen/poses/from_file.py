"""Estimator `file`: read keypoints that another tool has written as COCO JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from spotball_core.errors import InputError, OptionError, Problem
from spotball_core.schema.scene import Scene
from spotball_gen.items.item import Image
from spotball_gen.poses.coco_results import image_names, read_people
from spotball_gen.poses.estimator import Estimate, PoseSettings
from spotball_gen.poses.matching import Person, match


class FileSettings(PoseSettings):
    """Settings of `file`.

    Attributes:
        file: the JSON file.
        score: people with a lower score are ignored.
        overlap: minimum intersection over union of a person's box and a player's box.
        inside: minimum share of a person's keypoints in the player's box, for people without a box.
        other_images: whether keypoints of images that are not in the dataset are an error.
    """

    file: Path
    score: float = 0.0
    overlap: float = Field(0.3, gt=0, le=1)
    inside: float = Field(0.5, gt=0, le=1)
    other_images: Literal["error", "ignore"] = "error"


class FromFile:
    """Match the people in a file of keypoints to the players.

    Raises:
        InputError: if the file cannot be read, or if it has people in an image that is not in the dataset and
            `other_images` is `error`.
        OptionError: if an image in the file could belong to two scenes.
    """

    Settings: ClassVar[type[PoseSettings]] = FileSettings
    needs_images: ClassVar[bool] = False
    version: ClassVar[str] = "1"

    def __init__(self, settings: FileSettings, scenes: Sequence[Scene]) -> None:
        self.settings = settings
        people = read_people(settings.file, settings.score)
        self._people: dict[tuple[str, str], list[Person]] = {}
        owners: dict[str, Scene] = {}
        for scene in scenes:
            names = [name for name in image_names(scene.sport, scene.image, scene.path) if name in people]
            for name in names[:1]:
                if name in owners:
                    first, second = ("/".join(candidate.key) for candidate in (owners[name], scene))
                    problem = f"the image name {name!r} fits {first} and {second}. Add the sport, as in {first}"
                    raise OptionError(f"{problem}", code="invalid-value", file=settings.file)
                owners[name] = scene
                self._people[scene.key] = people[name]
        others = [name for name in people if name not in owners and people[name]]
        if others and settings.other_images == "error":
            expected = "an image in the dataset. To ignore other images, add --option other_images=ignore"
            raise InputError(
                Problem("unknown-image", str(settings.file), None, "image", repr(name), expected) for name in others
            )

    def estimate(self, scene: Scene, image: Image | None) -> Estimate:
        """Match the people in one image to its players."""
        people = self._people.get(scene.key, [])
        return match(people, scene.boxes, overlap=self.settings.overlap, inside=self.settings.inside)

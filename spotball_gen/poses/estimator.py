"""The pose estimator interface, and the lookup of estimators by name (entry point group `spotball.poses`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from spotball_core.errors import OptionError, unknown_name
from spotball_core.schema.faults import expected_of
from spotball_core.schema.keypoints import KEYPOINT_NAMES
from spotball_core.schema.scene import Scene
from spotball_core.service.plugins import load_registered, registered_names
from spotball_core.typing import FloatArray
from spotball_gen.items.item import Image

GROUP = "spotball.poses"

FailureReason = Literal["not detected", "too few keypoints near the box", "same body as another player"]
"""The reason why a player has no pose."""


class PoseSettings(BaseModel):
    """Base class of an estimator's settings. Unknown settings raise an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


@dataclass(frozen=True)
class Estimate:
    """The poses of one scene's players.

    Attributes:
        keypoints: shape (n_players, 17, 3): x and y in pixels, confidence in [0, 1]; NaN rows if no pose was found.
        failures: why a player has no pose, by the player's index, for every player with NaN rows.
        unmatched: number of detected people who match no player.
    """

    keypoints: FloatArray
    failures: Mapping[int, FailureReason]
    unmatched: int = 0


class PoseEstimator(Protocol):
    """Interface of a pose estimator, which is created from its settings.

    An entry point of the group `spotball.poses` refers to a class with this interface.
    """

    Settings: ClassVar[type[PoseSettings]]
    """The pydantic model that validates `--file` (as `file`) and `--option KEY=VALUE`."""
    needs_images: ClassVar[bool]
    """Whether `estimate` uses the image."""
    version: ClassVar[str]
    """Version of the estimator. Change it whenever results may differ."""

    def __init__(self, settings: Any, scenes: Sequence[Scene]) -> None:
        """Create an estimator from an instance of `Settings`, for all scenes of a dataset."""
        ...

    def estimate(self, scene: Scene, image: Image | None) -> Estimate:
        """Estimate the poses of a scene's players. The caller removes implausible poses; see `poses.checks.checked`.

        Args:
            scene: a scene with at least one player.
            image: RGB, of the scene's size, or None if `needs_images` is false.
        """
        ...


def kinds() -> tuple[str, ...]:
    """Return the sorted names of all installed kinds of pose estimators."""
    return registered_names(GROUP)


def make_estimator(kind: str, options: Mapping[str, str], scenes: Sequence[Scene]) -> PoseEstimator:
    """Create a pose estimator of the given kind, with options as text, for the scenes of a dataset.

    Raises:
        OptionError: if the kind is unknown, or if an option is unknown, missing or invalid.
        MissingExtraError: if the kind needs a package that is not installed.
    """
    make: type[PoseEstimator] = load_registered(GROUP, "kind of pose estimator", kind)
    try:
        settings = make.Settings.model_validate(options)
    except ValidationError as error:
        lines = [_problem(kind, make.Settings, detail) for detail in error.errors(include_url=False)]
        raise OptionError("\n".join(lines), code="invalid-value") from error
    return make(settings, scenes)


def no_pose(n_players: int) -> FloatArray:
    """Return the keypoints of players without poses: NaN, shape (n_players, 17, 3)."""
    return np.full((n_players, len(KEYPOINT_NAMES), 3), np.nan)


def _problem(kind: str, settings: type[PoseSettings], detail: Any) -> str:
    name = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "missing":
        return f"{kind}: {name} is missing. Add {'--file FILE' if name == 'file' else f'--option {name}=VALUE'}"
    if detail["type"] == "extra_forbidden":
        return f"{kind}: {unknown_name('option', name, settings.model_fields)}"
    return f"{kind}: {name}: found {detail['input']!r:.80}, expected {expected_of(detail)}"

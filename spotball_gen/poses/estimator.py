"""The pose estimator interface, and the lookup of estimators by name (entry point group `spotball.poses`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from spotball_core.errors import MissingExtraError, OptionError, unknown_name
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


@dataclass(frozen=True)
class Person:
    """A person that an estimator detected.

    Attributes:
        keypoints: shape (17, 3): x and y in pixels of the image, and confidence in [0, 1].
        box: x1, y1, x2, y2 in pixels, shape (4,), or None if the estimator returns no box.
    """

    keypoints: FloatArray
    box: FloatArray | None = None


def match(people: Sequence[Person], boxes: FloatArray, *, overlap: float, inside: float) -> Estimate:
    """Match people to players by their boxes, and return the players' poses.

    The assignment maximizes the sum of similarities. The similarity is the intersection over union of the two boxes.
    For a person without a box, it is the share of detected keypoints inside the player's box, plus the intersection
    over union of this box and the box around the keypoints.

    Args:
        people: the detected people.
        boxes: boxes of the players, shape (n_players, 4).
        overlap: minimum intersection over union of two matching boxes.
        inside: minimum share of keypoints in the player's box, for people without a box.

    Raises:
        MissingExtraError: if SciPy is not installed.
    """
    try:
        from scipy.optimize import linear_sum_assignment
    except ImportError as error:
        raise MissingExtraError("matching people to players", "gen") from error

    similarities = np.array([_similarities(person, boxes, overlap, inside) for person in people]).reshape(
        -1, len(boxes)
    )
    keypoints = no_pose(len(boxes))
    matched: set[int] = set()
    for number, player in zip(*linear_sum_assignment(similarities, maximize=True), strict=True):
        if similarities[number, player] > 0:
            keypoints[player] = people[number].keypoints
            matched.add(int(player))
    failures: dict[int, FailureReason] = {
        player: "not detected" for player in range(len(boxes)) if player not in matched
    }
    return Estimate(keypoints, failures, unmatched=len(people) - len(matched))


def overlaps(box: FloatArray, boxes: FloatArray) -> FloatArray:
    """Return the intersection over union of one box with each of several boxes, shape (n,); 0 if both have no area.

    Args:
        box: x1, y1, x2, y2, shape (4,).
        boxes: shape (n, 4).

    Examples:
        >>> others = np.array([[1.0, 0.0, 3.0, 2.0], [5.0, 5.0, 6.0, 6.0]])
        >>> overlaps(np.array([0.0, 0.0, 2.0, 2.0]), others).round(3).tolist()
        [0.333, 0.0]
    """
    low, high = np.maximum(box[:2], boxes[:, :2]), np.minimum(box[2:], boxes[:, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=1)
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
    union = (box[2:] - box[:2]).prod() + areas - shared
    share: FloatArray = np.divide(shared, union, out=np.zeros(len(boxes)), where=union > 0)
    return share


def _similarities(person: Person, boxes: FloatArray, overlap: float, inside: float) -> FloatArray:
    """Return the person's similarity to each player; 0 where the overlap or share is below the required minimum."""
    if person.box is not None:
        shares = overlaps(person.box, boxes)
        return np.where(shares >= overlap, shares, 0.0)
    points = person.keypoints[person.keypoints[:, 2] > 0, :2]
    if not len(points):
        return np.zeros(len(boxes))
    within = ((points[:, None] >= boxes[:, :2]) & (points[:, None] <= boxes[:, 2:])).all(axis=-1).mean(axis=0)
    around = np.concatenate([points.min(axis=0), points.max(axis=0)])
    return np.where(within >= inside, within + overlaps(around, boxes), 0.0)

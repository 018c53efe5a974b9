"""The report of `spotball cues poses`, poses.json, which counts the players with and without a pose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import NonNegativeInt, PositiveInt

from spotball_core.schema.record import Identifier, Name, Record
from spotball_core.schema.scene import Scene
from spotball_gen.poses.estimator import Estimate, FailureReason


class PoseFailure(Record):
    """A player without a pose.

    Attributes:
        player: number of the player in the scene, from 1.
        reason: why the pose is missing.
    """

    player: PositiveInt
    reason: FailureReason


class ImagePoses(Record):
    """Counts of players with and without a pose in one image.

    Attributes:
        n_players: number of players with a box.
        n_poses: number of players with a pose.
        failures: the players without a pose.
        unmatched: number of detected people who match no player, such as spectators.
    """

    sport: Identifier
    image: Identifier
    n_players: NonNegativeInt
    n_poses: NonNegativeInt
    failures: tuple[PoseFailure, ...]
    unmatched: NonNegativeInt


class PosesReport(Record):
    """Settings of a pose estimation, and counts of players with and without a pose.

    Attributes:
        estimator: kind of the estimator, as in the option `--with`.
        version: version of the estimator; it changes whenever results may differ.
        options: options of the estimator, as text.
        n_images: number of images in the dataset.
        n_without_players: number of images without boxes of players, which have no poses.
        n_players: number of players with a box.
        n_poses: number of players with a pose.
        failures: number of players without a pose, by reason.
        unmatched: number of detected people who match no player.
        images: counts per image.
    """

    schema_version: Literal[1] = 1
    estimator: Name
    version: Name
    options: Mapping[str, str]
    n_images: NonNegativeInt
    n_without_players: NonNegativeInt
    n_players: NonNegativeInt
    n_poses: NonNegativeInt
    failures: Mapping[FailureReason, NonNegativeInt]
    unmatched: NonNegativeInt
    images: tuple[ImagePoses, ...]


def image_poses(scene: Scene, estimate: Estimate) -> ImagePoses:
    """Return the counts of players with and without a pose in one image."""
    n_players = len(scene.boxes)
    return ImagePoses(
        sport=scene.sport,
        image=scene.image,
        n_players=n_players,
        n_poses=n_players - len(estimate.failures),
        failures=tuple(PoseFailure(player=i + 1, reason=reason) for i, reason in estimate.failures.items()),
        unmatched=estimate.unmatched,
    )


def poses_report(kind: str, version: str, options: Mapping[str, str], images: Sequence[ImagePoses]) -> PosesReport:
    """Return the report, with the counts summed over all images."""
    reasons = Counter(failure.reason for image in images for failure in image.failures)
    return PosesReport(
        estimator=kind,
        version=version,
        options=dict(options),
        n_images=len(images),
        n_without_players=sum(image.n_players == 0 for image in images),
        n_players=sum(image.n_players for image in images),
        n_poses=sum(image.n_poses for image in images),
        failures=dict(sorted(reasons.items())),
        unmatched=sum(image.unmatched for image in images),
        images=tuple(images),
    )

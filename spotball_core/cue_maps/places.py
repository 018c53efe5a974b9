"""Compute cues about positions: where the ball usually is, and distances from the center, players and feet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.cue_maps.directions import LEAST_CONFIDENCE
from spotball_core.schema.scene import Scene
from spotball_core.typing import FloatArray

PRIOR_SPREAD = 1.0
"""Standard deviation of the Gaussian that smooths the location prior, in cells."""

_ANKLES = [15, 16]


def location(scenes: Sequence[Scene]) -> FloatArray:
    r"""Score cells by where the ball is in the other scenes of the same sport.

    The score is the log of a smoothed density. Each other scene spreads a mass of 1 evenly over its ball cells, and a
    Gaussian with a standard deviation of 1 cell spreads this mass over neighboring cells (renormalized at the edges). A
    mass of 1, spread over all cells, is added. A respondent whose weight for this cue is 1 per nat guesses in
    proportion to this density. Scores are NaN if the position of the ball is unknown in all other scenes of the sport.

    Returns:
        Shape (n_scenes, n_cells), in nats.
    """
    grid = scenes[0].layout
    kernel = np.exp(-((grid.cell_distances / PRIOR_SPREAD) ** 2) / 2)
    kernel /= kernel.sum(axis=-1, keepdims=True)
    truth = np.stack([scene.layout.mask(scene.ball_cells or ()) for scene in scenes]).astype(float)
    known = truth.any(axis=-1)
    truth[known] /= truth[known].sum(axis=-1, keepdims=True)
    spread = truth @ kernel
    sports, sport = np.unique([scene.sport for scene in scenes], return_inverse=True)
    totals, numbers = np.zeros((len(sports), grid.n_cells)), np.zeros(len(sports))
    np.add.at(totals, sport, spread)
    np.add.at(numbers, sport, known)
    n_others = numbers[sport] - known
    # Rounding must not leave a cell with a negative density.
    others = np.maximum(totals[sport] - spread, 0.0)
    density = (others + 1 / grid.n_cells) / (n_others[:, None] + 1)
    return np.where(n_others[:, None] > 0, np.log(density), np.nan)


def center(scene: Scene) -> FloatArray:
    """Return the negative distance of each cell from the image's center, in image diagonals, shape (n_cells,)."""
    return -scene.layout.center_distances / scene.layout.diagonal


def players(scene: Scene) -> FloatArray | None:
    """Return the negative distance of each cell from the nearest player's box, in image diagonals, shape (n_cells,).

    The result is None for a scene without players.
    """
    if not scene.players:
        return None
    nearest: FloatArray = scene.layout.box_distances(scene.boxes).min(axis=0)
    return -nearest / scene.layout.diagonal


def feet(scene: Scene) -> FloatArray | None:
    """Return the negative distance of each cell from the nearest foot, in image diagonals, shape (n_cells,).

    Feet are the detected ankles. A player without a detected ankle has one foot, in the middle of the box's lower edge.
    The result is None for a scene without players.
    """
    if not scene.players:
        return None
    points: list[ArrayLike] = []
    for (x1, _, x2, y2), body in zip(scene.boxes, scene.keypoints, strict=True):
        ankles = body[_ANKLES]
        detected = ankles[ankles[:, 2] >= LEAST_CONFIDENCE]
        points.extend(detected[:, :2] if len(detected) else [((x1 + x2) / 2, y2)])
    offsets = scene.layout.centers[:, None] - np.array(points)
    nearest: FloatArray = np.hypot(offsets[..., 0], offsets[..., 1]).min(axis=-1)
    return -nearest / scene.layout.diagonal

"""Compute how crowded images are: the number of players, and the share of the image that they cover."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.grid import Grid
from spotball_core.report.numbers.records import Crowd, ImageCrowd
from spotball_core.schema.report import MetricValue
from spotball_core.schema.scene import Scene
from spotball_core.stats.bootstrap import percentile_interval, resample_weights
from spotball_core.typing import FloatArray


def crowd(scenes: Sequence[Scene], *, bootstrap: int, seed: int) -> Crowd | None:
    """Compute the number of players in each image, and the share of the image that their boxes cover.

    Args:
        scenes: the scenes; those without a list of players are excluded.
        bootstrap: number of resamples of images for the means' intervals; 0 for none.
        seed: seed of the resamples.

    Returns:
        The two numbers for each image, and their means over images; None if no image has a list of players.
    """
    known = [scene for scene in scenes if scene.players is not None]
    if not known:
        return None
    images = tuple(
        ImageCrowd(image=scene.image, n_players=len(scene.players or ()), covered=coverage(scene.boxes, scene.layout))
        for scene in known
    )

    def mean(values: FloatArray) -> MetricValue:
        drawn = resample_weights(len(values), bootstrap, seed) @ values / len(values) if bootstrap else ()
        ends = percentile_interval(drawn) if bootstrap else None
        return MetricValue(value=float(values.mean()), ci95=ends)

    return Crowd(
        images=images,
        n_players=mean(np.array([image.n_players for image in images], dtype=float)),
        covered=mean(np.array([image.covered for image in images])),
    )


def coverage(boxes: ArrayLike, grid: Grid) -> float:
    """Return the share of the image that at least one of these boxes covers.

    Args:
        boxes: shape (n_boxes, 4), as (x1, y1, x2, y2) in pixels; parts outside the image are ignored.
        grid: provides the image's size.

    Examples:
        >>> coverage([[0, 0, 320, 180], [160, 0, 320, 360]], Grid.standard())  # a quarter, and an eighth more below
        0.375
    """
    corners = np.asarray(boxes, dtype=float).reshape(-1, 4)
    corners = np.clip(corners, 0, [grid.width, grid.height, grid.width, grid.height])
    # Between neighboring edges, a box covers either everything or nothing.
    xs, ys = np.unique(corners[:, ::2]), np.unique(corners[:, 1::2])
    if len(xs) < 2 or len(ys) < 2:
        return 0.0
    left, top = xs[:-1], ys[:-1]
    x1, y1, x2, y2 = (corners[:, i, None] for i in range(4))
    across, down = (x1 <= left) & (left < x2), (y1 <= top) & (top < y2)
    covered = (across[:, :, None] & down[:, None, :]).any(axis=0)
    return float((covered * np.diff(xs)[:, None] * np.diff(ys)[None]).sum() / (grid.width * grid.height))

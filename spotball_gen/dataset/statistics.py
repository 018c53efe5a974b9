"""Compute statistics of a dataset: Table 1 of Spot the Ball, positions of balls and players, and difficulty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spotball_core.schema.scene import Scene
from spotball_gen.pipeline.difficulty import MEASURES, in_center, measures

TABLE_1 = ("cells", "ball_area", "center_distance", "players", "player_area")
"""Rows of Table 1 of Spot the Ball, as means over images: number of cells that the ball spans, area of its box, its
distance from the image's center, number of players, and mean area of a player's box (over images with players).
"""


def table_1(scenes: Sequence[Scene]) -> dict[str, float | None]:
    """Return the values of Table 1 for the given scenes, in pixels and square pixels; None if a value is unknown."""
    balls = np.array([scene.ball_box for scene in scenes if scene.ball_box], dtype=float).reshape(-1, 4)
    sizes = balls[:, 2:] - balls[:, :2]
    middles = np.array([(s.width / 2, s.height / 2) for s in scenes if s.ball_box], dtype=float).reshape(-1, 2)
    off = (balls[:, :2] + balls[:, 2:]) / 2 - middles
    areas = [np.prod(s.boxes[:, 2:] - s.boxes[:, :2], axis=1).mean() for s in scenes if s.players]
    return {
        "cells": _mean([len(scene.ball_cells) for scene in scenes if scene.ball_cells]),
        "ball_area": _mean(sizes.prod(axis=1)),
        "center_distance": _mean(np.hypot(*off.T)),
        "players": _mean([len(scene.players) for scene in scenes if scene.players is not None]),
        "player_area": _mean(areas),
    }


def difficulty(scenes: Sequence[Scene]) -> dict[str, Any]:
    """Return the quartiles of each difficulty measure, and the share of balls in the center window.

    Scenes without a box of the ball are ignored.
    """
    measured = [
        measures(scene.ball_box, [box.corners for box in scene.players or ()], scene.layout)
        for scene in scenes
        if scene.ball_box
    ]
    summary: dict[str, Any] = {}
    for name in MEASURES:
        values = [of[name] for of in measured if np.isfinite(of[name])]
        summary[name] = [round(float(value), 3) for value in np.percentile(values, [25, 50, 75])] if values else None
    summary["in_center"] = _mean([in_center(scene.ball_box, scene.layout) for scene in scenes if scene.ball_box])
    return summary


def ball_map(scenes: Sequence[Scene]) -> NDArray[np.float64]:
    """Return the share of images in which each cell holds the ball, shape (n_cells,). All scenes have the same grid."""
    masks = np.array([scene.layout.mask(scene.ball_cells or ()) for scene in scenes])
    return np.asarray(masks.mean(axis=0))


def player_map(scenes: Sequence[Scene]) -> NDArray[np.float64]:
    """Return the mean share of each cell covered by players' boxes. Shares in an image are summed and capped at 1."""
    covered = [np.minimum(scene.layout.box_shares(scene.boxes).sum(axis=0), 1) for scene in scenes]
    return np.asarray(np.array(covered).mean(axis=0))


def _mean(values: Any) -> float | None:
    array = np.asarray(values, dtype=float)
    return round(float(array.mean()), 3) if array.size else None

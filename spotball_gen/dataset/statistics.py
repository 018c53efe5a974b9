"""What a dataset's images are like: the paper's Table 1, where balls and players are, and how hard items may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spotball_core.schema.scene import Scene
from spotball_gen.pipeline.difficulty import MEASURES, in_center, measures

TABLE_1 = ("cells", "ball_area", "center_distance", "players", "player_area")
"""Rows of Table 1, means over images: cells that the ball spans, area of its box, its distance from the image's
center, players, and the mean area of a player's box, over the images on which there are players."""


def table_1(scenes: Sequence[Scene]) -> dict[str, float | None]:
    """Table 1's column for some scenes; lengths in pixels. None where nothing is known."""
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
    """Of each measure its quartiles, and the share of balls in the center window; scenes without a ball's box apart."""
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
    """Share of the images in which each cell holds the ball, shape (n_cells,); scenes of one grid."""
    masks = np.array([scene.layout.mask(scene.ball_cells or ()) for scene in scenes])
    return np.asarray(masks.mean(axis=0))


def player_map(scenes: Sequence[Scene]) -> NDArray[np.float64]:
    """Mean share of each cell that players' boxes cover, those of one image added and cut off at 1."""
    covered = [np.minimum(scene.layout.box_shares(scene.boxes).sum(axis=0), 1) for scene in scenes]
    return np.asarray(np.array(covered).mean(axis=0))


def _mean(values: Any) -> float | None:
    array = np.asarray(values, dtype=float)
    return round(float(array.mean()), 3) if array.size else None

"""Measure the difficulty of an item: number of players, occlusion, and position and size of the ball.

Lengths are in pixels of the item's image. Only boxes are needed, so any scene can be measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from spotball_core.grid import Grid
from spotball_core.metrics.strategy import PAPER_WINDOW

Measure: TypeAlias = Literal["players", "coverage", "occlusion", "ball_size", "player_distance", "center_distance"]
MEASURES: tuple[Measure, ...] = get_args(Measure)
"""Measures of difficulty:

- `players`: number of players;
- `coverage`: share of the image that the players' boxes cover (overlaps count once);
- `occlusion`: share of a player that is hidden by other players or outside the image, averaged over players, see
  `hidden`;
- `ball_size`: geometric mean of the sides of the ball's box;
- `player_distance`: distance from the ball's center to the nearest player's box, 0 inside; infinite without players;
- `center_distance`: distance from the ball's center to the image's center.
"""

UPRIGHT = 2.5
"""Default ratio of height to width of a player's box, if no complete box is in the image."""
_EDGE = 1.0
"""A box within this distance from the image's edge, in pixels, is assumed to extend beyond it."""

Corners: TypeAlias = Sequence[float]
Floats = NDArray[np.float64]


def measures(ball: Corners, players: Sequence[Corners], grid: Grid) -> dict[Measure, float]:
    """Return all measures of an item.

    Args:
        ball: the ball's box (x1, y1, x2, y2).
        players: the players' boxes.
        grid: the grid over the image.

    Examples:
        >>> measures((310, 170, 330, 190), [(400, 100, 440, 200)], Grid.standard())["player_distance"]
        80.0
    """
    boxes = np.array(players, dtype=float).reshape(-1, 4)
    x, y = (ball[0] + ball[2]) / 2, (ball[1] + ball[3]) / 2
    dx = np.maximum(np.maximum(boxes[:, 0] - x, x - boxes[:, 2]), 0)
    dy = np.maximum(np.maximum(boxes[:, 1] - y, y - boxes[:, 3]), 0)
    frame = np.array([0, 0, grid.width, grid.height], dtype=float)
    return {
        "players": float(len(boxes)),
        "coverage": covered(frame, boxes),
        "occlusion": float(np.mean(hidden(boxes, grid))) if len(boxes) else 0.0,
        "ball_size": float(np.sqrt(max(ball[2] - ball[0], 0) * max(ball[3] - ball[1], 0))),
        "player_distance": float(np.min(np.hypot(dx, dy), initial=np.inf)),
        "center_distance": float(np.hypot(x - grid.width / 2, y - grid.height / 2)),
    }


def in_center(ball: Corners, grid: Grid) -> bool:
    """Return whether the ball's center is in the center window (Spot the Ball, eq. 7).

    On a grid of another size, the window is the same part of the image.

    Examples:
        >>> in_center((310, 170, 330, 190), Grid.standard()), in_center((0, 0, 20, 20), Grid.standard())
        (True, False)
    """
    (top, bottom), (left, right) = PAPER_WINDOW
    standard = Grid.standard()
    x = (ball[0] + ball[2]) / 2 / grid.width * standard.cols
    y = (ball[1] + ball[3]) / 2 / grid.height * standard.rows
    return top - 1 <= y < bottom and left - 1 <= x < right


def hidden(players: Floats, grid: Grid) -> Floats:
    """Return the share of each player that is hidden, estimated from the players' boxes.

    A player whose box reaches lower is nearer to the camera, and hides the overlap of the two boxes. A box at the
    image's edge is assumed to extend beyond the edge until it has the median aspect ratio of the complete boxes.

    Args:
        players: boxes, shape (n, 4).
        grid: the grid over the image.

    Returns:
        Shape (n,), in [0, 1].

    Examples:
        >>> boxes = np.array([[100, 100, 140, 200], [120, 120, 160, 220.0]])
        >>> hidden(boxes, Grid.standard()).tolist()
        [0.4, 0.0]
    """
    cut = _cut(players, grid)
    sizes = players[:, 2:] - players[:, :2]
    uncut = sizes[~cut.any(axis=1) & (sizes > 0).all(axis=1)]
    upright = float(np.median(uncut[:, 1] / uncut[:, 0])) if len(uncut) else UPRIGHT
    shares = np.zeros(len(players))
    for index, (box, (width, height), (beside, above)) in enumerate(zip(players, sizes, cut, strict=True)):
        if width <= 0 or height <= 0:
            continue
        nearer = players[players[:, 3] > box[3]]
        visible = 1 - covered(box, nearer)
        # A box cut off at both edges gives no information about its shape.
        full = max(1.0, height / upright / width) if beside and not above else 1.0
        if above and not beside:
            full = max(1.0, width * upright / height)
        shares[index] = 1 - visible / full
    return shares


def covered(box: Floats, others: Floats) -> float:
    """Return the share of a box that the union of other boxes covers.

    Examples:
        >>> covered(np.array([0, 0, 10, 10.0]), np.array([[0, 0, 5, 10], [4, 0, 6, 10.0]]))
        0.6
    """
    low, high = np.maximum(others[:, :2], box[:2]), np.minimum(others[:, 2:], box[2:])
    meeting = (low < high).all(axis=1)
    low, high = low[meeting], high[meeting]
    xs, ys = (np.unique(np.r_[low[:, axis], high[:, axis]]) for axis in (0, 1))
    inside = np.zeros((max(len(ys) - 1, 0), max(len(xs) - 1, 0)), dtype=bool)
    for (x1, y1), (x2, y2) in zip(low, high, strict=True):
        rows = slice(*np.searchsorted(ys, [y1, y2]))
        inside[rows, slice(*np.searchsorted(xs, [x1, x2]))] = True
    area = float(np.prod(box[2:] - box[:2]))
    return float(np.diff(ys) @ inside @ np.diff(xs)) / area if area > 0 else 0.0


def _cut(players: Floats, grid: Grid) -> NDArray[np.bool_]:
    """Return whether the image's left or right edge cuts off each box, and whether its top or bottom edge does.

    Returns:
        Shape (n, 2).
    """
    near = players[:, :2] <= _EDGE
    far = players[:, 2:] >= np.array([grid.width, grid.height]) - _EDGE
    return np.asarray(near | far)

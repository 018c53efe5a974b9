"""Check what the paper states about the images: table 1, figure 3, and the share of ball cells in the center window."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.metrics.strategy import window_mask
from spotball_core.release.tables import GRID
from spotball_core.replication import causes
from spotball_core.replication.material import Ball, Material
from spotball_core.replication.published import PAPER_SPORTS, Published
from spotball_core.replication.record import ReplicatedFigure, judge
from spotball_core.schema.scene import Scene
from spotball_core.typing import FloatArray

PRIOR = "truth in the center window"
"""Quantity in the release's center-bias files: the share of ball cells in the center window."""

SWAPPED = {"soccer": "basketball", "basketball": "soccer"}
"""For each sport with a wrong number of players per scene in table 1, the sport that this number belongs to."""


def check(material: Material) -> Iterator[ReplicatedFigure]:
    """Check table 1, figure 3, and the shares of section 5.1.

    Table 1 describes all images, including controls (images with a visible ball). Its standard values therefore include
    controls too.
    """
    for figure in material.printed("table 1"):
        if figure.quantity == "players per scene":
            yield _players_per_scene(material, figure)
        elif figure.quantity in _OF_BALLS:
            yield _of_balls(material, figure)
        else:
            reproduce, standardize = _OF_SCENES[figure.quantity]
            scenes = material.scenes(figure.sport)
            yield judge(figure, reproduce(scenes), standardize(scenes))
    for figure in material.printed("figure 3"):
        measure = _density if figure.quantity == "rank by players per scene" else _truncated_area
        yield _rank(material, figure, measure)
    for figure in material.printed("section 5.1", quantity="truth in the center window (%)"):
        yield _in_window(material, figure)


def ball_centers(scenes: list[Scene]) -> FloatArray:
    """Return the centers of the balls' boxes, in pixels of the image, shape (n_scenes, 2)."""
    boxes = np.array([scene.ball_box for scene in scenes], dtype=float).reshape(-1, 4)
    centers: FloatArray = (boxes[:, :2] + boxes[:, 2:]) / 2
    return centers


# Table 1 -----------------------------------------------------------------------------------------------------


def mean_cells(scenes: list[Scene]) -> float | None:
    """Return the mean number of cells that the ball spans; None without ground truth."""
    return _mean([len(scene.ball_cells) for scene in scenes if scene.ball_cells])


def _of_balls(material: Material, figure: Published) -> ReplicatedFigure:
    """Check the ball's area or its distance from the center, computed from the file's numbers and from pixels."""
    reproduce, standardize, slip = _OF_BALLS[figure.quantity]
    reproduced = reproduce([ball for (sport, _), ball in material.balls.items() if sport == figure.sport])
    standard = standardize([scene for scene in material.scenes(figure.sport) if scene.ball_box])
    differs = reproduced is not None and standard is not None and not math.isclose(reproduced, standard)
    return judge(figure, reproduced, standard, note=slip if differs else None)


def _written_area(balls: list[Ball]) -> float | None:
    return _mean([ball.width * ball.height for ball in balls])


def _area(scenes: list[Scene]) -> float | None:
    return _mean(_areas(np.array([scene.ball_box for scene in scenes], dtype=float).reshape(-1, 4)))


def _written_distance(balls: list[Ball]) -> float | None:
    if any(ball.point is None for ball in balls):
        return None
    points = np.array([ball.point for ball in balls], dtype=float).reshape(-1, 2)
    return _mean(np.hypot(*(points - (GRID.width / 2, GRID.height / 2)).T))


def _distance(scenes: list[Scene]) -> float | None:
    return _mean(np.hypot(*(ball_centers(scenes) - (GRID.width / 2, GRID.height / 2)).T))


def _truncated_area(scenes: list[Scene]) -> float | None:
    """Return the mean over images of players' mean area, with box corners truncated to whole pixels, as in table 1."""
    return _mean([np.mean(_areas(np.trunc(scene.boxes))) for scene in scenes if scene.players])


def _player_area(scenes: list[Scene]) -> float | None:
    return _mean([np.mean(_areas(scene.boxes)) for scene in scenes if scene.players])


def _density(scenes: list[Scene]) -> float | None:
    """Return the mean number of players per image, over images with at least one player, as in table 1."""
    return _mean([len(scene.players) for scene in scenes if scene.players])


def _players(scenes: list[Scene]) -> float | None:
    return _mean([len(scene.players) for scene in scenes if scene.players is not None])


_Statistic = Callable[[list[Scene]], float | None]

_OF_SCENES: dict[str, tuple[_Statistic, _Statistic]] = {
    "cells the ball spans": (mean_cells, mean_cells),
    "area of a player (px²)": (_truncated_area, _player_area),
}

_OF_BALLS: dict[str, tuple[Callable[[list[Ball]], float | None], _Statistic, str]] = {
    "ball area (px²)": (_written_area, _area, causes.UNSCALED_BOX),
    "ball to image center (px)": (_written_distance, _distance, causes.NOT_THE_BALL),
}
"""For each quantity, the published statistic, the standard statistic, and the error that explains their difference."""


def _players_per_scene(material: Material, figure: Published) -> ReplicatedFigure:
    """Check the number of players per scene, whose columns of soccer and basketball are swapped in table 1."""
    sport = figure.sport or ""
    printed_sport = SWAPPED.get(sport, sport)
    reproduced = _density(material.scenes(printed_sport))
    standard = _players(material.scenes(sport))
    if sport == printed_sport:
        return judge(figure, reproduced, standard)
    swapped = (
        f"columns swapped: the paper prints the value of {printed_sport} here, and the value of {sport} under "
        f"{printed_sport}"
    )
    # 4.2549, rounded to 4.255 and then to 4.26.
    twice = reproduced is not None and figure.agrees(_half_up(_half_up(reproduced, 3), 2))
    return judge(figure, reproduced, standard, cause="rounded twice" if twice else None, note=swapped)


def _rank(material: Material, figure: Published, measure: _Statistic) -> ReplicatedFigure:
    """Check a sport's rank among the three sports; rank 1 has the fewest or smallest players."""
    values = {sport: measure(material.scenes(sport)) for sport in PAPER_SPORTS}
    own_value = values.get(figure.sport or "")
    defined = [value for value in values.values() if value is not None]
    if own_value is None or len(defined) < len(values):
        return judge(figure, None, note="needs the players of all three sports")
    rank = float(1 + sum(value < own_value for value in defined))
    return judge(figure, rank, rank)


def _in_window(material: Material, figure: Published) -> ReplicatedFigure:
    scenes = material.scenes(figure.sport)
    reproduced = window_share(scenes)
    standard = window_share([scene for scene in scenes if not scene.control])
    filed = [other for other in material.filed("table 3", PRIOR) if other.value and other.sport == figure.sport]
    agrees = reproduced is not None and any(other.agrees(reproduced / 100) for other in filed)
    cause = f"misprint: {filed[0].read_from}, also contains {reproduced:.1f}" if agrees else None
    return judge(figure, reproduced, standard, cause=cause)


def window_share(scenes: list[Scene]) -> float | None:
    """Return the percentage of ball cells in the center window, counting each cell of each image.

    Return None without ball cells.
    """
    inside = [scene.layout.mask(scene.ball_cells)[window_mask(scene.layout)] for scene in scenes if scene.ball_cells]
    n_cells = sum(len(scene.ball_cells) for scene in scenes if scene.ball_cells)
    return 100 * float(np.sum(inside)) / n_cells if n_cells else None


# Numbers -----------------------------------------------------------------------------------------------------


def _mean(values: ArrayLike) -> float | None:
    array = np.asarray(values, dtype=float)
    return float(array.mean()) if array.size else None


def _areas(boxes: FloatArray) -> FloatArray:
    areas: FloatArray = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    return areas


def _half_up(value: float, digits: int) -> float:
    return float(Decimal(str(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))

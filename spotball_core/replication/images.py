"""Table 1, figure 3 and the truth in the center window: what the images are like."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.grid import FloatArray
from spotball_core.metrics.strategy import window_mask
from spotball_core.replication import causes
from spotball_core.replication.material import Material
from spotball_core.replication.published import PAPER_SPORTS, Published
from spotball_core.replication.record import Item, judge
from spotball_core.schema.scene import Scene

PRIOR = "truth in the center window"
"""The quantity's name in the release's center-bias files."""

SWAPPED = {"soccer": "basketball", "basketball": "soccer"}
"""Whose players per scene table 1 prints under a sport."""

_FRAME, _POINTS = 640, 1.25
"""Side of the detector's square frame; width of the ground truth's 800 x 450 frame over the image's."""


def check(material: Material) -> Iterator[Item]:
    """Table 1, figure 3, and the shares of section 5.1."""
    for figure in material.printed("table 1"):
        if figure.quantity == "players per scene":
            yield _players_per_scene(material, figure)
        else:
            reproduce, standardize, note = _OF_TABLE_1[figure.quantity]
            scenes = material.scenes(figure.sport)
            reproduced, standard = reproduce(scenes), standardize([scene for scene in scenes if not scene.control])
            yield judge(figure, reproduced, standard, note=note if reproduced is not None else None)
    for figure in material.printed("figure 3"):
        measure = _density if figure.quantity == "rank by players per scene" else _truncated_area
        yield _rank(material, figure, measure)
    for figure in material.printed("section 5.1", quantity="truth in the center window (%)"):
        yield _in_window(material, figure)


def ball_points(scenes: list[Scene]) -> FloatArray:
    """The ground truth's points (gt_x, gt_y), the balls' centers in a frame of 800 x 450, shape (n_scenes, 2)."""
    return _POINTS * ball_centers(scenes)


def ball_centers(scenes: list[Scene]) -> FloatArray:
    """The centers of the balls' boxes, in pixels of the image, shape (n_scenes, 2)."""
    boxes = np.array([scene.ball_box for scene in scenes], dtype=float).reshape(-1, 4)
    centers: FloatArray = (boxes[:, :2] + boxes[:, 2:]) / 2
    return centers


# Table 1 -----------------------------------------------------------------------------------------------------


def _cells(scenes: list[Scene]) -> float | None:
    return _mean([len(scene.ball_cells) for scene in scenes if scene.ball_cells])


def _area_in_frame(scenes: list[Scene]) -> float | None:
    areas = [_area(scene.ball_box) * _FRAME / scene.height for scene in scenes if scene.ball_box]
    return _mean(areas)


def _area_in_image(scenes: list[Scene]) -> float | None:
    return _mean([_area(scene.ball_box) for scene in scenes if scene.ball_box])


def _distance_mixed(scenes: list[Scene]) -> float | None:
    known = _with_ball(scenes)
    return _mean(np.hypot(*(ball_points(known) - _image_center(known)).T))


def _distance(scenes: list[Scene]) -> float | None:
    known = _with_ball(scenes)
    return _mean(np.hypot(*(ball_centers(known) - _image_center(known)).T))


def _truncated_area(scenes: list[Scene]) -> float | None:
    """Mean over images with players of their mean area, corners cut to whole pixels: as table 1 was made."""
    return _mean([np.mean(_areas(np.trunc(scene.boxes))) for scene in scenes if scene.players])


def _player_area(scenes: list[Scene]) -> float | None:
    return _mean([np.mean(_areas(scene.boxes)) for scene in scenes if scene.players])


def _density(scenes: list[Scene]) -> float | None:
    """Players per image, over the images on which there are any: as table 1 was made."""
    return _mean([len(scene.players) for scene in scenes if scene.players])


def _players(scenes: list[Scene]) -> float | None:
    return _mean([len(scene.players) for scene in scenes if scene.players is not None])


_Statistic = Callable[[list[Scene]], float | None]

_OF_TABLE_1: dict[str, tuple[_Statistic, _Statistic, str | None]] = {
    "cells the ball spans": (_cells, _cells, None),
    "ball area (px²)": (_area_in_frame, _area_in_image, causes.DETECTOR_FRAME),
    "ball to image center (px)": (_distance_mixed, _distance, causes.FRAMES),
    "area of a player (px²)": (_truncated_area, _player_area, None),
}


def _players_per_scene(material: Material, figure: Published) -> Item:
    """The row whose columns of soccer and basketball are swapped."""
    sport = figure.sport or ""
    meant = SWAPPED.get(sport, sport)
    reproduced = _density(material.scenes(meant))
    standard = _players([scene for scene in material.scenes(sport) if not scene.control])
    if sport == meant:
        return judge(figure, reproduced, standard)
    swapped = f"columns swapped: this is {meant}'s, and {sport}'s stands under {meant}"
    # 4.2549, given as 4.255 and that as 4.26.
    twice = reproduced is not None and figure.agrees(_half_up(_half_up(reproduced, 3), 2))
    return judge(figure, reproduced, standard, cause="rounded twice" if twice else None, note=swapped)


def _rank(material: Material, figure: Published, measure: _Statistic) -> Item:
    """A sport's place among the three, from the fewest or smallest."""
    values = {sport: measure(material.scenes(sport)) for sport in PAPER_SPORTS}
    mine = values.get(figure.sport or "")
    known = [value for value in values.values() if value is not None]
    if mine is None or len(known) < len(values):
        return judge(figure, None, note="needs the players of all three sports")
    rank = float(1 + sum(value < mine for value in known))
    return judge(figure, rank, rank)


def _in_window(material: Material, figure: Published) -> Item:
    scenes = material.scenes(figure.sport)
    reproduced = _window_share(scenes)
    standard = _window_share([scene for scene in scenes if not scene.control])
    filed = [other for other in material.filed("table 3", PRIOR) if other.value and other.sport == figure.sport]
    agrees = reproduced is not None and any(other.agrees(reproduced / 100) for other in filed)
    cause = f"slip in print: {filed[0].read_from}, has {reproduced:.1f} as well" if agrees else None
    return judge(figure, reproduced, standard, cause=cause)


def _window_share(scenes: list[Scene]) -> float | None:
    inside = [scene.layout.mask(scene.ball_cells)[window_mask(scene.layout)] for scene in scenes if scene.ball_cells]
    n_cells = sum(len(scene.ball_cells) for scene in scenes if scene.ball_cells)
    return 100 * float(np.sum(inside)) / n_cells if n_cells else None


# Numbers -----------------------------------------------------------------------------------------------------


def _mean(values: ArrayLike) -> float | None:
    array = np.asarray(values, dtype=float)
    return float(array.mean()) if array.size else None


def _area(box: tuple[float, float, float, float] | None) -> float:
    return float(_areas(np.array([box], dtype=float))[0])


def _areas(boxes: FloatArray) -> FloatArray:
    areas: FloatArray = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    return areas


def _with_ball(scenes: list[Scene]) -> list[Scene]:
    return [scene for scene in scenes if scene.ball_box is not None]


def _image_center(scenes: list[Scene]) -> FloatArray:
    return np.array([(scene.width / 2, scene.height / 2) for scene in scenes], dtype=float).reshape(-1, 2)


def _half_up(value: float, digits: int) -> float:
    return float(Decimal(str(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))

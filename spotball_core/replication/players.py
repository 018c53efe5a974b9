"""Check the paper's figure 5: how close guesses and balls are to players, by the published and by the correct join."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from spotball_core.release.tables import GRID
from spotball_core.replication import causes
from spotball_core.replication.images import ball_centers
from spotball_core.replication.material import Material, absent
from spotball_core.replication.published import PAPER_SPORTS, PEOPLE, Published
from spotball_core.replication.record import ReplicatedFigure, judge
from spotball_core.schema.policy import ScorePolicy
from spotball_core.schema.scene import Scene
from spotball_core.typing import FloatArray

_POLICY = ScorePolicy.paper()
_KEYS = {"near-player rate": "near_player_rate", "overlap rate": "overlap_rate"}

NEAR_BY_SEARCH = (
    "the method was found by search, because the paper does not describe it: (`gt_x`, `gt_y`) is used unchanged, "
    "although it is not the ball's position in basketball and volleyball; players are merged by file name; the result "
    "is the mean of the rates of the three sports"
)
OVERLAP_BY_SEARCH = (
    "the method was found by search, because the paper does not describe it: the ball's box is used, players are "
    "merged by file name, and all images have the same weight"
)

Key = tuple[str, str]
Found = dict[str, list[bool]]
"""For each sport, whether each ball is near a player (or overlaps one)."""


def check(material: Material) -> Iterator[ReplicatedFigure]:
    """Check the rates of figure 5, in the release's file and in its caption, and those of people in section 5.1."""
    for figure in material.filed("figure 5", *_KEYS):
        yield _rate(material, figure)
    for figure in material.printed("figure 5"):
        yield _truth_near(material, figure) if "near" in figure.quantity else _truth_overlapping(material, figure)
    for figure in material.printed("section 5.1"):
        if "near-player" in figure.quantity:
            yield _extreme_of_people(material, figure)


# Guesses -----------------------------------------------------------------------------------------------------


def _rate(material: Material, figure: Published) -> ReplicatedFigure:
    joined = material.joined(figure.condition)
    reproduced = None
    if joined:
        reproduced = joined.near_player_rate if figure.quantity == "near-player rate" else joined.overlap_rate
    standard = material.value("standard", _KEYS[figure.quantity], figure.condition)
    cause, mixed = causes.run(material, figure.condition), causes.MERGED
    if figure.respondent == PEOPLE:
        mixed = causes.PEOPLE_MIXED
        if joined and figure.n is not None and joined.n != figure.n:
            cause = (
                f"other answers of people: the published figure is from {figure.n:,} answers, but these data have "
                f"{joined.n:,}"
            )
    notes = [mixed if joined and joined.mixed else None, absent(figure)]
    return judge(figure, reproduced, standard, cause=cause, note="; ".join(filter(None, notes)) or None)


def _extreme_of_people(material: Material, figure: Published) -> ReplicatedFigure:
    """Check the lowest or highest of people's near-player rates in the three sports, in percent."""
    if not material.asked_everything(PEOPLE):
        return judge(figure, None, note="needs the answers of people for all sports")
    extreme = min if figure.quantity.startswith("lowest") else max
    people = material.of(PEOPLE)
    rates = [joined.near_player_rate for condition in people if (joined := material.joined(condition))]
    standard_rates = [material.value("standard", "near_player_rate", condition) for condition in people]
    defined = [value for value in standard_rates if value is not None]
    reproduced, standard = (100 * extreme(values) if values else None for values in (rates, defined))
    return judge(figure, reproduced, standard, cause=causes.any_run(material, people))


# Balls -------------------------------------------------------------------------------------------------------


def _truth_near(material: Material, figure: Published) -> ReplicatedFigure:
    """Check the percentage of balls within tau of a player.

    The published percentage is the mean of the sports' percentages; the standard percentage is computed over the balls
    of all sports.
    """
    points = {key: ball.point for key, ball in material.balls.items()}
    merged = _merged_players(material)
    published = _by_sport({key: _near(point, merged[key]) for key, point in points.items() if point and key in merged})
    scenes = _own_players(material)
    standard = _by_sport(
        {scene.key: _near(center, scene.boxes) for scene, center in zip(scenes, ball_centers(scenes), strict=True)}
    )
    rates = [100 * float(np.mean(near)) for near in published.values()]
    reproduced = float(np.mean(rates)) if _complete(published) else None
    return judge(figure, reproduced, _pooled(standard), note=_said(published, standard, NEAR_BY_SEARCH))


def _truth_overlapping(material: Material, figure: Published) -> ReplicatedFigure:
    """Check the percentage of balls whose box one player covers over at least the share theta of its area."""
    merged = _merged_players(material)
    scenes = [scene for scene in material.scenes() if scene.ball_box and scene.key in merged]
    published = _by_sport({scene.key: _overlapping(scene, merged[scene.key]) for scene in scenes})
    standard = _by_sport({scene.key: _overlapping(scene, scene.boxes) for scene in _own_players(material)})
    reproduced = _pooled(published) if _complete(published) else None
    return judge(figure, reproduced, _pooled(standard), note=_said(published, standard, OVERLAP_BY_SEARCH))


def _merged_players(material: Material) -> dict[Key, FloatArray]:
    """Return, for each image with ground truth, the players of all images with the same file name, as published."""
    join = material.by_file_name
    return {key: join.boxes(name) for key in material.balls if (name := join.name(key)) is not None}


def _own_players(material: Material) -> list[Scene]:
    """Return the scenes that have a ball and players and are not controls (images with a visible ball)."""
    return [scene for scene in material.scenes() if scene.ball_box and scene.players and not scene.control]


def _near(point: FloatArray | tuple[float, float], players: FloatArray) -> bool:
    """Return whether a point is within tau of the nearest player."""
    point = np.asarray(point, dtype=float)
    gaps = np.maximum(np.maximum(players[:, :2] - point, point - players[:, 2:]), 0)
    return bool(np.hypot(*gaps.T).min() <= _POLICY.tau * GRID.diagonal)


def _overlapping(scene: Scene, players: FloatArray) -> bool:
    """Return whether one of the given players covers at least the share theta of the ball's box."""
    x1, y1, x2, y2 = scene.ball_box or (0.0, 0.0, 0.0, 0.0)
    sides = np.minimum(players[:, 2:], (x2, y2)) - np.maximum(players[:, :2], (x1, y1))
    covered = np.clip(sides, 0, None).prod(axis=1).max() / ((x2 - x1) * (y2 - y1))
    return bool(covered >= _POLICY.theta)


def _by_sport(near: Mapping[Key, bool]) -> Found:
    by_sport: Found = {sport: [] for sport in PAPER_SPORTS}
    for (sport, _), is_near in near.items():
        by_sport.setdefault(sport, []).append(is_near)
    return {sport: near for sport, near in by_sport.items() if near}


def _complete(by_sport: Found) -> bool:
    return set(by_sport) >= set(PAPER_SPORTS)


def _pooled(by_sport: Found) -> float | None:
    """Return the percentage of all balls that are near a player (or overlap one); None without balls."""
    balls = [is_near for near in by_sport.values() for is_near in near]
    return 100 * float(np.mean(balls)) if balls else None


def _said(published: Found, standard: Found, how: str) -> str | None:
    """Describe in words how many balls in each sport are near players by the published and by the standard method."""
    parts = [f"published method: {_counts(published)}"] if published else []
    parts += [f"standard, with only the players of each image: {_counts(standard)}"] if standard else []
    return "; ".join([*([] if _complete(published) else ["needs the images of all sports"]), *parts, how])


def _counts(by_sport: Found) -> str:
    return ", ".join(f"{sum(near)} of {len(near)} balls in {sport}" for sport, near in by_sport.items())

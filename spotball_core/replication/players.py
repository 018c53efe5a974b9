"""Figure 5: are guesses and balls near players? With players joined by file name, as published, and with their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from spotball_core.grid import FloatArray
from spotball_core.replication import causes
from spotball_core.replication.images import ball_centers, ball_points
from spotball_core.replication.material import Material, absent
from spotball_core.replication.published import PAPER_SPORTS, PEOPLE, Published
from spotball_core.replication.record import Item, judge
from spotball_core.schema.policy import ScorePolicy
from spotball_core.schema.scene import Scene

_POLICY = ScorePolicy.paper()
_KEYS = {"near-player rate": "near_player_rate", "overlap rate": "overlap_rate"}

FOUND_BY_SEARCH = (
    "found by search: the paper does not say how, but ball points of the 800 x 450 frame, players merged by file name "
    "and the mean of the three sports' rates give it"
)

Key = tuple[str, str]
Found = dict[str, list[bool]]
"""Whether each ball is near, by sport."""


def check(material: Material) -> Iterator[Item]:
    """Figure 5's rates, as the release's file has them, its caption's, and what the text says of people's."""
    for figure in material.filed("figure 5", *_KEYS):
        yield _rate(material, figure)
    for figure in material.printed("figure 5"):
        yield _truth_near(material, figure) if "near" in figure.quantity else _truth_overlapping(material, figure)
    for figure in material.printed("section 5.1"):
        if "near-player" in figure.quantity:
            yield _extreme_of_people(material, figure)


# Guesses -----------------------------------------------------------------------------------------------------


def _rate(material: Material, figure: Published) -> Item:
    joined = material.joined(figure.condition)
    reproduced = None
    if joined:
        reproduced = joined.near_player_rate if figure.quantity == "near-player rate" else joined.overlap_rate
    standard = material.value("standard", _KEYS[figure.quantity], figure.condition)
    cause, mixed = causes.run(material, figure.condition), causes.MERGED
    if figure.respondent == PEOPLE:
        mixed = causes.PEOPLE_MIXED
        if joined and figure.n is not None and joined.n != figure.n:
            cause = f"another mix of people: published of {figure.n:,} answers, here are {joined.n:,}"
    notes = [mixed if joined and joined.mixed else None, absent(figure)]
    return judge(figure, reproduced, standard, cause=cause, note="; ".join(filter(None, notes)) or None)


def _extreme_of_people(material: Material, figure: Published) -> Item:
    """The lowest or highest near-player rate of people over sports, in percent."""
    if not material.asked_everything(PEOPLE):
        return judge(figure, None, note="needs all sports")
    extreme = min if figure.quantity.startswith("lowest") else max
    people = material.of(PEOPLE)
    rates = [joined.near_player_rate for condition in people if (joined := material.joined(condition))]
    own = [material.value("standard", "near_player_rate", condition) for condition in people]
    known = [value for value in own if value is not None]
    reproduced, standard = (100 * extreme(found) if found else None for found in (rates, known))
    return judge(figure, reproduced, standard, cause=causes.any_run(material, people))


# Balls -------------------------------------------------------------------------------------------------------


def _truth_near(material: Material, figure: Published) -> Item:
    """Balls within tau of a player, in percent: the mean of the sports' rates as published, else of all balls."""
    scenes = {scene.key: scene for scene in material.scenes() if scene.ball_box}
    join = material.by_file_name
    merged = {key: join.boxes(name) for key in scenes if (name := join.name(key)) is not None}
    published = _by_sport(_near([scenes[key] for key in merged], ball_points, merged))
    own = {key: scene.boxes for key, scene in scenes.items() if scene.players and not scene.control}
    standard = _by_sport(_near([scenes[key] for key in own], ball_centers, own))
    rates = [100 * float(np.mean(near)) for near in published.values()]
    reproduced = float(np.mean(rates)) if _complete(published) else None
    return judge(figure, reproduced, _pooled(standard), note=_said(published, FOUND_BY_SEARCH))


def _truth_overlapping(material: Material, figure: Published) -> Item:
    """Balls of whose own box one player covers at least theta, in percent of all."""
    scenes = [scene for scene in material.scenes() if scene.players and scene.ball_box]
    covered = {scene.key: bool(_covered(scene) >= _POLICY.theta) for scene in scenes}
    published = _by_sport(covered)
    standard = _by_sport({scene.key: covered[scene.key] for scene in scenes if not scene.control})
    reproduced = _pooled(published) if _complete(published) else None
    return judge(figure, reproduced, _pooled(standard), note=_said(published))


def _near(
    scenes: list[Scene], points: Callable[[list[Scene]], FloatArray], players: Mapping[Key, FloatArray]
) -> dict[Key, bool]:
    """Whether each ball's point is within tau of the nearest of the players given for its image."""
    near = {}
    for scene, point in zip(scenes, points(scenes), strict=True):
        boxes = players[scene.key]
        gaps = np.maximum(np.maximum(boxes[:, :2] - point, point - boxes[:, 2:]), 0)
        near[scene.key] = bool(np.hypot(*gaps.T).min() <= _POLICY.tau * scene.layout.diagonal)
    return near


def _covered(scene: Scene) -> float:
    """Largest share of the ball's box that one player of the image covers."""
    x1, y1, x2, y2 = scene.ball_box or (0.0, 0.0, 0.0, 0.0)
    sides = np.minimum(scene.boxes[:, 2:], (x2, y2)) - np.maximum(scene.boxes[:, :2], (x1, y1))
    return float(np.clip(sides, 0, None).prod(axis=1).max() / ((x2 - x1) * (y2 - y1)))


def _by_sport(found: Mapping[Key, bool]) -> Found:
    by_sport: Found = {sport: [] for sport in PAPER_SPORTS}
    for (sport, _), is_near in found.items():
        by_sport.setdefault(sport, []).append(is_near)
    return {sport: near for sport, near in by_sport.items() if near}


def _complete(found: Found) -> bool:
    return set(found) >= set(PAPER_SPORTS)


def _pooled(found: Found) -> float | None:
    """Percent of all balls; None of none."""
    balls = [is_near for near in found.values() for is_near in near]
    return 100 * float(np.mean(balls)) if balls else None


def _said(found: Found, more: str = "") -> str | None:
    """How many balls of each sport, in words."""
    counts = ", ".join(f"{sport} {sum(near)} of {len(near)}" for sport, near in found.items())
    return "; ".join(filter(None, ["" if _complete(found) else "needs all sports", counts, more])) or None

"""Stage `plausibility`, kind `rules`: require exactly one complete ball of plausible size and shape near players.

These rules are step 3 in section 3.2 of Spot the Ball.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from pydantic import Field, model_validator

from spotball_gen.items.item import Box, Item
from spotball_gen.items.stage import Context, Device, Outcome, Reject, StageSettings, one_by_one

_TIMES_AS_TALL = 2.0
"""Assumed height-to-width ratio of a person, to estimate the height of people cut off by the upper or lower edge of the
image.
"""
_RIM = 0.01
"""People within this distance from the upper or lower edge count as cut off, as a fraction of the image's height."""
_ALIKE = 1.5
"""Maximum ratio between the heights of two neighbors in a crowd."""


class SpectatorSettings(StageSettings):
    """Rules for recognizing the audience.

    The height of the "players in front" is that of the second tallest box, because the tallest may be a person directly
    in front of the camera.

    Attributes:
        min_player_height: minimum height of a player, as a fraction of the image's height; shorter people are audience.
        relative_height: minimum height of a player, as a fraction of the height of the players in front; shorter people
            are audience.
        background_height: only people shorter than this fraction of the height of the players in front can be in the
            stands or in a crowd. Distant players are taller.
        stands: lower end of the stands, as a fraction of the image's height from the top. People whose feet are above
            it are in the stands.
        crowd: minimum number of people in a crowd; 0 disables the search for crowds.
        crowd_gap: maximum distance between neighbors in a crowd, in multiples of their height.
    """

    min_player_height: float = Field(0.06, ge=0, le=1)
    relative_height: float = Field(0.25, ge=0, le=1)
    background_height: float = Field(0.5, ge=0, le=1)
    stands: float = Field(0.3, ge=0, le=1)
    crowd: int = Field(8, ge=0)
    crowd_gap: float = Field(1.5, gt=0)


def audience_reasons(people: Sequence[Box], height: float, settings: SpectatorSettings) -> tuple[str, ...]:
    """Return the reason why each person is audience, or an empty string for players.

    Args:
        people: boxes of the people.
        height: height of the image in pixels.
        settings: the rules.

    Returns:
        `small`, `in the stands`, `in a crowd` or an empty string, in the order of the boxes.

    Examples:
        >>> players = Box(100, 150, 150, 300), Box(400, 160, 450, 300)
        >>> fan, steward = Box(20, 10, 30, 40), Box(300, 30, 320, 90)
        >>> audience_reasons([*players, fan, steward], 360, SpectatorSettings())
        ('', '', 'small', 'in the stands')
    """
    if not people:
        return ()
    tall = [_tall(box, height) for box in people]
    # Use the second tallest, because one person may stand directly in front of the camera.
    front = sorted(tall, reverse=True)[:2][-1]
    least = max(settings.min_player_height * height, settings.relative_height * front)
    behind = [number for number, size in enumerate(tall) if size < settings.background_height * front]
    crowded = _crowded(people, tall, behind, settings) if settings.crowd else set()
    reasons = [""] * len(people)
    for number in behind:
        above = people[number].y2 < settings.stands * height
        reasons[number] = "in the stands" if above else "in a crowd" if number in crowded else ""
    return tuple("small" if size < least else reason for size, reason in zip(tall, reasons, strict=True))


def _tall(box: Box, height: float) -> float:
    """Return a person's height, estimated if the image's edge cuts it off."""
    cut = box.y1 <= _RIM * height or box.y2 >= (1 - _RIM) * height
    return max(box.height, _TIMES_AS_TALL * box.width) if cut else box.height


def _crowded(
    people: Sequence[Box], tall: Sequence[float], behind: Sequence[int], settings: SpectatorSettings
) -> set[int]:
    """Return the indices of people in a crowd. Only people in the background, with the indices `behind`, count."""
    crowded: set[int] = set()
    left = set(behind)

    def near(a: int, b: int) -> bool:
        if max(tall[a], tall[b]) > _ALIKE * min(tall[a], tall[b]):
            return False
        return math.dist(people[a].center, people[b].center) <= settings.crowd_gap * (tall[a] + tall[b]) / 2

    while left:
        group: set[int] = set()
        todo = {left.pop()}
        while todo:
            member = todo.pop()
            group.add(member)
            neighbors = {other for other in left if near(member, other)}
            left -= neighbors
            todo |= neighbors
        if len(group) >= settings.crowd:
            crowded |= group
    return crowded


_DIGITS = 4


class RulesSettings(SpectatorSettings):
    """Settings of `rules`, in addition to those of `SpectatorSettings`. A sport's `bounds` replace them for that sport.

    The paper (Spot the Ball) names the rules but not their bounds. The default bounds accept the balls in the paper's
    images (Table 1) with some tolerance.

    Attributes:
        ball_confidence: balls with a lower score are ignored.
        player_confidence: players with a lower score are ignored.
        min_size: minimum size of the ball (mean of width and height), as a fraction of the image's height.
        max_size: maximum size of the ball, as a fraction of the image's height.
        max_aspect: maximum ratio of the ball's longer to its shorter side. A fast ball is blurred to a longer shape.
        edge: minimum distance of the ball from the image's edges, as a fraction of the image's height.
        max_overlap: maximum share of the ball's box inside one player's box, from 0 to 1.
        min_distance: minimum distance from the ball's box to the nearest player's box, as a fraction of the image's
            diagonal.
        max_distance: maximum distance from the ball's box to the nearest player's box, as a fraction of the image's
            diagonal.
        min_players: minimum number of players, without the audience.
        max_players: maximum number of players, or None for no limit.
    """

    ball_confidence: float = Field(0.3, ge=0, le=1)
    player_confidence: float = Field(0.3, ge=0, le=1)
    min_size: float = Field(0.01, ge=0, le=1)
    max_size: float = Field(0.25, gt=0, le=1)
    max_aspect: float = Field(1.6, ge=1)
    edge: float = Field(0.01, ge=0, lt=0.5)
    max_overlap: float = Field(0.0, ge=0, le=1)
    min_distance: float = Field(0.0, ge=0, le=1)
    max_distance: float = Field(0.2, ge=0, le=1)
    min_players: int = Field(2, ge=0)
    max_players: int | None = Field(None, ge=0)

    @model_validator(mode="after")
    def _ordered(self) -> RulesSettings:
        for name in ("size", "distance", "players"):
            least, most = getattr(self, f"min_{name}"), getattr(self, f"max_{name}")
            if most is not None and least > most:
                raise ValueError(f"expected `min_{name}` ({least:g}) to be at most `max_{name}` ({most:g})")
        return self


class Rules:
    """Keep images with exactly one complete ball that is near players and, by default, overlaps none of them.

    The stage selects the item's ball and players from its boxes, and keeps all boxes. The item gets the scores
    `ball_size`, `ball_aspect`, `ball_edge`, `ball_overlap` and `ball_distance`, each in the unit of the corresponding
    setting, and `players` (number of players).

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from spotball_core.grid import Grid
        >>> from spotball_gen.items.item import VideoSource
        >>> from spotball_gen.items.pictures import PictureFile
        >>> source = VideoSource("match", "match.avi", "soccer", "CC0", "match.avi", "")
        >>> players = Box(100, 100, 150, 250, 0.9, "player"), Box(300, 100, 350, 250, 0.9, "player")
        >>> balls = Box(200, 150, 224, 174, 0.8), Box(400, 40, 424, 64, 0.5)
        >>> item = Item("match-000001000", source, 1.0, 0, PictureFile(Path("frame.png")), boxes=(*players, *balls))
        >>> stage = Rules(RulesSettings(), Context(Path(tempfile.gettempdir()), Grid.standard()))
        >>> (reject,) = stage.process([item]).rejects
        >>> reject.reason, reject.detail
        ('several balls', '2 detections with a score of at least 0.3; all scores: 0.80, 0.50')
        >>> (kept,) = stage.process([replace(item, boxes=(*players, balls[0]))]).items
        >>> kept.ball.score, len(kept.players)
        (0.8, 2)
    """

    Settings: ClassVar[type[StageSettings]] = RulesSettings
    packages: ClassVar[tuple[str, ...]] = ()

    name = "plausibility"
    kind = "rules"
    version = "1"
    batch_size = 64
    device: Device = "cpu"

    def __init__(self, settings: RulesSettings, context: Context) -> None:
        self.settings = settings
        self._size = context.grid.width, context.grid.height
        self._of_sport = {
            name: RulesSettings.model_validate({**settings.model_dump(), **sport.bounds})
            for name, sport in context.sports.items()
        }

    def process(self, items: Sequence[Item]) -> Outcome:
        """Return the items with their ball and players, and reject those that violate a rule."""
        return one_by_one(self.name, items, self._judged)

    def _judged(self, item: Item) -> Item | Reject:
        settings = self._of_sport.get(item.sport, self.settings)
        balls = [box for box in item.boxes if box.label == "ball" and box.score >= settings.ball_confidence]
        if len(balls) != 1:
            scores = sorted((box.score for box in item.boxes if box.label == "ball"), reverse=True)
            count = f"{len(balls) or 'no'} detections with a score of at least {settings.ball_confidence:g}"
            listed = ", ".join(f"{score:.2f}" for score in scores)
            detail = f"{count}; all scores: {listed}" if scores else "no ball was detected"
            return Reject(item.id, self.name, "several balls" if balls else "no ball", detail, item.scores)
        people = [box for box in item.boxes if box.label == "player" and box.score >= settings.player_confidence]
        reasons = audience_reasons(people, self._size[1], settings)
        players = tuple(box for box, reason in zip(people, reasons, strict=True) if not reason)
        audience = {reason: reasons.count(reason) for reason in sorted(set(reasons)) if reason}
        item = replace(item, ball=balls[0], players=players).noted(self.name, audience=audience)
        item = item.scored(**measured(balls[0], players, self._size))
        for reason, score, least, most in _rules(settings):
            value = item.scores.get(score)
            if value is not None and not least <= value <= most:
                bound = f"at least {least:g}" if value < least else f"at most {most:g}"
                return Reject(item.id, self.name, reason, f"{score} {value:g}, expected {bound}", item.scores)
        return item


def measured(ball: Box, players: Sequence[Box], size: tuple[float, float]) -> Mapping[str, float]:
    """Return the measurements that the rules check. Without players, `ball_distance` and `ball_overlap` are missing.

    Args:
        ball: the ball's box.
        players: the players' boxes.
        size: width and height of the image in pixels.

    Examples:
        >>> ball, player = Box(100, 100, 136, 136), Box(140, 82, 180, 118, label="player")
        >>> measured(ball, [player], (480, 360))
        {'players': 1, 'ball_size': 0.1, 'ball_aspect': 1.0, 'ball_edge': 0.2778, 'ball_overlap': 0.0,
         'ball_distance': 0.0067}
    """
    width, height = size
    edge = min(ball.x1, ball.y1, width - ball.x2, height - ball.y2)
    values = {
        "players": len(players),
        "ball_size": (ball.width + ball.height) / 2 / height,
        "ball_aspect": max(ball.width, ball.height) / min(ball.width, ball.height),
        "ball_edge": edge / height,
    }
    if players:
        values["ball_overlap"] = max(_inside(ball, player) for player in players)
        values["ball_distance"] = min(_distance(ball, player) for player in players) / math.hypot(width, height)
    return {name: round(value, _DIGITS) for name, value in values.items()}


def _rules(settings: RulesSettings) -> tuple[tuple[str, str, float, float], ...]:
    """Return each rule: the reason for rejection, the name of the measurement, and its minimum and maximum.

    If an item violates several rules, it is rejected for the first of them.
    """
    return (
        ("ball too small", "ball_size", settings.min_size, math.inf),
        ("ball too large", "ball_size", 0, settings.max_size),
        ("ball not round", "ball_aspect", 1, settings.max_aspect),
        ("ball at the edge", "ball_edge", settings.edge, math.inf),
        ("too few players", "players", settings.min_players, math.inf),
        ("too many players", "players", 0, math.inf if settings.max_players is None else settings.max_players),
        ("ball over a player", "ball_overlap", 0, settings.max_overlap),
        ("ball too near a player", "ball_distance", settings.min_distance, math.inf),
        ("ball far from players", "ball_distance", 0, settings.max_distance),
    )


def _inside(ball: Box, player: Box) -> float:
    """Return the share of the ball's box inside the player's box."""
    wide = min(ball.x2, player.x2) - max(ball.x1, player.x1)
    high = min(ball.y2, player.y2) - max(ball.y1, player.y1)
    return max(wide, 0.0) * max(high, 0.0) / ball.area


def _distance(a: Box, b: Box) -> float:
    """Return the distance between two boxes in pixels; 0 if they touch."""
    return math.hypot(max(a.x1 - b.x2, b.x1 - a.x2, 0.0), max(a.y1 - b.y2, b.y1 - a.y2, 0.0))

"""Telling the audience from the players, by size, position and clustering, before anybody looks at the pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pydantic import Field

from spotball_gen.items.item import Box
from spotball_gen.items.stage import StageSettings

_TIMES_AS_TALL = 2.0
"""As wide; of who is cut by the image's upper or lower edge, the width says how tall they are."""
_RIM = 0.01
"""Whoever is this near to that edge is cut by it: the share of the image's height by which detectors miss it."""
_ALIKE = 1.5
"""Neighbors in a crowd are at most so many times as tall as each other."""


class SpectatorSettings(StageSettings):
    """Who is taken for audience.

    The players in front are as tall as the second tallest box; the tallest may be of somebody before the camera.

    Attributes:
        min_player_height: whoever is less tall, as a share of the image's height.
        relative_height: whoever is less tall, as a share of the players in front.
        background_height: only who is less tall than this share of the players in front is taken for somebody in the
            stands or in a crowd. Far players are taller.
        stands: in the stands is whoever's feet are higher up, as a share of the image's height from the top.
        crowd: in a crowd are at least so many; 0: no crowd is looked for.
        crowd_gap: neighbors in a crowd are at most so far from each other, in their heights.
    """

    min_player_height: float = Field(0.06, ge=0, le=1)
    relative_height: float = Field(0.25, ge=0, le=1)
    background_height: float = Field(0.5, ge=0, le=1)
    stands: float = Field(0.3, ge=0, le=1)
    crowd: int = Field(8, ge=0)
    crowd_gap: float = Field(1.5, gt=0)


def told_apart(people: Sequence[Box], height: float, settings: SpectatorSettings) -> tuple[str, ...]:
    """Why each of the people is audience; empty for players.

    Args:
        people: their boxes.
        height: the image's, in pixels.
        settings: the bounds.

    Returns:
        `small`, `in the stands`, `in a crowd` or nothing, in the order of the boxes.

    Examples:
        >>> players = Box(100, 150, 150, 300), Box(400, 160, 450, 300)
        >>> fan, steward = Box(20, 10, 30, 40), Box(300, 30, 320, 90)
        >>> told_apart([*players, fan, steward], 360, SpectatorSettings())
        ('', '', 'small', 'in the stands')
    """
    if not people:
        return ()
    tall = [_tall(box, height) for box in people]
    # The second tallest, since one may stand right before the camera.
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
    """How tall somebody is, also if the image's edge cuts them."""
    cut = box.y1 <= _RIM * height or box.y2 >= (1 - _RIM) * height
    return max(box.height, _TIMES_AS_TALL * box.width) if cut else box.height


def _crowded(
    people: Sequence[Box], tall: Sequence[float], behind: Sequence[int], settings: SpectatorSettings
) -> set[int]:
    """Numbers of those who are in a crowd, of those behind."""
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

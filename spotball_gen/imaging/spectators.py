"""Distinguish audience from players by size, position and clustering of their boxes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pydantic import Field

from spotball_gen.items.item import Box
from spotball_gen.items.stage import StageSettings

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

"""Simulate a synthetic match: positions of players, ball and camera at any time.

Positions are pixels of a world somewhat wider than the picture. The camera pans over it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

import numpy as np

Color = tuple[int, int, int]

SKIN: tuple[Color, ...] = ((238, 200, 170), (216, 170, 136), (178, 124, 88), (134, 88, 60), (96, 64, 48))
HAIR: tuple[Color, ...] = ((40, 32, 30), (82, 60, 46), (168, 140, 100), (28, 28, 32))
SEATS: Color = (52, 56, 66)
CROWD: tuple[Color, ...] = ((110, 112, 124), (134, 126, 128), (88, 98, 112), (150, 144, 140))
LINE: Color = (238, 240, 238)


@dataclass(frozen=True, slots=True)
class SportLook:
    """Appearance of a sport.

    Attributes:
        ground: color of the ground.
        stripes: color of its darker stripes.
        board: color of the board along the field, whose text is white.
        ball: color of the ball; nothing else in the picture has this color.
        teams: colors of shirt and shorts per team.
        players: number of players.
        tall: height of the player nearest to the viewer, as a fraction of the picture's height.
        across: diameter of the ball next to this player, as a fraction of the picture's height.
        high: height to which a pass rises, as a fraction of the picture's height.
        net: whether a net hangs across the middle.
    """

    ground: Color
    stripes: Color
    board: Color
    ball: Color
    teams: tuple[tuple[Color, Color], tuple[Color, Color]]
    players: int
    tall: float
    across: float
    high: float
    net: bool = False


# The number and size of players and the size of the ball are similar to the paper's images (Table 1).
LOOKS: Mapping[str, SportLook] = MappingProxyType(
    {
        "synthetic-soccer": SportLook(
            ground=(86, 146, 76),
            stripes=(78, 136, 70),
            board=(34, 58, 96),
            ball=(252, 232, 28),
            teams=(((196, 44, 48), (240, 240, 240)), ((40, 76, 176), (28, 40, 88))),
            players=5,
            tall=0.5,
            across=0.075,
            high=0.22,
        ),
        "synthetic-basketball": SportLook(
            ground=(76, 112, 158),
            stripes=(70, 105, 150),
            board=(70, 34, 84),
            ball=(250, 116, 8),
            teams=(((240, 240, 240), (228, 228, 232)), ((126, 40, 132), (92, 28, 100))),
            players=6,
            tall=0.58,
            across=0.1,
            high=0.32,
        ),
        "synthetic-volleyball": SportLook(
            ground=(96, 132, 140),
            stripes=(88, 124, 132),
            board=(28, 72, 78),
            ball=(252, 214, 20),
            teams=(((206, 48, 92), (60, 24, 40)), ((36, 56, 128), (240, 240, 240))),
            players=10,
            tall=0.36,
            across=0.08,
            high=0.4,
            net=True,
        ),
    }
)


Point = tuple[float, float]
Kind = Literal["title", "play", "no ball", "two balls"]

GROUND = 0.42
"""Upper edge of the ground as a fraction of the picture's height. The stands are above."""
_REACH = 1.3
"""Width of the world relative to the picture."""


@dataclass(frozen=True, slots=True)
class Shot:
    """A shot of the video, determined by its seed.

    Attributes:
        seconds: duration in seconds.
        seed: seed of all movements.
    """

    kind: Kind
    seconds: float
    seed: int


@dataclass(frozen=True, slots=True)
class DemoBall:
    """A ball in the picture.

    Attributes:
        center: center in pixels.
        radius: radius in pixels.
        ground: the point on the ground below the ball, in pixels.
        turn: rotation in radians.
    """

    center: Point
    radius: float
    ground: Point
    turn: float

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Return the box (x1, y1, x2, y2)."""
        (x, y), r = self.center, self.radius
        return x - r, y - r, x + r, y + r


@dataclass(frozen=True, slots=True)
class Player:
    """A player in the picture.

    Attributes:
        feet: the middle between the feet, in pixels.
        tall: height in pixels.
        team: 0 or 1.
        person: a number that determines skin and hair.
        stride: phase of the steps, in radians.
        near: whether this player is nearest to the ball and reaches for it.
    """

    feet: Point
    tall: float
    team: int
    person: int
    stride: float
    near: bool = False


@dataclass(frozen=True, slots=True)
class Moment:
    """The state of the match at one time.

    Attributes:
        pan: distance by which the camera has moved to the right, in pixels.
        players: players from the farthest to the nearest.
        balls: all balls, inside or outside the picture.
    """

    kind: Kind
    pan: float
    players: tuple[Player, ...] = ()
    balls: tuple[DemoBall, ...] = ()

    @property
    def focus(self) -> Point | None:
        """Return the point that the players look at, the center of the first ball, or None without a ball."""
        return self.balls[0].center if self.balls else None


class Play:
    """The movements of one shot, for pictures of a given width and height in pixels."""

    def __init__(self, shot: Shot, look: SportLook, width: int, height: int) -> None:
        self._shot, self._look, self._width, self._height = shot, look, width, height
        rng = np.random.default_rng(shot.seed)
        n = look.players
        world = width * _REACH
        # Spread players from left to right, so that they occlude each other only sometimes.
        self._x = (np.arange(n) + rng.uniform(0.25, 0.75, n)) * world / n
        self._depth = rng.permutation(np.linspace(0.15, 1, n))
        self._sway = rng.uniform(0.02, 0.07, n) * width
        self._tempo = rng.uniform(0.5, 1.1, n)
        self._phase = rng.uniform(0, 2 * math.pi, n)
        self._team = rng.permutation(np.arange(n) % 2)
        if look.net:
            self._team = (self._x > world / 2).astype(int)
        self._people = rng.integers(0, 1000, n)
        self._pass = rng.uniform(1.7, 2.6)
        self._pan = rng.uniform(0.2, 0.8), rng.uniform(0.4, 0.8), rng.uniform(0, 2 * math.pi)
        # Draw the passes last, because longer shots have more of them. They go between near or farther neighbors.
        self._order = [int(rng.integers(n))]
        for _ in range(math.ceil(shot.seconds / self._pass) + 2):
            candidates = [i for i in range(n) if 0 < abs(i - self._order[-1]) <= 3]
            self._order.append(int(rng.choice(candidates)))

    def at(self, time: float) -> Moment:
        """Return the state at a time in seconds after the start of the shot."""
        if self._shot.kind == "title":
            return Moment("title", 0.0)
        pan = self._camera(time)
        players = [self._player(i, time, pan) for i in range(self._look.players)]
        balls = self._balls(time, pan)
        if balls:
            nearest = min(range(len(players)), key=lambda i: math.dist(_chest(players[i]), balls[0].center))
            players[nearest] = replace(players[nearest], near=True)
        return Moment(self._shot.kind, pan, tuple(sorted(players, key=lambda p: p.feet[1])), balls)

    def _camera(self, time: float) -> float:
        start, speed, phase = self._pan
        room = self._width * (_REACH - 1)
        return room * (0.5 + 0.5 * math.sin(phase + speed * time) * start)

    def _player(self, i: int, time: float, pan: float) -> Player:
        swing = self._phase[i] + self._tempo[i] * time
        x = self._x[i] + self._sway[i] * math.sin(swing) - pan
        y = self._height * (GROUND + 0.08 + (0.94 - GROUND - 0.08) * self._depth[i])
        y += 0.012 * self._height * math.sin(1.7 * swing)
        tall = self._look.tall * self._height * (0.72 + 0.28 * self._depth[i])
        return Player((x, y), tall, int(self._team[i]), int(self._people[i]), 5 * swing)

    def _balls(self, time: float, pan: float) -> tuple[DemoBall, ...]:
        if self._shot.kind == "no ball":
            return ()
        first = self._ball(time, pan)
        if self._shot.kind == "play":
            return (first,)
        (x, y), (gx, gy), aside = first.center, first.ground, 0.3 * self._width
        aside = aside if x < self._width / 2 else -aside
        return first, replace(first, center=(x + aside, y), ground=(gx + aside, gy))

    def _ball(self, time: float, pan: float) -> DemoBall:
        number, share = divmod(time / self._pass, 1)
        giver, taker, next_one = self._order[int(number) : int(number) + 3]
        a, b = self._hand(giver, taker, time, pan), self._hand(taker, next_one, time, pan)
        depth = self._depth[giver] + (self._depth[taker] - self._depth[giver]) * share
        x = a[0] + (b[0] - a[0]) * share
        y = a[1] + (b[1] - a[1]) * share - self._look.high * self._height * 4 * share * (1 - share)
        feet = [self._player(i, time, pan).feet[1] for i in (giver, taker)]
        radius = 0.5 * self._look.across * self._height * (0.72 + 0.28 * depth)
        ground = feet[0] + (feet[1] - feet[0]) * share
        # The ball never leaves the picture at the top.
        y = max(y, radius + 0.05 * self._height)
        return DemoBall((x, min(y, ground - radius)), radius, (x, ground), 3 * time)

    def _hand(self, i: int, towards: int, time: float, pan: float) -> Point:
        """Return the point where player `i` holds the ball: next to the body, on the side of player `towards`."""
        player = self._player(i, time, pan)
        side = 1 if self._x[towards] > self._x[i] else -1
        return player.feet[0] + side * 0.52 * player.tall, player.feet[1] - 0.62 * player.tall


def _chest(player: Player) -> Point:
    return player.feet[0], player.feet[1] - 0.7 * player.tall


def shots(seed: int) -> tuple[Shot, ...]:
    """Return the shots of a match: a title, play, a shot without a ball, a warm-up with two balls, and a replay."""
    rng = np.random.default_rng(seed)
    first, second, third, away, warm = (int(number) for number in rng.integers(2**31, size=5))
    return (
        Shot("title", 1.5, 0),
        Shot("play", 8.5, first),
        Shot("no ball", 2, away),
        Shot("play", 8, second),
        Shot("two balls", 2, warm),
        Shot("play", 6, third),
        # Repeats the second shot after a whole number of seconds (8), so that the same frames are sampled again.
        Shot("play", 4, second),
    )

"""Colors (RGB) and sizes (fractions of the picture's height) of the demo's sports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

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

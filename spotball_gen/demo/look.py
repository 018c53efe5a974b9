"""How the sports of the demo look: colors in RGB, sizes as shares of the picture's height."""

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
    """How a sport is drawn.

    Attributes:
        ground: the field.
        stripes: its darker stripes.
        board: the board along the field, with its text in white.
        ball: the one color that nothing else in the picture has.
        teams: shirt and shorts of each.
        players: how many.
        tall: a player's height nearest to the viewer, as a share of the picture's height.
        across: the ball's diameter there, likewise.
        high: how high passes fly, likewise.
        net: whether one hangs across the middle.
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


# Numbers of players, their sizes and the ball's are about those of the paper's images (Table 1).
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

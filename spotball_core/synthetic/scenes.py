"""Make synthetic scenes, so that the whole workflow can be run without data, network or API key.

The scenes have the benchmark's format but not its content. Their sports are called `synthetic-...`, so that scores on
them are not mistaken for results about people or models.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spotball_core.grid import Grid
from spotball_core.random import base_seed, generator_for
from spotball_core.schema.checks import whole_number
from spotball_core.schema.scene import GridShape, PlayerBox, Scene
from spotball_core.typing import FloatArray

CONTROL_EVERY = 10
"""Every tenth image of a sport is a control, in which the ball is visible."""


@dataclass(frozen=True, slots=True)
class _Sport:
    """Settings of a sport's synthetic scenes. Areas are in square pixels of a 640 x 360 image.

    Attributes:
        players: mean number of players (Spot the Ball, Table 1).
        player_area: mean area of a player's box (Table 1).
        ball_area: median area of the ball's box (the mean in Table 1; for soccer, converted from 512 x 512 pixels to
            the image).
        center: mean y coordinate of the players' centers, as a share of the image's height.
        reach: standard deviation of the ball's horizontal distance from the player who has it, in widths of the player.
        height: range of the ball's vertical distance below the top of this player, in heights of the player.
    """

    players: float
    player_area: float
    ball_area: float
    center: float
    reach: float
    height: tuple[float, float]


_SPORTS = {
    # At the feet.
    "synthetic-soccer": _Sport(4.26, 13719, 785.37 * (640 / 512) * (360 / 512), 0.5, 1.0, (0.8, 1.05)),
    # In the hands, or on the way to the basket.
    "synthetic-basketball": _Sport(5.46, 20067, 1631.27, 0.55, 0.5, (-0.15, 0.45)),
    # In the air above the player.
    "synthetic-volleyball": _Sport(9.92, 6600, 904.86, 0.6, 1.5, (-1.2, -0.1)),
}

_ASPECT, _ASPECT_SPREAD = 0.42, 0.25  # width over height of people standing and running: median, sd of the logarithm
_SIZE_SPREAD = 0.3  # sd of the logarithm of a player's height
_BALL_SPREAD = 0.15  # sd of the logarithm of the ball's diameter
_SIDEWAYS, _UPWARDS = 0.22, 0.12  # sd of the players' centers, as shares of the image's width and height


def synthetic_scenes(n: int = 60, *, seed: int | np.random.Generator = 0) -> tuple[Scene, ...]:
    """Make synthetic scenes on the standard grid, alternating between three sports.

    The number and size of the players and the size of the ball follow Table 1 of Spot the Ball. The ball is near a
    player's feet in soccer, in or near a player's hands in basketball, and in the air above a player in volleyball.
    Images are numbered from 1 within each sport; every tenth image of a sport is a control. No image files are created.

    Args:
        n: number of scenes.
        seed: an integer of at least 0, or a Generator, from which one number is drawn. A scene's content depends only
            on the seed, its sport and its number. Therefore, a smaller `n` gives the first scenes of a larger `n`.

    Raises:
        OptionError: if `n` is less than 1, or if the seed is negative.

    Examples:
        >>> scenes = synthetic_scenes(4)
        >>> [scene.key for scene in scenes[:3]]
        [('synthetic-soccer', '1'), ('synthetic-basketball', '1'), ('synthetic-volleyball', '1')]
        >>> scenes[0].ball_cells == synthetic_scenes(1)[0].ball_cells
        True
    """
    n = whole_number("n", n, least=1)
    start = base_seed(seed)
    sports = list(_SPORTS)
    return tuple(_scene(sports[i % len(sports)], i // len(sports) + 1, start) for i in range(n))


def _scene(sport: str, number: int, seed: int) -> Scene:
    grid, look = Grid.standard(), _SPORTS[sport]
    rng = generator_for(seed, "scene", sport, str(number))
    # Use at least one player, because a scene needs players.
    players = _players(look, grid, 1 + int(rng.poisson(look.players - 1)), rng)
    x1, y1, x2, y2 = players[rng.integers(len(players))]
    size = min(np.sqrt(look.ball_area) * np.exp(rng.normal(0, _BALL_SPREAD)), grid.height / 2)
    x = (x1 + x2) / 2 + (x2 - x1) * rng.normal(0, look.reach)
    y = y1 + (y2 - y1) * rng.uniform(*look.height)
    ball = _boxes_at(np.array([[x, y]]), np.array([[size, size]]), grid)[0]
    return Scene(
        sport=sport,
        image=str(number),
        width=int(grid.width),
        height=int(grid.height),
        grid=GridShape(rows=grid.rows, cols=grid.cols),
        ball_box=tuple(ball.tolist()),
        players=tuple(PlayerBox.model_validate(box) for box in players.tolist()),
        control=number % CONTROL_EVERY == 0,
    )


def _players(look: _Sport, grid: Grid, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw the boxes of n players at random; shape (n, 4)."""
    aspect = _ASPECT * np.exp(rng.normal(0, _ASPECT_SPREAD, n))
    # Box areas are log-normal: their mean is their median times exp(variance of the logarithm / 2).
    median_area = look.player_area / np.exp((_ASPECT_SPREAD**2 + (2 * _SIZE_SPREAD) ** 2) / 2)
    height = np.sqrt(median_area / _ASPECT) * np.exp(rng.normal(0, _SIZE_SPREAD, n))
    height = np.minimum(height, 0.95 * grid.height)
    middle = rng.normal([0.5, look.center], [_SIDEWAYS, _UPWARDS], (n, 2)) * [grid.width, grid.height]
    return _boxes_at(middle, np.column_stack([aspect * height, height]), grid)


def _boxes_at(middle: FloatArray, size: FloatArray, grid: Grid) -> FloatArray:
    """Return boxes around these centers, shifted into the image if necessary, shape (n, 4), rounded to 0.1 px."""
    image = np.array([grid.width, grid.height])
    start = np.clip(middle - size / 2, 0, image - size)
    return np.column_stack([start, start + size]).round(1)

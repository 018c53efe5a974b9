"""Draw the positions of balls and players as heat maps over the grid, two per sport."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from spotball_core.grid import Grid
from spotball_core.metrics.strategy import PAPER_WINDOW
from spotball_core.schema.scene import Scene
from spotball_gen.dataset.statistics import ball_map, player_map

_WIDE, _GAP, _TOP, _HEAD = 330, 30, 30, 62
"""Pixels: width of a map, gap between maps, space above the first map, and space above each map."""

_BALL, _PLAYERS, _TEXT, _FAINT, _LINE = "#c2410c", "#0f766e", "#1f2933", "#5b6770", "#d9dee3"


def picture(scenes: Mapping[str, Sequence[Scene]]) -> str:
    """Return an SVG with two heat maps per sport: how often each cell holds the ball, and which share players cover.

    Args:
        scenes: scenes by sport. All scenes have the same grid.
    """
    grid = next(iter(scenes.values()))[0].layout
    high = _WIDE * grid.height / grid.width
    height = _TOP + round((high + _HEAD) * len(scenes)) + 24
    width = 2 * _WIDE + 3 * _GAP
    title = "Positions of balls and players"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        '<g font-family="system-ui, sans-serif" font-size="12">',
        f"<title>{title}</title>",
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{_GAP}" y="24" fill="{_TEXT}" font-size="14" font-weight="600">{title}</text>',
    ]
    for number, (sport, of) in enumerate(scenes.items()):
        y = _TOP + number * (high + _HEAD) + _HEAD - 16
        balls, players = ball_map(of), player_map(of)
        heading = f"{sport}, {len(of):,} {'image' if len(of) == 1 else 'images'}"
        parts.append(f'<text x="{_GAP}" y="{y - 25:.1f}" fill="{_TEXT}" font-weight="600">{escape(heading)}</text>')
        heads = (
            f"Ball: share of images per cell (maximum {balls.max():.0%})",
            f"Players: covered share of each cell (maximum {players.max():.0%})",
        )
        for column, (head, values, color) in enumerate(zip(heads, (balls, players), (_BALL, _PLAYERS), strict=True)):
            x = _GAP + column * (_WIDE + _GAP)
            parts.append(f'<text x="{x}" y="{y - 8:.1f}" fill="{_TEXT}">{head}</text>')
            parts += _map(values, grid, x, y, high, color)
    foot = "The darkest cell has the map's highest value. The dashed line marks the center window of the paper."
    parts.append(f'<text x="{_GAP}" y="{height - 10}" fill="{_FAINT}" font-size="11">{foot}</text>')
    return "\n".join([*parts, "</g>", "</svg>", ""])


def _map(values: NDArray[np.float64], grid: Grid, x: float, y: float, high: float, color: str) -> list[str]:
    """Return a rectangle per cell, with a darkness proportional to its value, and the outline of the center window."""
    wide, tall = _WIDE / grid.cols, high / grid.rows
    most = float(values.max()) or 1.0
    parts = []
    for index, value in enumerate(values):
        row, col = divmod(index, grid.cols)
        parts.append(
            f'<rect x="{x + col * wide:.1f}" y="{y + row * tall:.1f}" width="{wide:.1f}" height="{tall:.1f}" '
            f'fill="{color}" fill-opacity="{value / most:.3f}" stroke="{_LINE}" stroke-width="0.7">'
            f"<title>{grid.label(index)}: {value:.1%}</title></rect>"
        )
    standard = Grid.standard()
    (top, bottom), (left, right) = PAPER_WINDOW
    x1, x2 = (x + _WIDE * edge / standard.cols for edge in (left - 1, right))
    y1, y2 = (y + high * edge / standard.rows for edge in (top - 1, bottom))
    parts.append(
        f'<rect x="{x1:.1f}" y="{y1:.1f}" width="{x2 - x1:.1f}" height="{y2 - y1:.1f}" fill="none" stroke="{_TEXT}" '
        'stroke-dasharray="4 3"/>'
    )
    return parts

"""Where guesses fall: heat maps of each respondent's guesses beside the ball's."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, get_args

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.errors import OptionError
from spotball_core.grid import FloatArray, Grid, row_name
from spotball_core.metrics.inputs import checked_mass
from spotball_core.metrics.strategy import PAPER_WINDOW
from spotball_core.report.numbers import plural
from spotball_core.report.sheet import (
    ABOVE,
    BELOW,
    FAINT,
    FOOT,
    HEADER,
    INK,
    NAME,
    NAME_WIDTH,
    SMALL,
    SMALL_WIDTH,
    WIDTH,
    above_axes,
    at,
    axes_at,
    entitle,
    foot_height,
    new_sheet,
    percent,
    wrapped,
)
from spotball_core.schema.response import Kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

    from spotball_core.counts import Counts
    from spotball_core.schema.scene import Scene

# In inches.
_HEADING, _MAPS_LEFT, _MAPS_RIGHT, _MAP_GAP = 0.14, 0.28, 0.85, 0.12
_MAPS_ACROSS = 6


def guesses_by_respondent(counts: Counts, scenes: Iterable[Scene]) -> dict[str, dict[str, FloatArray]]:
    """How often each respondent named each cell, sport by sport, as `guess_maps` takes it.

    Args:
        counts: of responses to these scenes, on their grid; counts of other images are left out.
        scenes: their controls are left out.

    Returns:
        By sport and respondent, shape (n_images, n_cells), for those who answered; people first, then models, then
        baselines. A respondent who was asked with several prompts has one entry each, called by both.
    """
    import polars as pl

    from spotball_core.counts import dense

    images: dict[str, dict[str, int]] = {}
    for scene in scenes:
        if not scene.control:
            of_sport = images.setdefault(scene.sport, {})
            of_sport[scene.image] = len(of_sport)
    kind = pl.col("kind").replace_strict({kind: place for place, kind in enumerate(get_args(Kind))})
    asked = counts.table.select("respondent", "prompt", kind).unique().sort("kind", "respondent", "prompt")
    several = set(asked.filter(pl.col("respondent").is_duplicated())["respondent"])
    out: dict[str, dict[str, FloatArray]] = {}
    for sport, of_sport in images.items():
        for respondent, prompt, _ in asked.iter_rows():
            rows = counts.table.filter(sport=sport, respondent=respondent, prompt=prompt)
            if not rows.is_empty():
                places = rows["image"].replace_strict(of_sport, default=None, return_dtype=pl.Int64)
                label = f"{respondent}, {prompt}" if respondent in several else respondent
                out.setdefault(sport, {})[label] = dense(rows, places, len(of_sport), counts.n_cells)[0]
    return out


def truth_by_sport(scenes: Iterable[Scene]) -> dict[str, FloatArray]:
    """Where the ball is, sport by sport, as `guess_maps` takes it: 1 in its cells, shape (n_images, n_cells).

    Controls are left out.
    """
    masks: dict[str, list[FloatArray]] = {}
    for scene in scenes:
        if not scene.control:
            mask = scene.layout.mask(scene.ball_cells or ())
            masks.setdefault(scene.sport, []).append(mask.astype(float))
    return {sport: np.stack(rows) for sport, rows in masks.items()}


def guess_maps(
    guesses: Mapping[str, Mapping[str, ArrayLike]],
    truth: Mapping[str, ArrayLike],
    grid: Grid,
    *,
    note: str = "",
) -> Figure:
    """Where each respondent's guesses fall, pooled over images: a row of heat maps for each sport, the ball's first.

    All maps share one color scale, in percent of a map's guesses (the ball's: of the ball's cells). The paper's center
    window is outlined on a 6 x 10 grid.

    Args:
        guesses: by sport and respondent, how often each cell was named, shape (n_images, n_cells).
        truth: by sport, 1 where the ball is, shape (n_images, n_cells).
        grid: the grid; its size in pixels gives the maps their shape.
        note: a line for the figure's foot.

    Raises:
        MissingExtraError: without matplotlib.
        OptionError: if there is nothing to draw, or a sport without truth.
        DistributionError: for counts that are negative, not finite or of the wrong length.

    Examples:
        >>> grid = Grid.standard()
        >>> figure = guess_maps({"soccer": {"me": [grid.mask(["D5", "D6"])]}}, {"soccer": [grid.mask(["D5"])]}, grid)
        >>> [axes.get_title("left") for axes in figure.axes[:2]]
        ['the ball', 'me']
    """
    if not guesses:
        raise OptionError("there are no guesses to draw")
    if missing := [sport for sport in guesses if sport not in truth]:
        raise OptionError(f"there is no truth for {', '.join(missing)}")
    maps = {
        sport: [_Map.of("the ball", truth[sport], "cell", grid)]
        + [_Map.of(name, counts, "guess", grid) for name, counts in respondents.items()]
        for sport, respondents in guesses.items()
    }
    top = max(float(one.shares.max()) for row in maps.values() for one in row) or 1.0
    foot = "Guesses pooled over images; one color scale for all maps; white: never named."
    if _has_window(grid):
        (first_row, last_row), (first_col, last_col) = PAPER_WINDOW
        rows, cols = f"{row_name(first_row)}–{row_name(last_row)}", f"{first_col}–{last_col}"
        foot += f" Outline: the paper's center window (rows {rows}, columns {cols})."
    feet = wrapped([foot, note])

    # Laid out by hand, in inches from the top left: maps of one size, whatever the length of the texts above them.
    across = _maps_across(maps.values())
    step = (WIDTH - _MAPS_LEFT - _MAPS_RIGHT + _MAP_GAP) / across
    wide = step - _MAP_GAP
    high = wide * grid.height / grid.width
    n_lines = sum(math.ceil(len(row) / across) for row in maps.values())
    body = len(maps) * _HEADING + n_lines * (ABOVE + high + BELOW)
    figure = new_sheet(height=HEADER + body + foot_height(feet))
    y = HEADER
    for sport, row in maps.items():
        figure.text(*at(figure, _MAPS_LEFT, y), sport, va="top", fontsize=NAME, fontweight="bold", color=INK)
        y += _HEADING
        for start in range(0, len(row), across):
            y += ABOVE
            for place, one in enumerate(row[start : start + across]):
                axes = axes_at(figure, _MAPS_LEFT + place * step, y, wide, high)
                shown = _draw_map(axes, one, grid, top)
                axes.tick_params(labelleft=place == 0)
            y += high + BELOW
    bar_height = min(body - _HEADING - ABOVE - BELOW, 2.5)
    bar = axes_at(figure, WIDTH - _MAPS_RIGHT + 0.18, HEADER + (body - bar_height) / 2, 0.11, bar_height)
    figure.colorbar(shown, cax=bar, format=percent).outline.set_visible(False)
    bar.set_ylabel("share of the guesses in a map", fontsize=SMALL, color=INK)
    bar.tick_params(labelsize=SMALL, colors=INK, length=2)
    entitle(figure, "Where the guesses fall", feet)
    return figure


@dataclass(frozen=True, slots=True)
class _Map:
    """One heat map: the share of guesses each cell got, shape (n_cells,), whose they are, and how many."""

    shares: FloatArray
    name: str
    size: str

    @classmethod
    def of(cls, name: str, counts: ArrayLike, what: str, grid: Grid) -> _Map:
        mass = np.atleast_2d(checked_mass(counts, grid))
        total = float(mass.sum())
        size = f"{plural(total, what)}, {plural(int(mass.any(axis=-1).sum()), 'image')}"
        return cls(mass.sum(axis=0) / (total or 1.0), name, size)


def _draw_map(axes: Axes, one: _Map, grid: Grid, top: float) -> AxesImage:
    from matplotlib.patches import Rectangle

    image = axes.imshow(
        np.ma.masked_equal(one.shares, 0).reshape(grid.rows, grid.cols),
        cmap="magma_r",
        vmin=0,
        vmax=top,
        extent=(0.5, grid.cols + 0.5, grid.rows + 0.5, 0.5),
        aspect=grid.cell_height / grid.cell_width,
        interpolation="nearest",
    )
    if _has_window(grid):
        (first_row, last_row), (first_col, last_col) = PAPER_WINDOW
        corner, wide, high = (first_col - 0.5, first_row - 0.5), last_col - first_col + 1, last_row - first_row + 1
        axes.add_patch(Rectangle(corner, wide, high, fill=False, edgecolor="#2a9d8f", linewidth=1.0))
    axes.set_title(one.name, fontsize=NAME, color=INK, loc="left", pad=15)
    above_axes(axes, one.size, 5, fontsize=SMALL, color=FAINT)
    axes.set_xticks(range(1, grid.cols + 1))
    axes.set_yticks(range(1, grid.rows + 1), [row_name(row) for row in range(1, grid.rows + 1)])
    axes.tick_params(labelsize=FOOT, length=0, pad=2, colors=FAINT)
    axes.spines[:].set_color("#c9c9c9")
    return image


def _maps_across(rows: Iterable[Sequence[_Map]]) -> int:
    """How many maps stand side by side: few enough for the texts above them, and lines about equally full."""
    rows = list(rows)
    text = max(max(NAME_WIDTH * len(one.name), SMALL_WIDTH * len(one.size)) for row in rows for one in row)
    room = int((WIDTH - _MAPS_LEFT - _MAPS_RIGHT + _MAP_GAP) / text)
    most = max(map(len, rows))
    return math.ceil(most / math.ceil(most / max(1, min(_MAPS_ACROSS, room))))


def _has_window(grid: Grid) -> bool:
    return (grid.rows, grid.cols) == (6, 10)

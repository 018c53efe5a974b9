"""Draw heat maps of each respondent's guesses next to the ground truth, from arrays of counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, get_args

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.errors import OptionError
from spotball_core.grid import Grid
from spotball_core.metrics.inputs import checked_mass
from spotball_core.metrics.strategy import PAPER_WINDOW
from spotball_core.plots.canvas import FigureFrame, columns, plain_style
from spotball_core.plots.heat_maps import HeatMap, HeatMapChart, SportMaps
from spotball_core.schema.response import Kind
from spotball_core.text.words import plural
from spotball_core.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from spotball_core.counting.counts import Counts
    from spotball_core.schema.scene import Scene


def guesses_by_respondent(counts: Counts, scenes: Iterable[Scene]) -> dict[str, dict[str, FloatArray]]:
    """Return the number of times each respondent named each cell, by sport, for use in `guess_maps`.

    Args:
        counts: counts of responses to these scenes, on their grid; counts of other images are excluded.
        scenes: the scenes; controls (images in which the ball is visible) are excluded.

    Returns:
        Counts by sport and respondent, shape (n_images, n_cells), for respondents with answers: people first, then
        models, then baselines. A respondent with several prompts has one entry per prompt, named by both.
    """
    import polars as pl

    from spotball_core.counting.counts import dense

    images: dict[str, dict[str, int]] = {}
    for scene in scenes:
        if not scene.control:
            of_sport = images.setdefault(scene.sport, {})
            of_sport[scene.image] = len(of_sport)
    kind = pl.col("kind").replace_strict({kind: place for place, kind in enumerate(get_args(Kind))})
    respondents = counts.table.select("respondent", "prompt", kind).unique().sort("kind", "respondent", "prompt")
    several = set(respondents.filter(pl.col("respondent").is_duplicated())["respondent"])
    out: dict[str, dict[str, FloatArray]] = {}
    for sport, of_sport in images.items():
        for respondent, prompt, _ in respondents.iter_rows():
            rows = counts.table.filter(sport=sport, respondent=respondent, prompt=prompt)
            if not rows.is_empty():
                places = rows["image"].replace_strict(of_sport, default=-1, return_dtype=pl.Int64).to_numpy()
                label = f"{respondent}, {prompt}" if respondent in several else respondent
                out.setdefault(sport, {})[label] = dense(rows, places, len(of_sport), counts.n_cells)[0]
    return out


def truth_by_sport(scenes: Iterable[Scene]) -> dict[str, FloatArray]:
    """Return where the ball is, by sport, for use in `guess_maps`: 1 in its cells, shape (n_images, n_cells).

    Controls (images in which the ball is visible) are excluded.
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
    """Draw where each respondent's guesses fall, pooled over images: a row of heat maps per sport, the ball first.

    All maps share one color scale, in percent of a map's guesses (for the ball: of the ball's cells). The center window
    from the paper is outlined on a 6 x 10 grid.

    Args:
        guesses: by sport and respondent, how often each cell was named, shape (n_images, n_cells).
        truth: by sport, 1 where the ball is, shape (n_images, n_cells).
        grid: the grid; its size in pixels determines the shape of the maps.
        note: a line at the bottom of the figure.

    Raises:
        MissingExtraError: if matplotlib is not installed.
        OptionError: if `guesses` is empty, or if `truth` lacks one of its sports.
        DistributionError: for counts that are negative, not finite or of the wrong length.

    Examples:
        >>> grid = Grid.standard()
        >>> figure = guess_maps({"soccer": {"me": [grid.mask(["D5", "D6"])]}}, {"soccer": [grid.mask(["D5"])]}, grid)
        >>> [axes.texts[0].get_text() for axes in figure.axes[:2]]
        ['the ball', 'me']
    """
    if not guesses:
        raise OptionError("found none. Pass the guesses of at least one sport", code="no-data", field="guesses")
    if missing := [sport for sport in guesses if sport not in truth]:
        raise OptionError(
            f"found nothing for {', '.join(missing)}. Pass the ball's cells of each sport",
            code="no-data",
            field="truth",
        )
    sports = tuple(
        SportMaps(
            sport,
            (
                pooled_map("the ball", truth[sport], "cell", grid),
                *(pooled_map(name, counts, "guess", grid) for name, counts in respondents.items()),
            ),
        )
        for sport, respondents in guesses.items()
    )
    window = PAPER_WINDOW if (grid.rows, grid.cols) == (6, 10) else None
    chart = HeatMapChart(sports, grid, window)
    frame = FigureFrame("Where respondents guess", tuple(filter(None, (chart.caption, note))), columns(2))
    with plain_style():
        return chart.draw(range(len(sports)), frame)


def pooled_map(name: str, counts: ArrayLike, what: str, grid: Grid) -> HeatMap:
    """Return the heat map of counts, shape (n_images, n_cells), pooled over images; `what` names what is counted."""
    mass = np.atleast_2d(checked_mass(counts, grid))
    total = float(mass.sum())
    size = f"{plural(total, what)}, {plural(int(mass.any(axis=-1).sum()), 'image')}"
    return HeatMap(name, size, mass.sum(axis=0) / (total or 1.0))

"""Define baselines: respondents that guess from the scenes alone, without images.

For each scene, a baseline has a distribution over the cells. `baseline_distributions` returns it, and
`baseline_responses` draws answers from it, so that a baseline is scored like any respondent. A baseline may have no
answer for a scene, for example without player boxes; its samples then count as unparsed. Scenes with a visible ball
(controls) are answered like the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from spotball_core.counting.responses import common_grid
from spotball_core.cue_maps.registry import cue_scores
from spotball_core.errors import OptionError, unknown_name
from spotball_core.grid import Grid
from spotball_core.metrics.inputs import ratio
from spotball_core.random import base_seed, generator_for
from spotball_core.schema.checks import whole_number
from spotball_core.schema.scene import Scene
from spotball_core.typing import FloatArray, IntArray

if TYPE_CHECKING:
    import polars as pl

CENTER_SD = 0.15
"""Standard deviation of the `center` baseline, as a share of the image's width and of its height."""

NEAR_SCALE = 0.04
"""Scale s of the `nearest-player` baseline, in image diagonals: half of tau in eq. 5 of Spot the Ball."""

SOCIAL_WEIGHTS: Mapping[str, float] = MappingProxyType(
    {
        "location": 1.09,
        "center": 1.7,
        "players": 3.88,
        "feet": 6.23,
        "head": 0.962,
        "torso": 0.644,
        "view": 0.19,
        "limbs": 0.769,
        "blocked": 1.04,
    }
)
"""Weights of the cues for the `social` baseline, per unit of each cue.

They were fitted to people on the 50 soccer images of the published study, with keypoints by MediaPipe;
`docs/explanation/cues.md` describes how. They are constants, so the baseline uses no responses. On these 50 images, the
baseline is evaluated on the data that its weights were fitted to.
"""

PROMPT = "base"
"""Value of the column `prompt` in rows with answers of baselines, which do not use a prompt."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """A baseline: its name, its description, and the function that computes its guesses.

    Attributes:
        name: the baseline's name as a respondent.
        description: the cells that the baseline guesses, in one line.
        function: function that takes scenes of one grid shape and returns the distributions over the cells, shape
            (n_scenes, n_cells). A row is NaN if the baseline has no answer.
    """

    name: str
    description: str
    function: Callable[[Sequence[Scene]], FloatArray]


def baseline_distributions(name: str, scenes: Sequence[Scene]) -> FloatArray:
    r"""Return a baseline's distribution over the cells for each scene.

    - `uniform`: all cells have the same probability.
    - `center`: a Gaussian around the image's center, truncated at the image's edges. Its standard deviation is 0.15 of
      the width and of the height. A cell's probability is the integral of the Gaussian over the cell.
    - `nearest-player`: $p_j \propto \exp(-d_j^2 / 2s^2)$ with d the distance from a cell's center to the nearest
      player's box, 0 inside (Spot the Ball, eq. 4), and s = 0.04 image diagonals. It has no answer without player
      boxes.
    - `prior`: how often each cell holds the ball in the other scenes of the same sport. A ball in several cells counts
      once for each of them. The distribution is uniform if the ball's cells are unknown in all other scenes. It depends
      on which other scenes are passed.
    - `oracle`: the ball's cells have the same probability, all other cells 0. It has no answer if the ball's cells are
      unknown.
    - `social`: a conditional logit over the cells, with the cues that people follow and people's weights
      (`SOCIAL_WEIGHTS`). It does not use the ball of the scene itself; one of its cues is where the ball is in the
      other scenes of the sport. Cues that do not apply to a scene, such as body cues without keypoints, have no effect.

    Args:
        name: one of `BASELINES`.
        scenes: scenes of one grid shape; their images may differ in size.

    Returns:
        Shape (n_scenes, n_cells); each row sums to 1, or is NaN if the baseline has no answer.

    Raises:
        OptionError: if the name is unknown, if there are no scenes, if a scene occurs twice, or if the scenes have
            different grid shapes.

    Examples:
        >>> from spotball_core.grid import Grid
        >>> scene = Scene(sport="soccer", image="163", grid=Grid.standard(), ball_cells=["C2", "C3", "D2", "D3"])
        >>> baseline_distributions("oracle", [scene]).max(axis=-1).tolist()
        [0.25]
    """
    if name not in BASELINES:
        raise OptionError(unknown_name("baseline", name, BASELINES), code="unknown-name")
    common_grid(scenes)
    return BASELINES[name].function(scenes)


def baseline_responses(
    scenes: Sequence[Scene],
    names: Iterable[str] | None = None,
    *,
    samples: int = 50,
    seed: int | np.random.Generator = 0,
) -> pl.DataFrame:
    """Draw answers from baselines and return them as rows with the columns of a responses file.

    The random numbers for a scene depend only on the seed, the baseline and the scene's sport and image. Other
    baselines, other scenes and their order do not change them. However, the distributions of `prior` and `social`
    depend on the other scenes.

    Args:
        scenes: scenes of one grid shape.
        names: names from `BASELINES` (default: all).
        samples: number of answers per scene.
        seed: an integer of at least 0, or a Generator, from which one number is drawn.

    Returns:
        A frame with the columns `spotball_core.io.frames.COLUMNS` and one row per answer, sorted by baseline, scene and
        sample. `kind` is "baseline", `prompt` is "base", `sample` starts at 1, and `cell` is null if the baseline has
        no answer.

    Raises:
        OptionError: if `baseline_distributions` raises it, if `names` is empty, if `samples` is less than 1, or if the
            seed is negative.

    Examples:
        >>> from spotball_core.grid import Grid
        >>> scene = Scene(sport="soccer", image="163", grid=Grid.standard(), ball_cells=["C2"])
        >>> baseline_responses([scene], ["oracle", "nearest-player"], samples=2)["cell"].to_list()
        ['C2', 'C2', None, None]
    """
    samples = whole_number("samples", samples, least=1)
    names = list(BASELINES if names is None else dict.fromkeys([names] if isinstance(names, str) else names))
    if not names:
        raise OptionError(f"no baseline was named. Name at least one of {', '.join(BASELINES)}", code="no-data")
    common_grid(scenes)
    distributions = {name: baseline_distributions(name, scenes) for name in names}
    return drawn_responses(distributions, scenes, samples=samples, seed=seed)


def drawn_responses(
    distributions: Mapping[str, FloatArray], scenes: Sequence[Scene], *, samples: int, seed: int | np.random.Generator
) -> pl.DataFrame:
    """Draw answers from distributions over the cells.

    The draws for a scene depend only on the seed, the respondent's name, and the scene's identity and distribution.

    Args:
        distributions: distributions over the cells by respondent name, shape (n_scenes, n_cells) each. A row is NaN if
            the respondent has no answer.
        scenes: scenes of one grid shape.
        samples: number of answers per scene.
        seed: as for `baseline_responses`.

    Returns:
        A frame in the format of `baseline_responses`, with `kind` "baseline".
    """
    import polars as pl

    from spotball_core.io.frames import COLUMNS

    base, names = base_seed(seed), list(distributions)
    drawn = np.stack([_draws(name, distributions[name], scenes, samples, base) for name in names])
    # The rows follow the order of the axes: baseline, scene, sample.
    baseline, item, sample = (axis.ravel() for axis in np.indices(drawn.shape, dtype=np.int64))
    rows = pl.DataFrame(
        {
            "sport": pl.Series([scene.sport for scene in scenes]).gather(item),
            "image": pl.Series([scene.image for scene in scenes]).gather(item),
            "respondent": pl.Series(names).gather(baseline),
            "sample": sample + 1,
            "cell": pl.Series([*scenes[0].layout.labels, None]).gather(drawn.ravel()),
        }
    )
    nothing = pl.lit(None, dtype=pl.String)
    return rows.with_columns(
        kind=pl.lit("baseline"), prompt=pl.lit(PROMPT), participant=nothing, reasoning=nothing
    ).select(COLUMNS)


def _draws(name: str, distributions: FloatArray, scenes: Sequence[Scene], samples: int, seed: int) -> IntArray:
    """Return the indices of the drawn cells, shape (n_scenes, samples). The index n_cells means no answer."""
    draws = np.full((len(scenes), samples), distributions.shape[-1], dtype=np.int64)
    cumulative = np.cumsum(distributions, axis=-1)
    # The last value is 1 up to rounding. It must be exactly 1, or a draw could exceed it.
    cumulative /= cumulative[:, -1:]
    for i, scene in enumerate(scenes):
        if np.isfinite(cumulative[i, -1]):
            random = generator_for(seed, name, *scene.key).random(samples)
            draws[i] = np.searchsorted(cumulative[i], random, side="right")
    return draws


def _uniform(scenes: Sequence[Scene]) -> FloatArray:
    n_cells = scenes[0].layout.n_cells
    return np.full((len(scenes), n_cells), 1 / n_cells)


def _center(scenes: Sequence[Scene]) -> FloatArray:
    grid = scenes[0].layout
    distribution = np.outer(_gaussian_shares(grid.rows), _gaussian_shares(grid.cols)).ravel()
    return np.tile(distribution, (len(scenes), 1))


def _gaussian_shares(n: int) -> FloatArray:
    """Return the probability of each of n equal parts of [0, 1] under the Gaussian of `center`; shape (n,)."""
    below = [math.erf((edge - 0.5) / (CENTER_SD * math.sqrt(2))) for edge in np.linspace(0, 1, n + 1)]
    return _shares(np.diff(below))


def _nearest_player(scenes: Sequence[Scene]) -> FloatArray:
    out = np.full((len(scenes), scenes[0].layout.n_cells), np.nan)
    by_layout: dict[Grid, list[int]] = {}
    for i, scene in enumerate(scenes):
        if scene.players:
            by_layout.setdefault(scene.layout, []).append(i)
    for grid, places in by_layout.items():
        boxes = [scenes[i].boxes for i in places]
        starts = np.cumsum([0, *(len(box) for box in boxes[:-1])])
        distances = np.minimum.reduceat(grid.box_distances(np.concatenate(boxes)), starts, axis=0)
        squares = (distances / (NEAR_SCALE * grid.diagonal)) ** 2
        # Subtract the nearest cell's distance: for players far outside the image, all cells could underflow to 0.
        mass = np.exp(-(squares - squares.min(axis=-1, keepdims=True)) / 2)
        out[places] = mass / mass.sum(axis=-1, keepdims=True)
    return out


def _prior(scenes: Sequence[Scene]) -> FloatArray:
    truth = _truth(scenes)
    sports, sport = np.unique([scene.sport for scene in scenes], return_inverse=True)
    totals = np.zeros((len(sports), truth.shape[-1]))
    np.add.at(totals, sport, truth)
    others = totals[sport] - truth
    return np.where(others.any(axis=-1, keepdims=True), _shares(others), _uniform(scenes))


def _oracle(scenes: Sequence[Scene]) -> FloatArray:
    return _shares(_truth(scenes))


def _social(scenes: Sequence[Scene]) -> FloatArray:
    weights = np.array(list(SOCIAL_WEIGHTS.values()))
    utility = cue_scores(scenes, SOCIAL_WEIGHTS).centered() @ weights
    return _shares(np.exp(utility - utility.max(axis=-1, keepdims=True)))


def _truth(scenes: Sequence[Scene]) -> FloatArray:
    """Return 1 for the ball's cells and 0 for others, shape (n_scenes, n_cells). A row is 0 if they are unknown."""
    return np.stack([scene.layout.mask(scene.ball_cells or ()) for scene in scenes]).astype(float)


def _shares(mass: FloatArray) -> FloatArray:
    """Divide each row by its sum. A row is NaN if its sum is 0."""
    return ratio(mass, mass.sum(axis=-1, keepdims=True))


_ALL = (
    Baseline("uniform", "all cells equally", _uniform),
    Baseline("center", "a Gaussian around the image's center", _center),
    Baseline("nearest-player", "cells near a player's box", _nearest_player),
    Baseline("prior", "where the ball is in the sport's other scenes", _prior),
    Baseline("oracle", "the ball's cells", _oracle),
    Baseline("social", "usual places of the ball, places near players, and places that players look at", _social),
)

BASELINES: Mapping[str, Baseline] = MappingProxyType({baseline.name: baseline for baseline in _ALL})
"""All baselines, by name."""

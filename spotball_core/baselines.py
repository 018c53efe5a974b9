"""Respondents that need no images: what guessing gets, from the scenes alone.

A baseline is one distribution over the cells for each scene. `baseline_distributions` gives it as it is,
`baseline_responses` draws answers from it, so that a baseline goes through scoring as any respondent does. A baseline
may have no answer for a scene (no player boxes, no truth); it then leaves its samples unparsed. Scenes with a visible
ball (controls) are answered like the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from spotball_core.cue_maps.scores import cue_scores
from spotball_core.errors import OptionError
from spotball_core.grid import Grid
from spotball_core.metrics.inputs import ratio
from spotball_core.random import base_seed, generator_for
from spotball_core.schema.scene import Scene
from spotball_core.typing import FloatArray, IntArray

if TYPE_CHECKING:
    import polars as pl

CENTER_SD = 0.15
"""Standard deviation of the `center` baseline, as a share of the image's width and of its height."""

NEAR_SCALE = 0.04
"""Scale of the `nearest-player` baseline, as a share of the image's diagonal: half the paper's tau (eq. 5)."""

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
"""Weights of the cues for the `social` baseline, per unit of each cue: those of people on the 50 soccer images of the
published study, with keypoints by MediaPipe. `docs/explanation/cues.md` says how they were fitted. They are constants,
so the baseline sees no responses. On these 50 images, the weights are not held out."""

PROMPT = "base"
"""The prompt under which baselines' answers are filed: they see none."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """One baseline's record.

    Attributes:
        name: what it is called as a respondent.
        description: what it guesses, in one line.
        function: from scenes of one grid shape to their distributions, shape (n_scenes, n_cells); a row of NaN where
            it has no answer.
    """

    name: str
    description: str
    function: Callable[[Sequence[Scene]], FloatArray]


def baseline_distributions(name: str, scenes: Sequence[Scene]) -> FloatArray:
    r"""What a baseline guesses on each scene.

    - `uniform`: every cell alike.
    - `center`: a Gaussian about the image's center, its standard deviation 0.15 of the width and of the height, cut
      off at the image's edges; a cell has the Gaussian's mass over its area.
    - `nearest-player`: $p_j \propto \exp(-d_j^2 / 2s^2)$ with d the distance from a cell's center to the nearest
      player's box (eq. 4), 0 inside, and s = 0.04 image diagonals. No answer without player boxes.
    - `prior`: where the ball is in the other scenes of the same sport, each ball cell counted once; the scene itself
      is left out. Uniform where no other scene of the sport has a known truth. The one baseline whose answer to a
      scene depends on which other scenes there are.
    - `oracle`: the ball's cells, all alike. No answer where the truth is not known.
    - `social`: follows the cues that people follow, with people's weights (`SOCIAL_WEIGHTS`): a conditional logit over
      the cells. It never sees the ball of the scene itself; one of its cues is where the ball is in the other scenes of
      the sport. Cues that do not apply to a scene, such as those of bodies without keypoints, are neutral.

    Args:
        name: one of `BASELINES`.
        scenes: of one grid shape; their images may differ in size.

    Returns:
        Shape (n_scenes, n_cells); each row sums to 1, or is NaN where the baseline has no answer.

    Raises:
        OptionError: for another name, no scenes, a scene that is there twice, or scenes of different grid shapes.

    Examples:
        >>> from spotball_core.grid import Grid
        >>> scene = Scene(sport="soccer", image="163", grid=Grid.standard(), ball_cells=["C2", "C3", "D2", "D3"])
        >>> baseline_distributions("oracle", [scene]).max(axis=-1).tolist()
        [0.25]
    """
    if name not in BASELINES:
        raise OptionError(f"there is no baseline {name!r}; there are {', '.join(BASELINES)}")
    _check(scenes)
    return BASELINES[name].function(scenes)


def baseline_responses(
    scenes: Sequence[Scene],
    names: Iterable[str] | None = None,
    *,
    samples: int = 50,
    seed: int | np.random.Generator = 0,
) -> pl.DataFrame:
    """Answers drawn from baselines, as rows with the columns of a responses file.

    The draws for a scene depend on the seed, the baseline and the scene's identity alone: other baselines, other
    scenes and their order change none of them (only the distributions of `prior` and `social` depend on other scenes).

    Args:
        scenes: of one grid shape.
        names: some of `BASELINES`; all of them if left out.
        samples: answers a scene.
        seed: a whole number of at least 0, or a Generator, from which one number is drawn.

    Returns:
        The columns `spotball_core.io.frames.COLUMNS`, one row for each (baseline, scene, sample), in this order:
        kind "baseline", prompt "base", samples from 1, `cell` null where the baseline has no answer.

    Raises:
        OptionError: as `baseline_distributions`, and for less than one sample or a negative seed.

    Examples:
        >>> from spotball_core.grid import Grid
        >>> scene = Scene(sport="soccer", image="163", grid=Grid.standard(), ball_cells=["C2"])
        >>> baseline_responses([scene], ["oracle", "nearest-player"], samples=2)["cell"].to_list()
        ['C2', 'C2', None, None]
    """
    if samples < 1:
        raise OptionError(f"samples is {samples}, expected at least 1")
    names = list(BASELINES if names is None else dict.fromkeys(names))
    if not names:
        raise OptionError(f"no baseline named; there are {', '.join(BASELINES)}")
    _check(scenes)
    distributions = {name: baseline_distributions(name, scenes) for name in names}
    return drawn_responses(distributions, scenes, samples=samples, seed=seed)


def drawn_responses(
    distributions: Mapping[str, FloatArray], scenes: Sequence[Scene], *, samples: int, seed: int | np.random.Generator
) -> pl.DataFrame:
    """Draw answers from distributions over the cells.

    The draws for a scene depend on the seed, the respondent's name, and the scene's identity and distribution alone.

    Args:
        distributions: by the respondent's name, shape (n_scenes, n_cells) each; a row of NaN where it has no answer.
        scenes: of one grid shape.
        samples: answers a scene.
        seed: as for `baseline_responses`.

    Returns:
        As `baseline_responses`.
    """
    import polars as pl

    from spotball_core.io.frames import COLUMNS

    base, names = base_seed(seed), list(distributions)
    drawn = np.stack([_draws(name, distributions[name], scenes, samples, base) for name in names])
    # Row by row in the order of the axes: baseline, scene, sample.
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
    """Indices of drawn cells, shape (n_scenes, samples); n_cells where there is no answer."""
    draws = np.full((len(scenes), samples), distributions.shape[-1], dtype=np.int64)
    cumulative = np.cumsum(distributions, axis=-1)
    # The last is 1 up to rounding; it must be 1, or a draw could fall behind it.
    cumulative /= cumulative[:, -1:]
    for i, scene in enumerate(scenes):
        if np.isfinite(cumulative[i, -1]):
            random = generator_for(seed, name, *scene.key).random(samples)
            draws[i] = np.searchsorted(cumulative[i], random, side="right")
    return draws


def _check(scenes: Sequence[Scene]) -> None:
    shapes: dict[tuple[int, int], Scene] = {}
    keys: set[tuple[str, str]] = set()
    for scene in scenes:
        shapes.setdefault((scene.grid.rows, scene.grid.cols), scene)
        if scene.key in keys:
            raise OptionError(f"{scene.sport}/{scene.image} is there twice, expected each (sport, image) once")
        keys.add(scene.key)
    if len(shapes) != 1:
        found = ", ".join(f"{rows}x{cols} ({s.sport}/{s.image})" for (rows, cols), s in shapes.items())
        raise OptionError(f"baselines need scenes of one grid shape, found {found or 'no scenes'}")


def _uniform(scenes: Sequence[Scene]) -> FloatArray:
    n_cells = scenes[0].layout.n_cells
    return np.full((len(scenes), n_cells), 1 / n_cells)


def _center(scenes: Sequence[Scene]) -> FloatArray:
    grid = scenes[0].layout
    one = np.outer(_gaussian_shares(grid.rows), _gaussian_shares(grid.cols)).ravel()
    return np.tile(one, (len(scenes), 1))


def _gaussian_shares(n: int) -> FloatArray:
    """Mass of the center's Gaussian in each of n equal parts of [0, 1], cut off there; shape (n,)."""
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
        # Measured from the nearest cell's: players far outside the image must not underflow every cell to 0.
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
    """1 where the ball is, shape (n_scenes, n_cells); a row of 0 where that is not known."""
    return np.stack([scene.layout.mask(scene.ball_cells or ()) for scene in scenes]).astype(float)


def _shares(mass: FloatArray) -> FloatArray:
    """Rows divided by their sums; NaN where a sum is 0."""
    return ratio(mass, mass.sum(axis=-1, keepdims=True))


_ALL = (
    Baseline("uniform", "every cell alike", _uniform),
    Baseline("center", "a Gaussian about the image's center", _center),
    Baseline("nearest-player", "close to the nearest player's box", _nearest_player),
    Baseline("prior", "where the ball is in the sport's other scenes", _prior),
    Baseline("oracle", "the ball's own cells", _oracle),
    Baseline("social", "the cues that people follow: places, players, and where bodies turn to", _social),
)

BASELINES: Mapping[str, Baseline] = MappingProxyType({baseline.name: baseline for baseline in _ALL})
"""Every baseline by its name."""

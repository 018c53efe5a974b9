"""The fit of the player thresholds (Spot the Ball, supplement 8.2): its objective over a grid of tau and theta."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.errors import OptionError
from spotball_core.metrics.inputs import ratio
from spotball_core.metrics.strategy import player_distances, player_shares
from spotball_core.scoring.groups import Scoring
from spotball_core.typing import BoolArray, FloatArray

TAUS = np.round(np.arange(0.04, 0.2001, 0.01), 2)
"""The paper's grid of tau, in image diagonals."""

THETAS = np.round(np.arange(0.01, 0.2001, 0.01), 2)
"""The paper's grid of theta, in shares of a cell's area."""

PLATEAU = 0.01
"""The plateau is within this share of the objective's maximum."""


@dataclass(frozen=True)
class ThresholdSurface:
    """Near-player rate, overlap rate and their mean over a grid of thresholds.

    Attributes:
        taus: shape (n_taus,), ascending.
        thetas: shape (n_thetas,), ascending.
        near: near-player rate (eq. 5) at each tau, shape (n_taus,).
        overlap: overlap rate (eq. 6) at each theta, shape (n_thetas,).
        objective: mean of the two, shape (n_taus, n_thetas).
        plateau: where the objective is within 1% of its maximum, shape (n_taus, n_thetas).
        best: tau and theta of the maximum; of several, the smallest tau, then the largest theta.
        n_responses: parsed responses to images with player boxes, which is what the rates are over.
    """

    taus: FloatArray
    thetas: FloatArray
    near: FloatArray
    overlap: FloatArray
    objective: FloatArray
    plateau: BoolArray
    best: tuple[float, float]
    n_responses: float


def threshold_surface(scoring: Scoring, *, taus: ArrayLike = TAUS, thetas: ArrayLike = THETAS) -> ThresholdSurface:
    r"""The balanced objective of the paper's threshold fit, over all scored groups' responses pooled.

    $$J(\tau, \theta) = \tfrac12 \big(NR(\tau) + OR(\theta)\big)$$

    The near-player rate grows with tau and the overlap rate falls with theta, whatever the responses: J is largest at
    the largest tau and the smallest theta that are tried. A maximum of it is no fit, and the plateau says how little
    it matters which thresholds are taken, not which are right.

    Each response is looked at once, whatever the size of the grid: its cell's distance and overlap decide from which
    threshold on it counts.

    Args:
        scoring: what is scored; each group on the images it is scored on. Its policy's tau and theta play no part.
        taus: ascending, each in (0, 1].
        thetas: ascending, each in (0, 1].

    Raises:
        OptionError: for thresholds that are empty, not ascending or outside (0, 1], or where no response is to an
            image with player boxes.

    Examples:
        >>> from spotball_core import ScorePolicy, baseline_responses, read_counts, synthetic_scenes
        >>> scenes = synthetic_scenes(6)
        >>> counts = read_counts(baseline_responses(scenes, ["uniform"]), scenes)
        >>> surface = threshold_surface(Scoring(counts, scenes, ScorePolicy.standard()))
        >>> surface.objective.shape, bool(surface.objective[-1, 0] == surface.objective.max())
        ((17, 20), True)
    """
    tau, theta = _checked("taus", taus), _checked("thetas", thetas)
    mass = np.zeros((len(scoring.arrays.keys), scoring.counts.n_cells))
    for group in scoring.groups:
        places = scoring.images(group)
        mass[places] += scoring.estimator(group).answers.mass
    near, overlap = np.zeros(len(tau)), np.zeros(len(theta))
    for scene, answers in zip(scoring.arrays.scenes, mass, strict=True):
        if not (scene.players and answers.any()):
            continue
        # Compared with the same products as the metric does, so that rounding cannot tell the two apart.
        first = np.searchsorted(tau * scene.layout.diagonal, player_distances(scene, scene.layout), side="left")
        near += np.bincount(first, weights=answers, minlength=len(tau) + 1)[:-1]
        reached = np.searchsorted(theta, player_shares(scene, scene.layout), side="right")
        overlap += np.bincount(reached, weights=answers, minlength=len(theta) + 1)[1:]
    n_responses = float(mass[scoring.arrays.has_players].sum())
    if not n_responses:
        raise OptionError("no response is to an image with player boxes; there is nothing to fit thresholds to")
    near_rate = ratio(near.cumsum(), n_responses)
    overlap_rate = ratio(overlap[::-1].cumsum()[::-1], n_responses)
    objective = (near_rate[:, None] + overlap_rate) / 2
    # Turned, so that of equal maxima the one with the largest theta comes first.
    row, col = np.unravel_index(int(objective[:, ::-1].argmax()), objective.shape)
    return ThresholdSurface(
        taus=tau,
        thetas=theta,
        near=near_rate,
        overlap=overlap_rate,
        objective=objective,
        plateau=objective >= (1 - PLATEAU) * objective.max(),
        best=(float(tau[row]), float(theta[::-1][col])),
        n_responses=n_responses,
    )


def _checked(name: str, values: ArrayLike) -> FloatArray:
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or not len(array) or not ((array > 0) & (array <= 1)).all() or not (np.diff(array) > 0).all():
        raise OptionError(f"{name} are expected to ascend within (0, 1], found {array.tolist()!s:.80}")
    return array

"""Compute the objective of the paper's threshold fit (Spot the Ball, supplement 8.2) over a grid of tau and theta."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.errors import OptionError
from spotball_core.metrics.inputs import ratio
from spotball_core.metrics.strategy import player_distances, player_shares
from spotball_core.schema.result import Result
from spotball_core.scoring.groups import Scoring
from spotball_core.typing import BoolArray, FloatArray

TAUS = np.round(np.arange(0.04, 0.2001, 0.01), 2)
"""The values of tau in the paper, as fractions of the image's diagonal."""

THETAS = np.round(np.arange(0.01, 0.2001, 0.01), 2)
"""The values of theta in the paper, as fractions of a cell's area."""

PLATEAU = 0.01
"""Thresholds belong to the plateau if their objective is at most this fraction of the maximum below the maximum."""


@dataclass(frozen=True, repr=False)
class ThresholdSurface(Result):
    """Near-player rate, overlap rate and their mean over a grid of thresholds.

    Attributes:
        taus: thresholds tau, shape (n_taus,), ascending.
        thetas: thresholds theta, shape (n_thetas,), ascending.
        near: near-player rate (eq. 5) at each tau, shape (n_taus,).
        overlap: overlap rate (eq. 6) at each theta, shape (n_thetas,).
        objective: mean of the two rates, shape (n_taus, n_thetas).
        plateau: true where the objective is within 1% of its maximum, shape (n_taus, n_thetas).
        best: tau and theta of the maximum; among equal maxima, the smallest tau, then the largest theta.
        n_responses: number of parsed responses to images with player boxes, the denominator of the rates.
        signature: signature of the scored groups.
    """

    _forms: ClassVar[str] = "spotball_core.cues.threshold_text:FORMS"
    _counted: ClassVar[tuple[str, ...]] = ("taus", "thetas")

    taus: FloatArray
    thetas: FloatArray
    near: FloatArray
    overlap: FloatArray
    objective: FloatArray
    plateau: BoolArray
    best: tuple[float, float]
    n_responses: float
    signature: str

    def to_json(self) -> str:
        """Return the attributes as JSON text."""
        return json.dumps({field.name: _plain(getattr(self, field.name)) for field in fields(self)}, indent=1)


def threshold_surface(scoring: Scoring, *, taus: ArrayLike = TAUS, thetas: ArrayLike = THETAS) -> ThresholdSurface:
    r"""Compute the objective of the paper's threshold fit over the pooled responses of all scored groups.

    $$J(\tau, \theta) = \tfrac12 \big(NR(\tau) + OR(\theta)\big)$$

    For any responses, the near-player rate grows with tau and the overlap rate falls with theta, so J is always largest
    at the largest tau and the smallest theta. Its maximum therefore does not determine suitable thresholds. The plateau
    shows how little the choice of thresholds matters, not which thresholds are right.

    Each response is processed once for all thresholds: its cell's distance and overlap determine from which threshold
    on it counts.

    Args:
        scoring: the scored groups; the responses to the images on which each group is scored are used. Its policy's tau
            and theta are ignored.
        taus: thresholds tau, ascending, each in (0, 1].
        thetas: thresholds theta, ascending, each in (0, 1].

    Raises:
        OptionError: for thresholds that are empty, not ascending or outside (0, 1], or if no response is to an image
            with player boxes.

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
        # Compare with the same products as the metric, so that rounding cannot cause differences.
        first = np.searchsorted(tau * scene.layout.diagonal, player_distances(scene, scene.layout), side="left")
        near += np.bincount(first, weights=answers, minlength=len(tau) + 1)[:-1]
        reached = np.searchsorted(theta, player_shares(scene, scene.layout), side="right")
        overlap += np.bincount(reached, weights=answers, minlength=len(theta) + 1)[1:]
    n_responses = float(mass[scoring.arrays.has_players].sum())
    if not n_responses:
        raise OptionError(
            "no answered image has player boxes, so thresholds cannot be fitted. Add `players` to the scenes file",
            code="no-data",
        )
    near_rate = ratio(near.cumsum(), n_responses)
    overlap_rate = ratio(overlap[::-1].cumsum()[::-1], n_responses)
    objective = (near_rate[:, None] + overlap_rate) / 2
    # Reverse the order, so that among equal maxima the one with the largest theta comes first.
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
        signature=str(scoring.signature()),
    )


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray) else value


def _checked(name: str, values: ArrayLike) -> FloatArray:
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.ndim != 1 or not len(array) or not ((array > 0) & (array <= 1)).all() or not (np.diff(array) > 0).all():
        found = values.tolist() if isinstance(values, np.ndarray) else values
        raise OptionError(f"found {found!s:.80}, expected ascending numbers above 0 and up to 1", field=name)
    return array

"""Posterior predictive check: does any structure of the cue model describe the choices?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from spotball_core.gaze.mechanism.fitting import CueFit
from spotball_core.gaze.mechanism.likelihood import CueLikelihood
from spotball_core.random import generator_for
from spotball_core.typing import FloatArray, IntArray

MARGIN: Final = 0.03
"""Share of choices that the model may place wrongly, beyond what sampling explains, and still count as fitting."""

REPLICATES: Final = 200


@dataclass(frozen=True)
class FitCheck:
    """How far observed shares are from the model's.

    Attributes:
        distance: the total variation distance between observed and expected shares of the objects, for each
            combination of number of objects, gaze target and head target; the mean over trials. From 0 to 1.
        expected: mean distance of data simulated from the model.
        p: share of simulated data with at least the observed distance.
        fits: whether the distance exceeds the expected one by no more than `MARGIN`.
    """

    distance: float
    expected: float
    p: float

    @property
    def excess(self) -> float:
        """Share of choices that the model places wrongly beyond what sampling explains."""
        return max(0.0, self.distance - self.expected)

    @property
    def fits(self) -> bool:
        """Whether the model fits: the excess is within `MARGIN`, or could be chance."""
        return self.excess <= MARGIN or self.p > 0.01


def check_fit(fitted: CueFit[CueLikelihood], *, seed: int = 0, replicates: int = REPLICATES) -> FitCheck:
    """Compare the observed shares with those of data simulated from a fit.

    Args:
        fitted: the fit.
        seed: of the simulation.
        replicates: how many data sets to simulate.
    """
    model, data = fitted.model, fitted.model.data
    group = _groups(model)[data.configuration]
    sizes = data.counts.sum(axis=1)
    expected = _summed(model.predicted(fitted.parameters)[data.configuration] * sizes[:, None], group)
    distance = _distance(_summed(data.counts, group), expected)
    at_nodes, weights = model.at_nodes(fitted.parameters)
    given = at_nodes.transpose(1, 0, 2)
    generator = generator_for(seed)
    distances = np.empty(replicates)
    for number in range(replicates):
        node = generator.choice(len(weights), size=len(sizes), p=weights)
        shares = given[node, data.configuration]
        counts = generator.multinomial(sizes.astype(int), shares / shares.sum(axis=1, keepdims=True))
        distances[number] = _distance(_summed(counts.astype(float), group), expected)
    p = (1 + np.count_nonzero(distances >= distance)) / (1 + replicates)
    return FitCheck(distance, float(distances.mean()), float(p))


def _groups(model: CueLikelihood) -> IntArray:
    """A number for each combination of number of objects, gaze and head target, by configuration."""
    data = model.data
    keys = np.stack([data.n_objects, data.gaze, data.head], axis=1)
    return np.asarray(np.unique(keys, axis=0, return_inverse=True)[1].ravel(), dtype=np.int64)


def _summed(counts: FloatArray, group: IntArray) -> FloatArray:
    total = np.zeros((int(group.max()) + 1, counts.shape[1]))
    np.add.at(total, group, counts)
    return total


def _distance(observed: FloatArray, expected: FloatArray) -> float:
    return float(0.5 * np.abs(observed - expected).sum() / expected.sum())

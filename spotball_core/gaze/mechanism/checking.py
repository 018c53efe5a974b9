"""Check with simulated choices whether a fitted cue model describes the observed choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from spotball_core.gaze.mechanism.fitting import CueFit
from spotball_core.gaze.mechanism.likelihood import CueLikelihood
from spotball_core.random import generator_for
from spotball_core.typing import FloatArray, IntArray

MARGIN: Final = 0.03
"""Largest share of choices, beyond sampling error, that a model may mispredict and still count as fitting."""

REPLICATES: Final = 200


@dataclass(frozen=True)
class FitCheck:
    """The difference between observed shares of choices and the shares that the model predicts.

    Attributes:
        distance: mean over trials of the total variation distance between observed and expected shares of the objects,
            from 0 to 1. Shares are computed by number of objects, gaze target and head target.
        expected: mean distance for data simulated from the model.
        p: p value: share of simulated data sets with at least the observed distance.
        fits: whether the model fits: the distance exceeds the expected distance by at most `MARGIN`, or p is above
            0.01.
    """

    distance: float
    expected: float
    p: float

    @property
    def excess(self) -> float:
        """The share of choices that the model mispredicts beyond sampling error."""
        return max(0.0, self.distance - self.expected)

    @property
    def fits(self) -> bool:
        """Whether the model fits: the excess is at most `MARGIN`, or p is above 0.01."""
        return self.excess <= MARGIN or self.p > 0.01


def check_fit(fitted: CueFit[CueLikelihood], *, seed: int = 0, replicates: int = REPLICATES) -> FitCheck:
    """Compare the observed shares of choices with the shares in data simulated from a fit.

    Args:
        fitted: the fit.
        seed: seed of the simulation.
        replicates: number of simulated data sets.
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
    """Return the group index of each configuration; groups differ in number of objects, gaze target or head target."""
    data = model.data
    keys = np.stack([data.n_objects, data.gaze, data.head], axis=1)
    return np.asarray(np.unique(keys, axis=0, return_inverse=True)[1].ravel(), dtype=np.int64)


def _summed(counts: FloatArray, group: IntArray) -> FloatArray:
    total = np.zeros((int(group.max()) + 1, counts.shape[1]))
    np.add.at(total, group, counts)
    return total


def _distance(observed: FloatArray, expected: FloatArray) -> float:
    return float(0.5 * np.abs(observed - expected).sum() / expected.sum())

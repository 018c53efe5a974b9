r"""Compute the likelihood of the cue model and its gradient.

Objects are at 0, 1, ..., n - 1, the gaze target at g and the head target at h. On each trial, the respondent has an
internal position, from which it derives its choice. This position is

- with probability q at one of the targets alone: at h with probability w, else at g;
- with probability 1 - q between the targets, at $g + w (h - g)$.

Noise of scale $\sigma = \exp(\log\sigma_0 + a\,\mathrm{closeness} + s\,\mathrm{side})$ is added to the position, and
the closest object is chosen. On a share `lapse` of the trials, a random object is chosen instead. In addition to the
noise of each trial, all trials with the same photo share one normally distributed noise value. The likelihood is
integrated over this value numerically, on a grid from -3 to 3 standard deviations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from spotball_core.gaze.mechanism.counts import ChoiceCounts
from spotball_core.gaze.mechanism.kernels import Kernel, functions
from spotball_core.typing import FloatArray

PARAMETERS: Final = ("w", "q", "log_noise", "closeness", "side", "log_photo_noise", "lapse")
"""Names of the parameters, in the order of the parameter vector. w, q and lapse are from 0 to 1.

`log_noise` and `log_photo_noise` are logarithms of standard deviations, in steps between neighboring objects, for
photos at proximity 1 from the front. `closeness` is the change of both logarithms with each step of proximity,
`side` is their change for photos from the left or right.
"""

W, Q, LOG_NOISE, CLOSENESS, SIDE, LOG_PHOTO, LAPSE = range(len(PARAMETERS))

_NODES: Final = np.linspace(-3, 3, 15)
_FLOOR: Final = 1e-9


@dataclass(frozen=True)
class CueLikelihood:
    """Compute the likelihood of choices under one shape of the perceptual noise.

    Attributes:
        data: the counts of choices.
        kernel: shape of the noise, and its treatment beyond the first and the last object.
    """

    data: ChoiceCounts
    kernel: Kernel

    def per_photo(self, parameters: FloatArray) -> FloatArray:
        """Return the log likelihood of each photo's choices, without the multinomial constant, shape (n_photos,)."""
        counts, photo = self.data.blocks
        values = self._integrated(counts, np.log(self._shares(parameters).total + _FLOOR))[0]
        by_photo = np.empty(len(self.data.counts))
        by_photo[photo[photo >= 0]] = values[photo >= 0]
        return by_photo

    def predicted(self, parameters: FloatArray) -> FloatArray:
        """Return each configuration's expected shares of the objects, shape (n_configurations, most_objects)."""
        total = self._shares(parameters).total
        return np.asarray(np.einsum("cjk,j->ck", total, self._weights))

    def at_nodes(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the objects' probabilities at each quadrature node, and the nodes' weights.

        The nodes are the values of the noise shared by a photo's trials at which the likelihood is evaluated.

        The shapes are (n_configurations, nodes, most_objects) and (nodes,).
        """
        return self._shares(parameters).total, self._weights

    def value_and_gradient(self, parameters: FloatArray, used: FloatArray | None = None) -> tuple[float, FloatArray]:
        """Return the negative log likelihood and its gradient.

        Args:
            parameters: shape (7,), as in `PARAMETERS`.
            used: a weight for each photo, shape (n_photos,) (default: all 1).
        """
        counts, photo = self.data.blocks
        shares = self._shares(parameters)
        values, node_weights = self._integrated(counts, np.log(shares.total + _FLOOR))
        if used is not None:
            weights = np.where(photo >= 0, used[photo], 0.0)
            values, node_weights = values * weights, node_weights * weights[:, :, None]
        expected = np.matmul(node_weights.transpose(0, 2, 1), counts)
        return -float(values.sum()), -self._gradient(parameters, shares, expected / (shares.total + _FLOOR))

    def _integrated(self, counts: FloatArray, logs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return log likelihoods (c, m), and each node's posterior weight for each photo (c, m, j)."""
        given = np.matmul(counts, logs.transpose(0, 2, 1)) + np.log(self._weights)
        top = given.max(axis=-1, keepdims=True)
        scaled = np.exp(given - top)
        total = scaled.sum(axis=-1, keepdims=True)
        return (np.log(total) + top)[..., 0], scaled / total

    @cached_property
    def _nodes(self) -> FloatArray:
        return _NODES if self.data.repeated else np.zeros(1)

    @cached_property
    def _weights(self) -> FloatArray:
        weights = np.exp(-0.5 * self._nodes**2)
        return np.asarray(weights / weights.sum())

    @cached_property
    def _objects(self) -> FloatArray:
        """An indicator that is 1 for positions with an object, else 0, shape (n_configurations, 1, most_objects)."""
        places = np.arange(self.data.counts.shape[1])
        return (places < self.data.n_objects[:, None])[:, None, :].astype(float)

    @cached_property
    def _edges(self) -> FloatArray:
        """The borders between objects, shape (n_configurations, 1, most_objects + 1); padded with the last one."""
        places = np.arange(self.data.counts.shape[1] + 1)
        return (np.minimum(places, self.data.n_objects[:, None]) - 0.5)[:, None, :]

    def _shares(self, parameters: FloatArray) -> _Shares:
        w, q, lapse = parameters[[W, Q, LAPSE]]
        data = self.data
        spread = parameters[CLOSENESS] * data.closeness + parameters[SIDE] * data.side
        scale = np.exp(parameters[LOG_NOISE] + spread)[:, None, None]
        ratio = np.exp(parameters[LOG_PHOTO] - parameters[LOG_NOISE])
        shift = (ratio * self._nodes)[None, :, None]
        at = (data.gaze.astype(float), data.head.astype(float), data.gaze + w * (data.head - data.gaze))
        cells = tuple(_cells(self.kernel, self._edges, place[:, None, None], scale, shift, data) for place in at)
        eye, head, between = (cell.shares for cell in cells)
        core = q * (w * head + (1 - w) * eye) + (1 - q) * between
        total = self._objects * ((1 - lapse) * core + lapse / data.n_objects[:, None, None])
        return _Shares(cells, core, total, scale, shift)

    def _gradient(self, parameters: FloatArray, shares: _Shares, adjoint: FloatArray) -> FloatArray:
        """Return the gradient of the log likelihood from its derivatives (c, j, k) with respect to the shares."""
        w, q, lapse = parameters[[W, Q, LAPSE]]
        data, (eye, head, between) = self.data, shares.cells
        gradient = np.zeros(len(PARAMETERS))
        chance = self._objects / data.n_objects[:, None, None]
        gradient[LAPSE] = np.sum(adjoint * (chance - shares.core))
        inner = (1 - lapse) * adjoint
        gradient[Q] = np.sum(inner * (w * head.shares + (1 - w) * eye.shares - between.shares))
        gradient[W] = q * np.sum(inner * (head.shares - eye.shares))
        for cell, weight in ((eye, q * (1 - w)), (head, q * w), (between, 1 - q)):
            slope = cell.back(weight * inner)
            by_spread = -np.sum(slope * (cell.u + shares.shift), axis=(1, 2))
            gradient[LOG_NOISE] -= np.sum(slope * cell.u)
            gradient[LOG_PHOTO] -= np.sum(slope * shares.shift)
            gradient[CLOSENESS] += by_spread @ data.closeness
            gradient[SIDE] += by_spread @ data.side
            if cell is between:
                gradient[W] -= np.sum(slope / shares.scale * (data.head - data.gaze)[:, None, None])
        return gradient


@dataclass(frozen=True)
class _Cells:
    """The shares of the objects around one position, and the values that their gradient needs."""

    shares: FloatArray
    u: FloatArray
    density: FloatArray
    total: FloatArray | None

    def back(self, adjoint: FloatArray) -> FloatArray:
        """Return derivatives with respect to the standardized borders, from those with respect to the shares."""
        if self.total is not None:
            adjoint = (adjoint - np.sum(adjoint * self.shares, axis=-1, keepdims=True)) / self.total
        by_border = np.zeros_like(self.u)
        by_border[..., 1:] += adjoint
        by_border[..., :-1] -= adjoint
        return by_border * self.density


@dataclass(frozen=True)
class _Shares:
    cells: tuple[_Cells, ...]
    core: FloatArray
    total: FloatArray
    scale: FloatArray
    shift: FloatArray


def _cells(
    kernel: Kernel, edges: FloatArray, at: FloatArray, scale: FloatArray, shift: FloatArray, data: ChoiceCounts
) -> _Cells:
    distribution, density = functions(kernel.shape)
    u = (edges - at) / scale - shift
    below, slope = distribution(u), density(u)
    if kernel.ends == "clip":
        places = np.arange(u.shape[-1])
        last = (places >= data.n_objects[:, None])[:, None, :]
        below = np.where(last, 1.0, below)
        below[..., 0] = 0.0
        slope = np.where(last, 0.0, slope)
        slope[..., 0] = 0.0
        return _Cells(np.maximum(np.diff(below), 0.0), u, slope, None)
    total = np.maximum(below[..., -1:] - below[..., :1], _FLOOR)
    # Rounding errors of the differences may be negative, and would be magnified by a small total.
    return _Cells(np.maximum(np.diff(below), 0.0) / total, u, slope, total)

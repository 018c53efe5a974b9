r"""Compute the likelihood of the cue model and its derivatives.

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
        return self._by_photo(self._integrated(self._shares(parameters).total)[0])

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

    def scores(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the log likelihood of each photo's choices, shape (n_photos,), and its gradient, shape (n_photos, 7).

        Args:
            parameters: shape (7,), as in `PARAMETERS`.
        """
        shares = self._shares(parameters)
        values, node_weights = self._integrated(shares.total)
        slopes = self._slopes(parameters, shares) / (shares.total + _FLOOR)
        by_node = np.matmul(self.data.blocks[0], slopes.transpose(0, 1, 3, 2))
        return self._by_photo(values), self._by_photo((by_node * node_weights).sum(axis=-1).transpose(1, 2, 0))

    def _integrated(self, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return log likelihoods (c, m), and each node's posterior weight for each photo (c, m, j)."""
        logs = np.log(shares + _FLOOR)
        given = np.matmul(self.data.blocks[0], logs.transpose(0, 2, 1)) + np.log(self._weights)
        top = given.max(axis=-1, keepdims=True)
        scaled = np.exp(given - top)
        total = scaled.sum(axis=-1, keepdims=True)
        return (np.log(total) + top)[..., 0], scaled / total

    def _by_photo(self, values: FloatArray) -> FloatArray:
        """Return values by configuration and place in its block, shape (c, m, ...), as values by photo."""
        photo = self.data.blocks[1]
        by_photo = np.empty((len(self.data.counts), *values.shape[2:]))
        by_photo[photo[photo >= 0]] = values[photo >= 0]
        return by_photo

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

    def _slopes(self, parameters: FloatArray, shares: _Shares) -> FloatArray:
        """Return the derivatives of the shares, shape (7, n_configurations, nodes, most_objects)."""
        w, q, lapse = parameters[[W, Q, LAPSE]]
        data, (eye, head, between) = self.data, shares.cells
        slopes = np.zeros((len(PARAMETERS), *shares.total.shape))
        slopes[Q] = w * head.shares + (1 - w) * eye.shares - between.shares
        way = (data.gaze - data.head)[:, None, None] / shares.scale
        slopes[W] = q * (head.shares - eye.shares) + (1 - q) * between.slope(way)
        for cell, weight in ((eye, q * (1 - w)), (head, q * w), (between, 1 - q)):
            if weight:
                slopes[LOG_NOISE] -= weight * cell.slope(cell.u)
                slopes[LOG_PHOTO] -= weight * cell.slope(np.broadcast_to(shares.shift, cell.u.shape))
        by_spread = slopes[LOG_NOISE] + slopes[LOG_PHOTO]
        slopes[CLOSENESS] = by_spread * data.closeness[:, None, None]
        slopes[SIDE] = by_spread * data.side[:, None, None]
        slopes *= 1 - lapse
        slopes[LAPSE] = 1 / data.n_objects[:, None, None] - shares.core
        return slopes * self._objects


@dataclass(frozen=True)
class _Cells:
    """The shares of the objects around one position, and the values that their derivatives need."""

    shares: FloatArray
    u: FloatArray
    density: FloatArray
    total: FloatArray | None

    def slope(self, by_border: FloatArray) -> FloatArray:
        """Return the derivatives of the shares, from those of the standardized borders."""
        below = self.density * by_border
        if self.total is None:
            return np.diff(below)
        return np.asarray((np.diff(below) - self.shares * (below[..., -1:] - below[..., :1])) / self.total)


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

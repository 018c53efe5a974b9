"""Fit the cue model to directions in degrees, such as predicted gaze directions in GazeFollow.

This is the model of the module `likelihood` with directions instead of objects: the response is a direction between
gaze and head, or one of the two, plus noise on the circle. Lapses are uniform over all directions. Responses are
treated as rounded to one degree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from spotball_core.errors import OptionError
from spotball_core.gaze.mechanism.checking import MARGIN, FitCheck
from spotball_core.gaze.mechanism.comparison import compare
from spotball_core.gaze.mechanism.fitting import CueFit, fit_each, fit_structures
from spotball_core.gaze.mechanism.intervals import profile_interval
from spotball_core.gaze.mechanism.kernels import KERNELS, Shape, functions
from spotball_core.gaze.mechanism.likelihood import LAPSE, LOG_NOISE, PARAMETERS, Q, W
from spotball_core.gaze.mechanism.records import Check, Estimate, Kind
from spotball_core.random import generator_for
from spotball_core.schema.record import Record
from spotball_core.typing import FloatArray, IntArray

STEP: Final = 30.0
"""Degrees that correspond to one step between objects. The noise is thus bounded by 0.9 and 150 degrees."""

_HALF: Final = 180 / STEP
_CELL: Final = 0.5 / STEP
_FLOOR: Final = 1e-12
_BINS: Final = 12
_REPLICATES: Final = 200
LEAST_RESPONSES: Final = 20
"""Minimum number of responses to which the model can be fitted."""


class AngleMechanism(Record):
    """The cue model fitted to directions.

    Attributes:
        kind: the mechanism, as in `Mechanism.kind`.
        w: weight of the head, from 0 (eyes) to 1 (head).
        q: probability of following one cue alone.
        noise: standard deviation of the noise, in degrees.
        lapse: share of uniformly distributed responses.
        fits: whether the model fits the responses; false if and only if `kind` is `none`.
        shape: shape of the noise distribution.
        check: check of the fit. It compares observed and simulated differences between response and gaze, in bins of 30
            degrees.
        n: number of responses.
    """

    kind: Kind
    w: Estimate
    q: Estimate
    noise: Estimate
    lapse: Estimate
    fits: bool
    shape: Shape
    check: Check
    n: int


@dataclass(frozen=True)
class Directions:
    """Responses with the directions of gaze and head, in steps of 30 degrees.

    Attributes:
        response: direction of the response relative to the gaze, from -6 to 6, shape (n,).
        head: direction of the head relative to the gaze, from -6 to 6, shape (n,).
        scene: index of each response's scene, from 0, shape (n,).
    """

    response: FloatArray
    head: FloatArray
    scene: IntArray

    repeated: bool = False

    @property
    def n_trials(self) -> int:
        """The number of responses."""
        return len(self.response)

    @property
    def n_scenes(self) -> int:
        """The number of scenes."""
        return int(self.scene.max()) + 1


@dataclass(frozen=True)
class AngleLikelihood:
    """Compute the likelihood of directions under one shape of the noise.

    Attributes:
        data: the directions.
        shape: shape of the noise.
    """

    data: Directions
    shape: Shape

    def per_photo(self, parameters: FloatArray) -> FloatArray:
        """Return the log likelihood of each response, shape (n,)."""
        return np.asarray(np.log(self._parts(parameters)[0] + _FLOOR))

    def scores(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the log likelihood of each response, shape (n,), and its gradient, shape (n, 7).

        Args:
            parameters: shape (7,), as in `likelihood.PARAMETERS`; noise is in steps of 30 degrees.
        """
        w, q, lapse = parameters[[W, Q, LAPSE]]
        total, core, (eye, head, between) = self._parts(parameters)
        slopes = np.zeros((len(PARAMETERS), self.data.n_trials))
        slopes[Q] = w * head[0] + (1 - w) * eye[0] - between[0]
        slopes[W] = q * (head[0] - eye[0]) + (1 - q) * between[2] * self.data.head
        slopes[LOG_NOISE] = q * (w * head[1] + (1 - w) * eye[1]) + (1 - q) * between[1]
        slopes *= 1 - lapse
        slopes[LAPSE] = _CELL / _HALF - core
        return np.log(total + _FLOOR), (slopes / (total + _FLOOR)).T

    def simulated(self, parameters: FloatArray, generator: np.random.Generator) -> FloatArray:
        """Return simulated responses relative to the gaze direction, shape (n,), in steps of 30 degrees.

        Args:
            parameters: shape (7,).
            generator: generator for the draws.
        """
        w, q, lapse = parameters[[W, Q, LAPSE]]
        n = self.data.n_trials
        alone = np.where(generator.random(n) < w, self.data.head, 0.0)
        at = np.where(generator.random(n) < q, alone, w * self.data.head)
        grid = np.linspace(-_HALF, _HALF, 2001)
        shares = functions(self.shape)[0](grid / np.exp(parameters[LOG_NOISE]))
        noise = np.interp(generator.uniform(shares[0], shares[-1], n), shares, grid)
        uniform = generator.uniform(-_HALF, _HALF, n)
        return np.where(generator.random(n) < lapse, uniform, _wrapped(at + noise))

    def _parts(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray, tuple[_Cell, _Cell, _Cell]]:
        w, q, lapse = parameters[[W, Q, LAPSE]]
        scale = float(np.exp(parameters[LOG_NOISE]))
        head = self.data.head
        eye, alone, between = (self._cell(at, scale) for at in (np.zeros_like(head), head, w * head))
        core = q * (w * alone[0] + (1 - w) * eye[0]) + (1 - q) * between[0]
        return (1 - lapse) * core + lapse * _CELL / _HALF, core, (eye, alone, between)

    def _cell(self, at: FloatArray, scale: float) -> _Cell:
        """Return the probability of each response around a direction, and its derivatives."""
        distribution, density = functions(self.shape)
        away = _wrapped(self.data.response - at)
        low, high = (away - _CELL) / scale, (away + _CELL) / scale
        ends = np.array([-_HALF - _CELL, _HALF + _CELL]) / scale
        total = float(np.diff(distribution(ends))[0])
        share = (distribution(high) - distribution(low)) / total
        f_low, f_high = density(low), density(high)
        by_total = -float(np.diff(density(ends) * ends)[0]) / total
        by_scale = (f_low * low - f_high * high) / total - share * by_total
        return share, by_scale, (f_low - f_high) / scale / total


_Cell = tuple[FloatArray, FloatArray, FloatArray]


def fit_angles(
    response: ArrayLike, gaze: ArrayLike, head: ArrayLike, *, scene: ArrayLike | None = None, seed: int = 0
) -> AngleMechanism:
    """Fit the cue model to directions.

    Args:
        response: direction of each response in degrees, shape (n,).
        gaze: true direction of the gaze in degrees, shape (n,).
        head: direction of the head in degrees, shape (n,).
        scene: scene of each response, such as its image, shape (n,) (default: a separate scene for each response).
        seed: seed of the folds and of the simulations in the check.

    Raises:
        OptionError: if the arrays have different lengths, values are not finite, there are fewer than 20 responses, or
            head and gaze have the same direction in all of them.

    Examples:
        >>> draw = np.random.default_rng(0)
        >>> gaze, head = draw.uniform(-180, 180, (2, 200))
        >>> fit_angles(head + draw.normal(0, 10, 200), gaze, head).kind
        'head'
    """
    looks, faces, chosen = (np.asarray(values, dtype=float) for values in (gaze, head, response))
    if not looks.shape == faces.shape == chosen.shape == (len(chosen),):
        raise OptionError(
            f"response, gaze and head: found shapes {chosen.shape}, {looks.shape} and {faces.shape}, expected one "
            "number per trial in each",
            code="wrong-shape",
        )
    if not np.isfinite([looks, faces, chosen]).all():
        raise OptionError("response, gaze and head must be finite", code="invalid-value")
    if len(chosen) < LEAST_RESPONSES:
        raise OptionError(
            f"the cue model of directions needs at least {LEAST_RESPONSES} responses, found {len(chosen)}",
            code="cannot-estimate",
        )
    places = np.arange(len(chosen)) if scene is None else np.unique(np.asarray(scene), return_inverse=True)[1].ravel()
    data = Directions(_wrapped((chosen - looks) / STEP), _wrapped((faces - looks) / STEP), places.astype(np.int64))
    if np.abs(data.head).max() < _CELL:
        raise OptionError(
            "head and gaze have the same direction in all trials, so their effects cannot be separated. Add trials in "
            "which they differ",
            code="cannot-estimate",
        )
    shapes = [kernel.shape for kernel in KERNELS if kernel.ends == "clip"]
    by_kernel = fit_each([AngleLikelihood(data, shape) for shape in shapes])
    fits = fit_structures(by_kernel[0])
    chosen_name = compare(fits, seed=seed).close[0]
    full, check = fits["mixed"], _check(fits[chosen_name], seed)
    kind: Kind = "none"
    if check.fits:
        kind = ("coin" if full.parameters[Q] >= 0.5 else "compromise") if chosen_name == "mixed" else chosen_name
    ordered = [full, *by_kernel[1:]]
    missing = Estimate(value=None, ci95=None, reason="the responses do not determine this parameter")
    nothing = kind in ("guess", "none")
    return AngleMechanism(
        kind=kind,
        w=missing if nothing else _estimate(ordered, W),
        q=missing if nothing or kind in ("eye", "head") else _estimate(ordered, Q),
        noise=missing if nothing else _degrees(_estimate(ordered, LOG_NOISE)),
        lapse=missing if kind == "none" else _estimate(ordered, LAPSE),
        fits=check.fits,
        shape=full.model.shape,
        check=Check(distance=check.distance, expected=check.expected, excess=check.excess, margin=MARGIN, p=check.p),
        n=len(chosen),
    )


def _wrapped(steps: FloatArray) -> FloatArray:
    """Return differences of directions, wrapped to -6 to 6 steps."""
    return np.asarray((steps + _HALF) % (2 * _HALF) - _HALF)


def _estimate(by_kernel: list[CueFit[AngleLikelihood]], index: int) -> Estimate:
    low, high = profile_interval(by_kernel, index)
    value = float(by_kernel[0].parameters[index])
    return Estimate(value=value, ci95=(min(low, value), max(high, value)))


def _degrees(log_steps: Estimate) -> Estimate:
    assert log_steps.value is not None
    assert log_steps.ci95 is not None
    value, low, high = (STEP * np.exp([log_steps.value, *log_steps.ci95])).tolist()
    return Estimate(value=value, ci95=(low, high))


def _check(fitted: CueFit[AngleLikelihood], seed: int) -> FitCheck:
    """Compare responses with simulated responses, relative to the gaze and mirrored so that the head is positive."""
    data = fitted.model.data
    side = np.where(data.head < 0, -1.0, 1.0)
    far = (np.abs(data.head) > np.median(np.abs(data.head))).astype(float)

    def shares(response: FloatArray) -> FloatArray:
        edges = np.linspace(-_HALF, _HALF, _BINS + 1)
        return np.histogram2d(response * side, far, bins=[edges, np.array([-0.5, 0.5, 1.5])])[0] / len(response)

    generator = generator_for(seed)
    simulated = np.stack([shares(fitted.model.simulated(fitted.parameters, generator)) for _ in range(_REPLICATES)])
    expected = simulated.mean(axis=0)
    distances = 0.5 * np.abs(simulated - expected).sum(axis=(1, 2))
    distance = float(0.5 * np.abs(shares(data.response) - expected).sum())
    p = (1 + np.count_nonzero(distances >= distance)) / (1 + _REPLICATES)
    return FitCheck(distance, float(distances.mean()), float(p))

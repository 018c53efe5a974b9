"""Fit the cue model and its special cases by maximum likelihood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final, Generic, Literal, Protocol, TypeVar

import numpy as np

from spotball_core.gaze.mechanism.counts import ChoiceCounts
from spotball_core.gaze.mechanism.kernels import KERNELS
from spotball_core.gaze.mechanism.likelihood import (
    CLOSENESS,
    LAPSE,
    LOG_NOISE,
    LOG_PHOTO,
    PARAMETERS,
    SIDE,
    CueLikelihood,
    Q,
    W,
)
from spotball_core.typing import FloatArray, IntArray

StructureName = Literal["guess", "eye", "head", "compromise", "coin", "mixed"]

BOUNDS: Final = np.array(
    [
        (0.0, 1.0),
        (0.0, 1.0),
        (np.log(0.03), np.log(5.0)),
        (-1.2, 1.2),
        (-1.2, 1.2),
        (np.log(0.02), np.log(3.0)),
        (0.0, 1.0),
    ]
)
"""Smallest and largest value of each parameter."""

_STARTS: Final = {W: (0.1, 0.3, 0.5, 0.7, 0.9), Q: (0.1, 0.9), LOG_NOISE: (-1.6, -0.7, 0.0), LAPSE: (0.05, 0.4)}
_SEPARATE_STARTS: Final = 3
_MOST_STEPS: Final = 40
_RIDGE: Final = 1e-8
PRECISE: Final = 1e-4
"""The default precision of a fit, in units of the log likelihood."""


@dataclass(frozen=True, slots=True)
class Structure:
    """A special case of the cue model.

    Attributes:
        name: name of the structure; `mixed` is the full model.
        fixed: values of the parameters that are not estimated, by index in `PARAMETERS`.
        complexity: rank of complexity; simpler structures have smaller ranks.
    """

    name: StructureName
    fixed: Mapping[int, float]
    complexity: int


STRUCTURES: Final = (
    Structure("guess", {index: 1.0 if index == LAPSE else 0.0 for index in range(len(PARAMETERS))}, 0),
    Structure("eye", {W: 0.0, Q: 0.0}, 1),
    Structure("head", {W: 1.0, Q: 0.0}, 1),
    Structure("compromise", {Q: 0.0}, 2),
    Structure("coin", {Q: 1.0}, 2),
    Structure("mixed", {}, 3),
)
"""The cue model's special cases, simple ones first."""

MIXED: Final = STRUCTURES[-1]


class ModelData(Protocol):
    """Interface of the data to which a model is fitted."""

    @property
    def n_trials(self) -> int:
        """The number of trials."""

    @property
    def n_scenes(self) -> int:
        """The number of scenes."""

    @property
    def scene(self) -> IntArray:
        """The index of each photo's (or trial's) scene, from 0, shape (n,)."""

    @property
    def repeated(self) -> bool:
        """Whether noise per photo can be estimated."""


class CueModel(Protocol):
    """Interface of a likelihood of the cue model."""

    @property
    def data(self) -> ModelData:
        """The data to which the model is fitted."""

    def per_photo(self, parameters: FloatArray) -> FloatArray:
        """Return the log likelihood of each photo (or trial), shape (n,)."""

    def scores(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the log likelihood of each photo (or trial), shape (n,), and its gradient, shape (n, 7)."""


ModelT = TypeVar("ModelT", bound=CueModel)


@dataclass(frozen=True)
class CueFit(Generic[ModelT]):
    """A structure of the cue model, fitted to data.

    Attributes:
        structure: the fitted structure.
        model: the likelihood, with its data and kernel.
        parameters: shape (7,), as in `PARAMETERS`.
        log_likelihood: log likelihood at the parameters.
    """

    structure: Structure
    model: ModelT
    parameters: FloatArray
    log_likelihood: float


def fit(
    model: ModelT,
    structure: Structure,
    start: FloatArray,
    *,
    used: FloatArray | None = None,
    precision: float = PRECISE,
) -> CueFit[ModelT]:
    """Maximize the likelihood over the free parameters of a structure.

    The method is Newton's, within the bounds. The outer products of the photos' scores replace the second derivatives
    (Berndt, Hall, Hall and Hausman 1974). A step that does not raise the likelihood is damped and repeated.

    Args:
        model: the likelihood.
        structure: the structure to estimate.
        start: parameters to start from, shape (7,); those that the structure fixes are replaced.
        used: a weight for each photo, shape (n_photos,) (default: all 1).
        precision: the search stops if the next step is expected to raise the log likelihood by less than this.
    """
    fixed = dict(structure.fixed)
    if not model.data.repeated:
        fixed[LOG_PHOTO] = BOUNDS[LOG_PHOTO, 0]
    free = [index for index in range(len(start)) if index not in fixed]
    low, high = BOUNDS[free].T

    def at(x: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        values, scores = model.scores(x)
        weighted = scores[:, free] if used is None else scores[:, free] * used[:, None]
        total = values.sum() if used is None else values @ used
        return float(total), weighted.sum(axis=0), weighted.T @ scores[:, free]

    x = start.copy()
    x[list(fixed)] = list(fixed.values())
    x[free] = np.clip(x[free], low, high)
    value, gradient, information = at(x)
    damping = 0.0
    for _ in range(_MOST_STEPS if free else 0):
        moves = ~(((x[free] <= low) & (gradient <= 0)) | ((x[free] >= high) & (gradient >= 0)))
        matrix = information[np.ix_(moves, moves)]
        matrix = matrix + np.diag(damping * np.diag(matrix) + _RIDGE * (1 + np.diag(matrix).max(initial=0.0)))
        step = np.zeros(len(free))
        step[moves] = np.linalg.solve(matrix, gradient[moves])
        step = np.clip(x[free] + step, low, high) - x[free]
        if gradient @ step < precision:
            break
        moved = x.copy()
        moved[free] += step
        then = at(moved)
        if then[0] > value:
            x, damping = moved, damping / 5 if damping > _RIDGE else 0.0
            value, gradient, information = then
        else:
            damping = max(4 * damping, 0.1)
    return CueFit(structure, model, x, value)


def starts(model: CueModel) -> list[FloatArray]:
    """Return starting points: the most likely point of a coarse grid for each of the best three pairs of w and q."""
    points: dict[tuple[float, float], tuple[float, FloatArray]] = {}
    for values in product(*_STARTS.values()):
        x = np.zeros(len(PARAMETERS))
        x[list(_STARTS)] = values
        x[LOG_PHOTO] = x[LOG_NOISE] - 0.7
        x[[CLOSENESS, SIDE]] = 0.0
        value = float(model.per_photo(x).sum())
        if values[:2] not in points or value > points[values[0], values[1]][0]:
            points[values[0], values[1]] = value, x
    ordered = sorted(points.values(), key=lambda pair: -pair[0])
    return [x for _, x in ordered[:_SEPARATE_STARTS]]


def fit_kernels(data: ChoiceCounts) -> list[CueFit[CueLikelihood]]:
    """Fit the full model with each kernel, and return the fits, the most likely first.

    Args:
        data: the counts of choices.
    """
    return fit_each([CueLikelihood(data, kernel) for kernel in KERNELS])


def fit_each(models: Sequence[ModelT]) -> list[CueFit[ModelT]]:
    """Fit the full model with each of several likelihoods, and return the fits, the most likely first.

    Args:
        models: likelihoods of the same data; later fits start at the first fit's parameters.
    """
    best = _best([fit(models[0], MIXED, start) for start in starts(models[0])])
    fits = [best, *(fit(model, MIXED, best.parameters) for model in models[1:])]
    return sorted(fits, key=lambda fitted: -fitted.log_likelihood)


def _best(fits: Sequence[CueFit[ModelT]]) -> CueFit[ModelT]:
    return max(fits, key=lambda fitted: fitted.log_likelihood)


def fit_structures(full: CueFit[ModelT]) -> dict[StructureName, CueFit[ModelT]]:
    """Fit every structure with the same kernel as a fit of the full model, and return the fits by name.

    Args:
        full: a fit of the full model.
    """
    fits: dict[StructureName, CueFit[ModelT]] = {}
    for structure in STRUCTURES[:-1]:
        fits[structure.name] = _best(
            [fit(full.model, structure, start) for start in _around(full.parameters, structure)]
        )
    better = [fits[name] for name in fits if fits[name].log_likelihood > full.log_likelihood]
    return {**fits, "mixed": _best([full, *(fit(full.model, MIXED, fitted.parameters) for fitted in better)])}


def with_other_kernels(chosen: CueFit[ModelT], by_kernel: Sequence[CueFit[ModelT]]) -> list[CueFit[ModelT]]:
    """Return a structure's fits with all kernels, the most likely first.

    Args:
        chosen: the structure's fit with one kernel.
        by_kernel: fits of the full model with all kernels.
    """
    others = [fit(one.model, chosen.structure, one.parameters) for one in by_kernel if one.model is not chosen.model]
    return sorted([chosen, *others], key=lambda fitted: -fitted.log_likelihood)


def _around(parameters: FloatArray, structure: Structure) -> Sequence[FloatArray]:
    """Return starting points for a structure: `parameters`, and a copy with noise 0.5 and lapse rate 0.25."""
    if not structure.complexity:
        return (parameters,)
    other = parameters.copy()
    other[[LOG_NOISE, LAPSE]] = np.log(0.5), 0.25
    return parameters, other

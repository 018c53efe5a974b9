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
        """Return the log likelihood of each photo (or trial)."""

    def value_and_gradient(self, parameters: FloatArray, used: FloatArray | None = None) -> tuple[float, FloatArray]:
        """Return the negative log likelihood and its gradient."""


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


def fit(model: ModelT, structure: Structure, start: FloatArray, *, used: FloatArray | None = None) -> CueFit[ModelT]:
    """Maximize the likelihood over the free parameters of a structure.

    Args:
        model: the likelihood.
        structure: the structure to estimate.
        start: parameters to start from, shape (7,); those that the structure fixes are replaced.
        used: a weight for each photo, shape (n_photos,) (default: all 1).
    """
    from scipy.optimize import minimize

    x = start.copy()
    fixed = dict(structure.fixed)
    if not model.data.repeated:
        fixed[LOG_PHOTO] = BOUNDS[LOG_PHOTO, 0]
    x[list(fixed)] = list(fixed.values())
    free = [index for index in range(len(x)) if index not in fixed]
    if not free:
        return CueFit(structure, model, x, -model.value_and_gradient(x, used)[0])
    scale = 1 / max(1.0, float(model.data.n_trials))

    def objective(values: FloatArray) -> tuple[float, FloatArray]:
        x[free] = values
        value, gradient = model.value_and_gradient(x, used)
        return scale * value, scale * gradient[free]

    result = minimize(
        objective,
        np.clip(x[free], *BOUNDS[free].T),
        jac=True,
        method="L-BFGS-B",
        bounds=BOUNDS[free],
        options={"maxiter": 300, "ftol": 1e-9, "gtol": 1e-6},
    )
    x[free] = result.x
    return CueFit(structure, model, x, -float(result.fun) / scale)


def starts(model: CueModel) -> list[FloatArray]:
    """Return starting points: the most likely point of a coarse grid for each of the best three pairs of w and q."""
    points: dict[tuple[float, float], tuple[float, FloatArray]] = {}
    for values in product(*_STARTS.values()):
        x = np.zeros(len(PARAMETERS))
        x[list(_STARTS)] = values
        x[LOG_PHOTO] = x[LOG_NOISE] - 0.7
        x[[CLOSENESS, SIDE]] = 0.0
        value = model.value_and_gradient(x)[0]
        if values[:2] not in points or value < points[values[0], values[1]][0]:
            points[values[0], values[1]] = value, x
    ordered = sorted(points.values(), key=lambda pair: pair[0])
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


def _around(parameters: FloatArray, structure: Structure) -> Sequence[FloatArray]:
    """Return starting points for a structure: `parameters`, and a copy with noise 0.5 and lapse rate 0.25."""
    if not structure.complexity:
        return (parameters,)
    other = parameters.copy()
    other[[LOG_NOISE, LAPSE]] = np.log(0.5), 0.25
    return parameters, other

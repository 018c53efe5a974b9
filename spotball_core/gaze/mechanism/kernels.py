"""Define the shapes of the noise that the cue model adds to a position between eyes and head.

The shapes have mean 0 and standard deviation 1. The cue model is fitted with each shape, and the most likely shape is
selected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from spotball_core.typing import FloatArray

Shape = Literal["normal", "logistic", "laplace", "student", "flat"]
Ends = Literal["clip", "truncate"]

_ROOT2: Final = float(np.sqrt(2))
_LOGISTIC: Final = float(np.pi / np.sqrt(3))
_SOFT: Final = 0.12
_HALF: Final = float(np.sqrt(3 * (1 - (_SOFT * np.pi) ** 2 / 3)))
"""Half the width of the flat shape: a uniform distribution smoothed by a logistic one of scale `_SOFT`."""

Function = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, slots=True)
class Kernel:
    """The noise of the position that a respondent estimates, and its treatment beyond the first and the last object.

    Attributes:
        shape: shape of the noise.
        ends: `clip` assigns all noise beyond an end to the object at that end; `truncate` excludes it, as if the
            respondent repeated the attempt.

    Examples:
        >>> distribution, density = functions("normal")
        >>> distribution(np.array([0.0, 1.96])).round(3).tolist(), density(np.array([0.0])).round(3).tolist()
        ([0.5, 0.975], [0.399])
    """

    shape: Shape
    ends: Ends

    def __str__(self) -> str:
        return f"{self.shape}, {self.ends}"


KERNELS: Final = tuple(
    Kernel(shape, ends)
    for ends in ("clip", "truncate")
    for shape in ("normal", "logistic", "laplace", "student", "flat")
)
"""All kernels. The first kernel is fitted first; its parameters are the starting point of the other fits."""


def functions(shape: Shape) -> tuple[Function, Function]:
    """Return the cumulative distribution function and the density of a shape, as functions of standardized values.

    Args:
        shape: shape of the noise; `student` has 3 degrees of freedom.
    """
    return _FUNCTIONS[shape]


def _normal(u: FloatArray) -> FloatArray:
    from scipy.special import ndtr

    return np.asarray(ndtr(u))


def _normal_density(u: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-0.5 * u * u) / np.sqrt(2 * np.pi))


def _logistic(u: FloatArray) -> FloatArray:
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * _LOGISTIC * u))


def _logistic_density(u: FloatArray) -> FloatArray:
    share = _logistic(u)
    return _LOGISTIC * share * (1 - share)


def _laplace(u: FloatArray) -> FloatArray:
    tail = 0.5 * np.exp(-_ROOT2 * np.abs(u))
    return np.where(u < 0, tail, 1 - tail)


def _laplace_density(u: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-_ROOT2 * np.abs(u)) / _ROOT2)


def _student(u: FloatArray) -> FloatArray:
    return np.asarray(0.5 + (u / (1 + u * u) + np.arctan(u)) / np.pi)


def _student_density(u: FloatArray) -> FloatArray:
    return np.asarray(2 / np.pi / (1 + u * u) ** 2)


def _flat(u: FloatArray) -> FloatArray:
    soft = np.logaddexp(0, (u + _HALF) / _SOFT) - np.logaddexp(0, (u - _HALF) / _SOFT)
    return np.asarray(np.clip(soft * _SOFT / (2 * _HALF), 0, 1))


def _flat_density(u: FloatArray) -> FloatArray:
    from scipy.special import expit

    return np.asarray((expit((u + _HALF) / _SOFT) - expit((u - _HALF) / _SOFT)) / (2 * _HALF))


_FUNCTIONS: Final[dict[Shape, tuple[Function, Function]]] = {
    "normal": (_normal, _normal_density),
    "logistic": (_logistic, _logistic_density),
    "laplace": (_laplace, _laplace_density),
    "student": (_student, _student_density),
    "flat": (_flat, _flat_density),
}

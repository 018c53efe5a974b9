"""Compute profile likelihood intervals of the cue model's parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from spotball_core.gaze.mechanism.fitting import BOUNDS, CueFit, ModelT, Structure, fit

_Z95: Final = 1.959963984540054
_MOST_STEPS: Final = 12
_PRECISE: Final = 0.03
"""The search for an interval's end stops if the root of the deviance differs from its limit by less than this."""
_PRECISE_FIT: Final = 0.01
"""The precision of the fits with the parameter fixed: it changes the root of the deviance by about 0.005."""


def profile_interval(fits: Sequence[CueFit[ModelT]], index: int) -> tuple[float, float]:
    """Return the 95% profile likelihood interval of a parameter.

    With each kernel, the interval contains the values that a likelihood-ratio test does not reject, with the other
    parameters at their most likely values. The result covers these intervals of all kernels whose own likelihood is
    not rejected, because the true shape of the noise may be between the kernels. An end is the parameter's bound if
    the bound is not rejected.

    Args:
        fits: a fit with each kernel in which the parameter is free, sorted by likelihood, the highest first.
        index: index of the parameter in `PARAMETERS`.
    """
    step = _first_step(fits[0], index)
    low = high = float(fits[0].parameters[index])
    for fitted in fits:
        if 2 * (fits[0].log_likelihood - fitted.log_likelihood) <= _Z95**2:
            low = min(low, _end(fitted, index, -step, low))
            high = max(high, _end(fitted, index, step, high))
    return low, high


def _first_step(best: CueFit[ModelT], index: int) -> float:
    """Return the approximate distance of the interval's ends from the estimate, with the other parameters fixed."""
    low, high = BOUNDS[index]
    curvature = float((best.model.scores(best.parameters)[1][:, index] ** 2).sum())
    return float(min(_Z95 / np.sqrt(max(curvature, 1e-6)), 0.3 * (high - low)))


def _end(best: CueFit[ModelT], index: int, step: float, known: float) -> float:
    """Return the value at which the root of the deviance reaches the 95% quantile, in the direction of a step.

    The search starts at the known end of another kernel's interval, and ends there if this value is rejected.
    """
    estimate, bound = float(best.parameters[index]), float(BOUNDS[index][1 if step > 0 else 0])
    structure = best.structure
    inside, beyond = (estimate, 0.0), None
    start = best.parameters
    value = first = known if (known - estimate) * step > 0 else estimate + step
    for _ in range(_MOST_STEPS):
        value = float(np.clip(value, *BOUNDS[index]))
        if value == estimate:
            return value
        fixed = Structure(structure.name, {**structure.fixed, index: value}, structure.complexity)
        at = fit(best.model, fixed, start, precision=_PRECISE_FIT)
        start = at.parameters
        root = float(np.sqrt(max(0.0, 2 * (best.log_likelihood - at.log_likelihood))))
        if abs(root - _Z95) < _PRECISE or (value == bound and root < _Z95) or (value == first == known and root > _Z95):
            return value
        if root < _Z95:
            inside = (value, root)
        else:
            beyond = (value, root)
        if beyond is None:
            # Expand, but by at most a factor of 3.
            growth = min(3.0, 1.1 * _Z95 / max(root, 1e-3))
            value = estimate + growth * (value - estimate)
        else:
            share = (_Z95 - inside[1]) / (beyond[1] - inside[1])
            value = inside[0] + float(np.clip(share, 0.1, 0.9)) * (beyond[0] - inside[0])
    return value

"""Compare structures of the cue model by cross-validation over scenes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from spotball_core.gaze.mechanism.fitting import STRUCTURES, CueFit, ModelT, StructureName, fit
from spotball_core.random import generator_for
from spotball_core.typing import FloatArray

FOLDS: Final = 5
STANDARD_ERRORS: Final = 2.0
LEAST: Final = 2.0
"""A structure counts as worse than the best only if its held-out log likelihood is lower by more than this.

This limit matters if the additional parameters of a structure are estimated at their bounds. A structure with such
parameters differs little from a simpler one, and the standard error of the difference is near 0 as well.
"""

_REJECTED: Final = 3.84
"""A structure also counts as close if its deviance from the best fit to all scenes is at most this.

This is the 95% quantile of the chi-square distribution with 1 degree of freedom.
"""

_HOPELESS: Final = 20.0
_HOPELESS_ERRORS: Final = 5.0


@dataclass(frozen=True)
class Comparison:
    """Log likelihoods of each structure on held-out scenes.

    Attributes:
        scores: by structure, the log likelihood of all held-out scenes. Structures whose fit to all scenes is far worse
            than the best fit are not cross-validated and are missing here.
        behind: by structure, how much lower its score is than the best score.
        errors: by structure, the standard error of that difference over scenes.
        close: the structures whose score is at most two standard errors, or at most `LEAST`, below the best score, or
            that a likelihood-ratio test on all scenes does not reject: simple ones first, and among equally simple ones
            the one with the best score first.
    """

    scores: dict[StructureName, float]
    behind: dict[StructureName, float]
    errors: dict[StructureName, float]
    close: tuple[StructureName, ...]


def compare(fits: Mapping[StructureName, CueFit[ModelT]], *, seed: int = 0, folds: int = FOLDS) -> Comparison:
    """Cross-validate the structures over scenes, and find those that predict about as well as the best.

    Args:
        fits: each structure's fit to all scenes; the fits to the folds start at its parameters.
        seed: seed of the division into folds.
        folds: number of folds, at most one per scene.
    """
    by_scene = {name: _held_out(fits[name], seed, folds) for name in _plausible(fits)}
    scores = {name: float(values.sum()) for name, values in by_scene.items()}
    best = max(scores, key=lambda name: scores[name])
    differences = {name: by_scene[best] - values for name, values in by_scene.items()}
    behind = {name: float(values.sum()) for name, values in differences.items()}
    errors = {name: float(values.std(ddof=1) * np.sqrt(len(values))) for name, values in differences.items()}
    top = max(fitted.log_likelihood for fitted in fits.values())
    close = [
        one
        for one in STRUCTURES
        if one.name in scores
        and (
            behind[one.name] <= max(LEAST, STANDARD_ERRORS * errors[one.name])
            or 2 * (top - fits[one.name].log_likelihood) <= _REJECTED
        )
    ]
    close.sort(key=lambda structure: (structure.complexity, -scores[structure.name]))
    return Comparison(scores, behind, errors, tuple(structure.name for structure in close))


def _plausible(fits: Mapping[StructureName, CueFit[ModelT]]) -> list[StructureName]:
    """Return the structures whose fit to all scenes is good enough to be cross-validated."""
    by_scene = {name: _by_scene(fitted, fitted.model.per_photo(fitted.parameters)) for name, fitted in fits.items()}
    best = max(by_scene.values(), key=lambda values: float(values.sum()))
    behind = {name: best - values for name, values in by_scene.items()}
    return [
        name
        for name, values in behind.items()
        if values.sum() <= max(_HOPELESS, _HOPELESS_ERRORS * values.std(ddof=1) * np.sqrt(len(values)))
    ]


def _by_scene(fitted: CueFit[ModelT], values: FloatArray) -> FloatArray:
    data = fitted.model.data
    return np.asarray(np.bincount(data.scene, weights=values, minlength=data.n_scenes), dtype=np.float64)


def _held_out(fitted: CueFit[ModelT], seed: int, folds: int) -> FloatArray:
    """Return the log likelihood of each scene, under a fit to the scenes of the other folds."""
    data = fitted.model.data
    n = data.n_scenes
    fold_of = generator_for(seed).permutation(n) % min(folds, n)
    by_scene = np.zeros(n)
    for fold in range(min(folds, n)):
        held_out = fold_of[data.scene] == fold
        part = fit(fitted.model, fitted.structure, fitted.parameters, used=(~held_out).astype(float))
        values = part.model.per_photo(part.parameters)
        by_scene += _by_scene(fitted, np.where(held_out, values, 0.0))
    return by_scene

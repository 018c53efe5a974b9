"""Fit the cue model to one respondent's trials, and return its record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.gaze.mechanism.checking import MARGIN, FitCheck, check_fit
from spotball_core.gaze.mechanism.comparison import Comparison, compare
from spotball_core.gaze.mechanism.counts import count_choices
from spotball_core.gaze.mechanism.fitting import STRUCTURES, CueFit, StructureName, fit_kernels, fit_structures
from spotball_core.gaze.mechanism.intervals import profile_interval
from spotball_core.gaze.mechanism.likelihood import CLOSENESS, LAPSE, LOG_NOISE, LOG_PHOTO, SIDE, CueLikelihood, Q, W
from spotball_core.gaze.mechanism.prompts import prompt_spread
from spotball_core.gaze.mechanism.records import (
    Candidate,
    Check,
    CurvePoint,
    Estimate,
    Kind,
    Mechanism,
    PromptVariation,
)
from spotball_core.gaze.mechanism.sentence import sentence

if TYPE_CHECKING:
    import polars as pl

LEAST_SCENES: Final = 5
"""Minimum number of scenes for cross-validation."""

_COIN: Final = 0.5
"""If the full model is selected, the kind of the respondent is `coin` if q is at least this, else `compromise`."""

_NOT_DETERMINED: Final[Mapping[StructureName, str]] = {
    "guess": "the choices do not depend on eyes or head",
    "eye": "the respondent follows only the eyes, so the choices do not show how cues are combined",
    "head": "the respondent follows only the head, so the choices do not show how cues are combined",
}


def fit_mechanism(rows: pl.DataFrame, *, seed: int = 0) -> Mechanism:
    """Fit the cue model to one respondent's trials.

    Only trials with a known head target (congruent and incongruent photos) and a matched choice are used.

    Args:
        rows: trials, with the columns of `Trials.frame`.
        seed: seed of the folds and of the simulations in the check.

    Raises:
        OptionError: if there are fewer than 5 scenes with such trials.

    Examples:
        >>> from spotball_core.gaze.power.observers import Observer, factorial_design, simulate
        >>> trials = simulate(Observer("coin", weight=0.6, noise=0.4), factorial_design(), prompts=1)
        >>> found = fit_mechanism(trials.frame)
        >>> found.kind, found.fits
        ('coin', True)
    """
    data = count_choices(rows)
    if data.n_scenes < LEAST_SCENES:
        raise OptionError(
            f"the cue model needs at least {LEAST_SCENES} scenes (sets of photos that differ only in the targets) "
            f"with a head target, found {data.n_scenes}",
            code="cannot-estimate",
        )
    by_kernel = fit_kernels(data)
    fits = fit_structures(by_kernel[0])
    comparison = compare(fits, seed=seed)
    chosen, full = fits[comparison.chosen], fits["mixed"]
    check = check_fit(chosen, seed=seed)
    kind = _kind(comparison.chosen, full, check)
    estimates = _estimates(comparison.chosen, (full, *by_kernel[1:]))
    matched = rows.filter(_known())
    return Mechanism(
        kind=kind,
        **estimates,
        fits=check.fits,
        w_over_prompts=_over_prompts(matched, full, W) if chosen.structure.complexity > 1 else None,
        lapse_over_prompts=_over_prompts(matched, full, LAPSE),
        shape=full.model.kernel.shape,
        ends=full.model.kernel.ends,
        structure=comparison.chosen,
        candidates=tuple(_candidate(structure.name, comparison) for structure in STRUCTURES),
        check=Check(distance=check.distance, expected=check.expected, excess=check.excess, margin=MARGIN, p=check.p),
        curve=_curve(chosen),
        says=sentence(kind, estimates["w"], estimates["q"], estimates["lapse"], check.excess),
        n_trials=data.n_trials,
        n_photos=len(data.counts),
        n_scenes=data.n_scenes,
    )


def mechanism_or_reason(rows: pl.DataFrame, *, seed: int = 0) -> tuple[Mechanism | None, str | None]:
    """Return the cue model and None, or None and the reason why the trials do not allow a fit.

    Args:
        rows: one respondent's trials.
        seed: seed of the folds and of the simulations in the check.
    """
    try:
        return fit_mechanism(rows, seed=seed), None
    except OptionError as error:
        return None, str(error)


def _known() -> pl.Expr:
    import polars as pl

    return pl.col("head").is_not_null() & pl.col("choice").is_not_null()


def _kind(chosen: StructureName, full: CueFit[CueLikelihood], check: FitCheck) -> Kind:
    if not check.fits:
        return "none"
    if chosen == "mixed":
        return "coin" if full.parameters[Q] >= _COIN else "compromise"
    return chosen


def _estimates(chosen: StructureName, by_kernel: Sequence[CueFit[CueLikelihood]]) -> dict[str, Estimate]:
    """Return the estimate of each parameter, without a value if the chosen structure does not determine it."""
    full = by_kernel[0]

    def estimate(index: int, scale: np.ufunc | None = None) -> Estimate:
        # For w and q, intervals cover all shapes of the noise. The meaning of the other parameters depends on the
        # shape.
        low, high = profile_interval(by_kernel if index in (W, Q) else by_kernel[:1], index)
        values = np.array([full.parameters[index], low, high])
        value, low, high = (scale(values) if scale else values).tolist()
        return Estimate(value=value, ci95=(min(low, value), max(high, value)))

    def missing(reason: str) -> Estimate:
        return Estimate(value=None, ci95=None, reason=reason)

    if chosen == "guess":
        names = ("w", "q", "noise", "photo_noise", "closeness", "side")
        return {**{name: missing(_NOT_DETERMINED["guess"]) for name in names}, "lapse": estimate(LAPSE)}
    one_trial = missing("each photo has only one trial")
    return {
        "w": estimate(W),
        "q": missing(_NOT_DETERMINED[chosen]) if chosen in _NOT_DETERMINED else estimate(Q),
        "noise": estimate(LOG_NOISE, np.exp),
        "photo_noise": estimate(LOG_PHOTO, np.exp) if full.model.data.repeated else one_trial,
        "closeness": estimate(CLOSENESS, np.exp),
        "side": estimate(SIDE, np.exp),
        "lapse": estimate(LAPSE),
    }


def _over_prompts(rows: pl.DataFrame, full: CueFit[CueLikelihood], index: int) -> PromptVariation | None:
    spread = prompt_spread(rows, full, index)
    return None if spread is None else PromptVariation(spread=spread.spread, by_prompt=spread.by_prompt)


def _curve(fitted: CueFit[CueLikelihood]) -> tuple[CurvePoint, ...]:
    """Return the predicted share of choices of the head target for each number of objects and offset."""
    data = fitted.model.data
    expected = fitted.model.predicted(fitted.parameters)[np.arange(len(data.head)), data.head]
    trials = np.bincount(data.configuration, weights=data.counts.sum(axis=1), minlength=len(expected))
    offset = data.head - data.gaze
    points = []
    for n_objects, step in sorted(set(zip(data.n_objects.tolist(), offset.tolist(), strict=True))):
        cells = (data.n_objects == n_objects) & (offset == step)
        head = float(np.average(expected[cells], weights=trials[cells]))
        points.append(CurvePoint(n_objects=n_objects, offset=step, head=head))
    return tuple(points)


def _candidate(name: StructureName, comparison: Comparison) -> Candidate:
    return Candidate(
        structure=name,
        held_out=comparison.scores.get(name),
        behind=comparison.behind.get(name),
        se=comparison.errors.get(name),
    )

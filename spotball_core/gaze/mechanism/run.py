"""Fit the cue model to one respondent's trials, and return its record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from spotball_core.errors import OptionError
from spotball_core.gaze.mechanism.checking import MARGIN, check_fit
from spotball_core.gaze.mechanism.comparison import Comparison, compare
from spotball_core.gaze.mechanism.constant import constant_choice
from spotball_core.gaze.mechanism.counts import count_choices
from spotball_core.gaze.mechanism.fitting import (
    BOUNDS,
    STRUCTURES,
    CueFit,
    StructureName,
    fit_kernels,
    fit_structures,
    with_other_kernels,
)
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

_NEGLIGIBLE: Final = 0.05
"""A weight of the other cue up to this does not contradict that a respondent follows one cue."""

_MINOR: Final = 1 / 3
"""A respondent follows one cue only if the interval of w excludes weights of the other cue above this."""

_REJECTED: Final[Mapping[StructureName, float]] = {"guess": 16.8, "eye": 9.2, "head": 9.2}
"""Deviances from the full model above which a structure is rejected.

These are 99% quantiles of chi-square distributions with 6 and 2 degrees of freedom.
"""

_NOT_DETERMINED: Final[Mapping[Kind, str]] = {
    "guess": "the choices do not depend on eyes or head",
    "eye": "the respondent follows only the eyes, so the choices do not show how cues are combined",
    "head": "the respondent follows only the head, so the choices do not show how cues are combined",
    "eye or head": "the choices do not distinguish eyes from head",
    "eye or both": "the choices do not show whether the head counts",
    "head or both": "the choices do not show whether the eyes count",
    "coin or compromise": "the value depends on whether the respondent is a coin or a compromise",
    "none": "no mechanism fits the choices",
}
_NOTHING: Final = ("guess", "none", "eye or head")
"""Kinds for which no parameter is determined."""

_COMBINED: Final = ("coin", "compromise", "coin or compromise")
"""Kinds for which q is determined."""

_CLOSE_TO_BOUND: Final = 1e-3


def fit_mechanism(rows: pl.DataFrame, *, seed: int = 0) -> Mechanism:
    """Fit the cue model to one respondent's trials.

    Only trials with a known head target (congruent and incongruent photos) and a matched choice are used.

    Args:
        rows: trials, with the columns of `Trials.frame`.
        seed: seed of the folds and of the simulations in the check.

    Raises:
        OptionError: if the respondent always makes the same choice, if eyes and head have the same target in all such
            trials, or if these trials have fewer than 5 scenes.

    Examples:
        >>> from spotball_core.gaze.power.observers import Observer, factorial_design, simulate
        >>> trials = simulate(Observer("coin", weight=0.6, noise=0.4), factorial_design(), prompts=1)
        >>> found = fit_mechanism(trials.frame)
        >>> found.kind, found.fits
        ('coin or compromise', True)
    """
    if constant := constant_choice(rows):
        raise OptionError(f"the respondent {constant.says}", code="cannot-estimate")
    data = count_choices(rows)
    if (data.gaze == data.head).all():
        raise OptionError(
            "the design cannot distinguish eyes from head: both have the same target on all photos with a choice. Add "
            "incongruent photos",
            code="cannot-estimate",
        )
    if data.n_scenes < LEAST_SCENES:
        raise OptionError(
            f"the cue model needs at least {LEAST_SCENES} scenes (sets of photos that differ only in the targets) "
            f"with a head target, found {data.n_scenes}",
            code="cannot-estimate",
        )
    by_kernel = fit_kernels(data)
    fits = fit_structures(by_kernel[0])
    comparison = compare(fits, seed=seed)
    full = (fits["mixed"], *by_kernel[1:])
    ends = {W: profile_interval(full, W), Q: profile_interval(full, Q)}
    negligible = {"eye": ends[W][0] <= _NEGLIGIBLE, "head": ends[W][1] >= 1 - _NEGLIGIBLE}
    possible = {
        name: negligible.get(name, False) or 2 * (full[0].log_likelihood - fits[name].log_likelihood) <= limit
        for name, limit in _REJECTED.items()
    }
    close = [name for name in comparison.close if possible.get(name, True)] or comparison.close
    checks = {}
    for name in close:
        # A structure that is too simple may predict about as well as the best one and not fit.
        checks[name] = check_fit(fits[name], seed=seed)
        if checks[name].fits:
            break
    chosen = min(checks, key=lambda name: (not checks[name].fits, checks[name].excess))
    check = checks[chosen]
    kind = _kind(chosen, close, full[0], ends) if check.fits else "none"
    estimates = _estimates(kind, fits[chosen], full, ends)
    matched = rows.filter(_known())
    combined = kind in ("coin", "compromise")
    return Mechanism(
        kind=kind,
        **estimates,
        fits=check.fits,
        w_over_prompts=_over_prompts(matched, full[0], W) if combined else None,
        lapse_over_prompts=_over_prompts(matched, full[0], LAPSE),
        shape=full[0].model.kernel.shape,
        ends=full[0].model.kernel.ends,
        structure=chosen,
        candidates=tuple(_candidate(structure.name, comparison) for structure in STRUCTURES),
        check=Check(distance=check.distance, expected=check.expected, excess=check.excess, margin=MARGIN, p=check.p),
        curve=_curve(fits[chosen]),
        says=sentence(
            kind,
            estimates["w"],
            estimates["lapse"],
            excess=check.excess,
            weights={name: float(fits[name].parameters[W]) for name in ("coin", "compromise")},
        ),
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


def _kind(
    chosen: StructureName,
    close: Sequence[StructureName],
    full: CueFit[CueLikelihood],
    ends: Mapping[int, tuple[float, float]],
) -> Kind:
    """Return the kind of the chosen structure, or the two kinds that the data cannot distinguish.

    A compromise with two objects chooses like a respondent that follows the cue with the larger weight.

    A coin and a compromise differ if objects are between the targets. Without such photos, only the assumed shape of
    the noise distinguishes them. They are also not distinguished if the interval of q contains the value of the other
    one, or excludes the value of the chosen one.
    """
    if chosen in ("eye", "head") and {"eye", "head"} <= set(close):
        return "eye or head"
    if chosen == "eye":
        return "eye" if ends[W][0] <= _NEGLIGIBLE and ends[W][1] <= _MINOR else "eye or both"
    if chosen == "head":
        return "head" if ends[W][1] >= 1 - _NEGLIGIBLE and ends[W][0] >= 1 - _MINOR else "head or both"
    if chosen == "guess":
        return "guess"
    kind: Kind = ("coin" if full.parameters[Q] >= _COIN else "compromise") if chosen == "mixed" else chosen
    low, high = ends[Q]
    data = full.model.data
    with_object_between = np.abs(data.head - data.gaze).max() > 1
    needed, other = (high == 1, low == 0) if kind == "coin" else (low == 0, high == 1)
    if not with_object_between or other or (chosen != "mixed" and not needed):
        return "coin or compromise"
    return kind


def _estimates(
    kind: Kind,
    chosen: CueFit[CueLikelihood],
    full: Sequence[CueFit[CueLikelihood]],
    ends: Mapping[int, tuple[float, float]],
) -> dict[str, Estimate]:
    """Return the estimate of each parameter, without a value if the choices do not determine it."""

    def missing(reason: str) -> Estimate:
        return Estimate(value=None, ci95=None, reason=reason)

    def estimate(fitted: CueFit[CueLikelihood], index: int) -> Estimate:
        low, high = ends[index] if fitted is full[0] and index in ends else profile_interval(fits, index)
        value = float(fitted.parameters[index])
        real = index in (W, Q, LAPSE)
        at_bound = not real and bool(np.abs(BOUNDS[index] - value).min() < _CLOSE_TO_BOUND)
        values = np.array([value, min(low, value), max(high, value)])
        value, low, high = (values if real else np.exp(values)).tolist()
        return Estimate(value=value, ci95=(low, high), at_bound=at_bound)

    indices = {"noise": LOG_NOISE, "photo_noise": LOG_PHOTO, "closeness": CLOSENESS, "side": SIDE, "lapse": LAPSE}
    if kind in _NOTHING:
        return dict.fromkeys(("w", "q", *indices), missing(_NOT_DETERMINED[kind]))
    base = chosen if kind in ("coin", "compromise") else full[0]
    fits = with_other_kernels(base, full)
    estimates = {name: estimate(base, index) for name, index in indices.items() if index != LOG_PHOTO}
    one_trial = missing("each photo has only one trial")
    return {
        **estimates,
        "w": missing(_NOT_DETERMINED[kind]) if kind == "coin or compromise" else estimate(base, W),
        "q": estimate(full[0], Q) if kind in _COMBINED else missing(_NOT_DETERMINED[kind]),
        "photo_noise": estimate(base, LOG_PHOTO) if base.model.data.repeated else one_trial,
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

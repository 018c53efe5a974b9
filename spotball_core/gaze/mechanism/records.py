"""Define the records of the cue model fitted to one respondent."""

from __future__ import annotations

from typing import Literal, get_args

from spotball_core.gaze.mechanism.fitting import StructureName
from spotball_core.gaze.mechanism.kernels import Ends, Shape
from spotball_core.schema.record import Record
from spotball_core.schema.report import Interval

Kind = Literal[
    "eye",
    "head",
    "compromise",
    "coin",
    "guess",
    "none",
    "eye or head",
    "eye or both",
    "head or both",
    "coin or compromise",
]
KINDS: tuple[Kind, ...] = get_args(Kind)


class Estimate(Record):
    """A parameter of the cue model.

    Attributes:
        value: the most likely value; None if the choices do not determine it.
        ci95: 95% profile likelihood interval; None if there is no value.
        reason: why there is no value; None if there is one.
        at_bound: whether the value is the smallest or the largest one that the fit allows, so that the true value may
            be beyond it; false for w, q and the lapse rate, whose bounds of 0 and 1 are real.
    """

    value: float | None
    ci95: Interval | None
    reason: str | None = None
    at_bound: bool = False


class PromptVariation(Record):
    """The distribution of a share (w or the lapse rate) over prompts.

    Attributes:
        spread: standard deviation of the share's log odds over prompts.
        by_prompt: each prompt's share, partially pooled: shrunk toward the mean of all prompts.
    """

    spread: float
    by_prompt: dict[str, float]


class Candidate(Record):
    """The result of one structure of the cue model in the cross-validation.

    Attributes:
        structure: name of the structure; `mixed` is the full model.
        held_out: log likelihood of held-out scenes; None if the structure was not cross-validated because its fit to
            all scenes is far worse than the best.
        behind: how much lower `held_out` is than that of the best structure; None if `held_out` is None.
        se: standard error of `behind` over scenes; None if `held_out` is None.
    """

    structure: StructureName
    held_out: float | None
    behind: float | None
    se: float | None


class CurvePoint(Record):
    """The predicted share of choices of the head target at one offset between gaze target and head target.

    Attributes:
        n_objects: number of objects.
        offset: position of the head target minus that of the gaze target, in steps.
        head: expected share of choices of the head target.
    """

    n_objects: int
    offset: int
    head: float


class Check(Record):
    """The posterior predictive check of whether the model fits.

    Attributes:
        distance: total variation distance between observed and expected shares of the objects, averaged over trials.
        expected: mean distance for data simulated from the model.
        excess: share of choices that the model mispredicts beyond sampling error.
        margin: largest excess at which the model still counts as fitting.
        p: p value: share of simulated data sets with at least the observed distance.
    """

    distance: float
    expected: float
    excess: float
    margin: float
    p: float


class Mechanism(Record):
    """The cue model fitted to one respondent.

    Attributes:
        kind: `eye` or `head`: that cue alone; `compromise`: a position between both; `coin`: one of the two on each
            trial; `guess`: neither; `none`: no model fits; the kinds with `or`: the choices do not distinguish these
            two (`both`: a compromise or a coin).
        w: weight of the head, from 0 (eyes) to 1 (head); for a coin or a compromise, from that structure, like the
            following parameters except q; for the other kinds, from the full model.
        q: probability that a trial follows one cue alone, from 0 (compromise) to 1 (coin).
        noise: standard deviation of the noise from trial to trial, in steps between neighboring objects, for photos
            from the front at proximity 1; with one trial per photo, it includes the noise per photo.
        photo_noise: standard deviation of the noise that all trials with the same photo share, in the same unit.
        closeness: factor by which the noise grows with each step of proximity.
        side: factor by which the noise is larger for photos from the left or right than from the front.
        lapse: share of trials answered uniformly at random.
        fits: whether the model fits the choices; false if and only if `kind` is `none`.
        w_over_prompts: how w varies over prompts; None with fewer than three prompts, or if the structure fixes w.
        lapse_over_prompts: how the lapse rate varies over prompts; None with fewer than three prompts.
        shape: shape of the noise distribution.
        ends: how noise beyond the first and the last object is treated (`Kernel.ends`).
        structure: the structure selected by cross-validation.
        candidates: cross-validation results of all structures, simple ones first.
        check: check of the fit.
        curve: predicted shares of choices of the head target, by number of objects and offset.
        says: one sentence that describes the mechanism.
        n_trials: number of trials with a head target and a choice.
        n_photos: number of photos in these trials.
        n_scenes: number of scenes that cross-validation divides into folds.
    """

    kind: Kind
    w: Estimate
    q: Estimate
    noise: Estimate
    photo_noise: Estimate
    closeness: Estimate
    side: Estimate
    lapse: Estimate
    fits: bool
    w_over_prompts: PromptVariation | None = None
    lapse_over_prompts: PromptVariation | None = None
    shape: Shape
    ends: Ends
    structure: StructureName
    candidates: tuple[Candidate, ...]
    check: Check
    curve: tuple[CurvePoint, ...]
    says: str
    n_trials: int
    n_photos: int
    n_scenes: int

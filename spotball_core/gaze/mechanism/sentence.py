"""Describe a respondent's mechanism in one sentence."""

from __future__ import annotations

from spotball_core.gaze.mechanism.records import Estimate, Kind


def sentence(kind: Kind, w: Estimate, q: Estimate, lapse: Estimate, excess: float) -> str:
    """Return one sentence that describes a mechanism.

    Args:
        kind: the mechanism's kind.
        w: weight of the head.
        q: probability of following one cue alone.
        lapse: share of random answers.
        excess: share of choices that the model mispredicts beyond sampling error.

    Examples:
        >>> known = Estimate(value=0.25, ci95=(0.2, 0.3))
        >>> print(sentence("coin", known, known, Estimate(value=0.1, ci95=(0.05, 0.15)), 0.0))
        Follows the head on 25% [20%, 30%] of the trials and the eyes on the others;
        answers 10% [5%, 15%] of the trials at random.
    """
    if kind == "none":
        return f"No mechanism fits: the best one mispredicts {excess:.0%} of the choices, not counting chance errors."
    if kind == "guess":
        return "The answers do not depend on eyes or head."
    lapses = f"answers {_share(lapse)} of the trials at random"
    if kind == "eye":
        return f"Follows the eyes; {lapses}."
    if kind == "head":
        return f"Follows the head; {lapses}."
    if kind == "compromise":
        return f"Combines eyes and head, with a weight of {_share(w)} for the head; {lapses}."
    return f"Follows the head on {_share(w)} of the trials and the eyes on the others; {lapses}."


def _share(estimate: Estimate) -> str:
    if estimate.value is None or estimate.ci95 is None:
        return "an unknown share"
    low, high = estimate.ci95
    return f"{estimate.value:.0%} [{low:.0%}, {high:.0%}]"

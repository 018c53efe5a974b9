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
        excess: share of choices that the model places wrongly.

    Examples:
        >>> known = Estimate(value=0.25, ci95=(0.2, 0.3))
        >>> sentence("coin", known, known, Estimate(value=0.1, ci95=(0.05, 0.15)), 0.0)
        'Follows the head on 25% [20%, 30%] of the trials and the eyes on the others; answers 10% [5%, 15%] at random.'
    """
    if kind == "none":
        return f"No model fits: the best one places {excess:.0%} of the choices wrongly, beyond chance."
    if kind == "guess":
        return "Answers do not depend on eyes or head."
    lapses = f"answers {_share(lapse)} at random"
    if kind == "eye":
        return f"Follows the eyes; {lapses}."
    if kind == "head":
        return f"Follows the head; {lapses}."
    if kind == "compromise":
        return f"Looks between eyes and head, with a weight of {_share(w)} for the head; {lapses}."
    return f"Follows the head on {_share(w)} of the trials and the eyes on the others; {lapses}."


def _share(estimate: Estimate) -> str:
    if estimate.value is None or estimate.ci95 is None:
        return "an unknown share"
    low, high = estimate.ci95
    return f"{estimate.value:.0%} [{low:.0%}, {high:.0%}]"

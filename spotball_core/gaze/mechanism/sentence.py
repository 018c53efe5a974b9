"""Describe a respondent's mechanism in one sentence."""

from __future__ import annotations

from collections.abc import Mapping

from spotball_core.gaze.mechanism.records import Estimate, Kind
from spotball_core.text.numbers import interval, quantity


def sentence(kind: Kind, w: Estimate, lapse: Estimate, *, excess: float, weights: Mapping[str, float]) -> str:
    """Return one sentence that describes a mechanism.

    Args:
        kind: the mechanism's kind.
        w: weight of the head.
        lapse: share of random answers.
        excess: share of choices that the model mispredicts beyond sampling error.
        weights: the weights of the head of the best `coin` and the best `compromise`.

    Examples:
        >>> known = Estimate(value=0.25, ci95=(0.2, 0.3))
        >>> print(sentence("coin", known, known, excess=0.0, weights={}))
        Follows the head on 25.0% [20.0, 30.0] of the trials and the eyes on the others;
        answers 25.0% [20.0, 30.0] of the trials at random.
    """
    if kind == "none":
        return f"No mechanism fits: the best one mispredicts {excess:.0%} of the choices, not counting chance errors."
    if kind == "guess":
        return "These data show no dependence on eyes or head."
    if kind == "eye or head":
        return "Follows the eyes, the head or both; these data cannot distinguish them."
    lapses = f"answers {_share(lapse)} of the trials at random"
    if kind == "coin or compromise":
        return (
            f"Follows the head on {weights['coin']:.1%} of the trials (coin), or combines eyes and head with a weight "
            f"of {weights['compromise']:.1%} for the head (compromise); these data cannot distinguish them; {lapses}."
        )
    if kind in ("eye or both", "head or both"):
        assert w.ci95 is not None
        cue, other, most = ("eyes", "head", w.ci95[1]) if kind == "eye or both" else ("head", "eyes", 1 - w.ci95[0])
        return (
            f"Follows the {cue}, or combines eyes and head with a weight of up to {most:.1%} for the {other}; these "
            f"data cannot distinguish them; {lapses}."
        )
    if kind == "eye":
        return f"Follows the eyes; {lapses}."
    if kind == "head":
        return f"Follows the head; {lapses}."
    if kind == "compromise":
        return f"Combines eyes and head, with a weight of {_share(w)} for the head; {lapses}."
    return f"Follows the head on {_share(w)} of the trials and the eyes on the others; {lapses}."


def _share(estimate: Estimate) -> str:
    assert estimate.value is not None
    return f"{quantity(estimate.value, 'share')} {interval(estimate.ci95, 'share')}"

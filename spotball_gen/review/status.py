"""Format the status of a review as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from spotball_gen.review.agreement import Kappa, agreements
from spotball_gen.review.material import ReviewImage, counted
from spotball_gen.review.store import Decision, Key

SHOWN = 20
"""Maximum number of images with different verdicts that are listed."""


def lines(decisions: Mapping[str, Mapping[Key, Decision]], pieces: Sequence[ReviewImage]) -> Iterator[str]:
    """Yield lines of text with the number of each reviewer's decisions, and the agreement of each pair of reviewers."""
    yield counted(pieces)
    if not decisions:
        yield "there are no decisions yet"
    by_key = {piece.scene.key: piece for piece in pieces}
    for reviewer, of in decisions.items():
        current = {key: decision for key, decision in of.items() if key in by_key}
        verdicts = Counter(decision.verdict for decision in current.values())
        decided = len(current) - verdicts[None]
        unchecked = sum(len(decision.unchecked) for decision in current.values())
        yield (
            f"{reviewer} decided on {decided:,} of {len(pieces):,} images: {verdicts['accept']:,} accepted, "
            f"{verdicts['reject']:,} rejected, {verdicts['repaint']:,} to inpaint again; {unchecked:,} boxes unchecked"
        )
        reasons = Counter(decision.reason for decision in current.values() if decision.reason)
        if reasons:
            yield "  rejected: " + ", ".join(f"{n:,} {reason}" for reason, n in reasons.most_common())
        if n_missing := len(of) - len(current):
            yield f"  {n_missing:,} more decisions on images that are no longer in the dataset"
    for pair in agreements(decisions, pieces):
        yield f"{pair.first} and {pair.second}: verdicts: {_said(pair.verdicts, 'images')}"
        yield f"{pair.first} and {pair.second}: boxes: {_said(pair.boxes, 'boxes')}"
        for sport, image in pair.differing[:SHOWN]:
            first_verdict, second_verdict = (
                decisions[name][sport, image].verdict for name in (pair.first, pair.second)
            )
            yield f"  {sport}/{image}: {first_verdict}, {second_verdict}"
        if len(pair.differing) > SHOWN:
            yield f"  and {len(pair.differing) - SHOWN:,} more images with different verdicts"


def _said(kappa: Kappa, unit: str) -> str:
    if kappa.agree is None:
        return f"Cohen's kappa is not defined: {kappa.undefined}"
    sentence = f"they agree on {kappa.agree:.1%} of {kappa.n:,} {unit}"
    if kappa.kappa is None:
        return f"{sentence}; Cohen's kappa is not defined: {kappa.undefined}"
    return f"{sentence}; Cohen's kappa {kappa.kappa:.3f}"

"""How far a review is, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from spotball_gen.review.agreement import Kappa, agreements
from spotball_gen.review.material import ReviewImage
from spotball_gen.review.store import Decision, Key

SHOWN = 20
"""Images with different verdicts that are named."""


def lines(decisions: Mapping[str, Mapping[Key, Decision]], pieces: Sequence[ReviewImage]) -> Iterator[str]:
    """What each reviewer decided, and how far each two agree."""
    first = sum(piece.first for piece in pieces)
    yield f"{len(pieces):,} images, {first:,} of them over a limit"
    if not decisions:
        yield "nobody has decided anything yet"
    known = {piece.scene.key: piece for piece in pieces}
    for reviewer, of in decisions.items():
        mine = {key: decision for key, decision in of.items() if key in known}
        verdicts = Counter(decision.verdict for decision in mine.values())
        decided = len(mine) - verdicts[None]
        unchecked = sum(len(decision.unchecked) for decision in mine.values())
        yield (
            f"{reviewer}: {decided:,} of {len(pieces):,} decided: {verdicts['accept']:,} accepted, "
            f"{verdicts['reject']:,} rejected, {verdicts['repaint']:,} to repaint; {unchecked:,} boxes unchecked"
        )
        reasons = Counter(decision.reason for decision in mine.values() if decision.reason)
        if reasons:
            yield "  rejected: " + ", ".join(f"{n:,} {reason}" for reason, n in reasons.most_common())
        if gone := len(of) - len(mine):
            yield f"  {gone:,} more of images that the dataset no longer has"
    for pair in agreements(decisions, pieces):
        yield f"{pair.one} and {pair.other}: verdicts: {_said(pair.verdicts, 'images')}"
        yield f"{pair.one} and {pair.other}: boxes: {_said(pair.boxes, 'boxes')}"
        for sport, image in pair.differing[:SHOWN]:
            ours, theirs = (decisions[name][sport, image].verdict for name in (pair.one, pair.other))
            yield f"  {sport}/{image}: {ours}, {theirs}"
        if len(pair.differing) > SHOWN:
            yield f"  and {len(pair.differing) - SHOWN:,} more on which they differ"


def _said(kappa: Kappa, what: str) -> str:
    if kappa.agree is None:
        return f"Cohen's kappa is not defined: {kappa.undefined}"
    told = f"they agree on {kappa.agree:.1%} of {kappa.n:,} {what}"
    if kappa.kappa is None:
        return f"{told}; Cohen's kappa is not defined: {kappa.undefined}"
    return f"{told}; Cohen's kappa {kappa.kappa:.3f}"

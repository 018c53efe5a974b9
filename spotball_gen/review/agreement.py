"""Report the state of a review, and the agreement between two reviewers, corrected for chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from spotball_gen.review.material import ReviewImage, counted
from spotball_gen.review.store import Decision, Key


@dataclass(frozen=True, slots=True)
class Kappa:
    """Agreement of two reviewers on one question, such as the verdict on an image.

    Attributes:
        n: number of items that both reviewers answered.
        agree: share of these items on which the reviewers agree, or None if there are no items.
        kappa: Cohen's kappa, or None if it is undefined.
        undefined: why kappa is undefined, or None if it is defined.
    """

    n: int
    agree: float | None
    kappa: float | None
    undefined: str | None = None


def cohens_kappa(one: Sequence[Hashable], other: Sequence[Hashable]) -> Kappa:
    r"""Return Cohen's kappa of two reviewers' answers to the same questions.

    $$\kappa = \frac{p_o - p_e}{1 - p_e}, \qquad p_e = \sum_c p_c q_c$$

    where $p_o$ is the share of items with equal answers, and $p_c$ and $q_c$ are the shares of answer $c$ among the
    first and the second reviewer's answers. Kappa is undefined without items, and if all answers are the same.

    Source:
        Cohen (1960). A coefficient of agreement for nominal scales. Educational and Psychological Measurement 20(1).

    Examples:
        >>> cohens_kappa("aaaabbbbbb", "aaabbbbbba").kappa
        0.583...
        >>> cohens_kappa("aa", "aa").undefined
        'all decisions of both reviewers are the same'
    """
    n = len(one)
    if not n:
        return Kappa(0, None, None, "there is no item that both reviewers decided on")
    n_equal = sum(a == b for a, b in zip(one, other, strict=True))
    first_counts, second_counts = Counter(one), Counter(other)
    # Both values are multiplied by n squared.
    observed, expected = n_equal * n, sum(first_counts[answer] * second_counts[answer] for answer in first_counts)
    if expected == n * n:
        return Kappa(n, 1.0, None, "all decisions of both reviewers are the same")
    return Kappa(n, n_equal / n, (observed - expected) / (n * n - expected))


@dataclass(frozen=True, slots=True)
class ReviewerAgreement:
    """Agreement between the reviewers `first` and `second`.

    Attributes:
        verdicts: agreement on whether an image is accepted, rejected or to be repainted.
        boxes: agreement on whether a box contains a player, over the boxes of images that both reviewers decided on.
        differing: images on which the two verdicts differ.
    """

    first: str
    second: str
    verdicts: Kappa
    boxes: Kappa
    differing: tuple[Key, ...]


def agreements(
    decisions: Mapping[str, Mapping[Key, Decision]], pieces: Sequence[ReviewImage]
) -> tuple[ReviewerAgreement, ...]:
    """Return the agreement of each pair of reviewers on the images that both decided on."""
    return tuple(
        _agreement(first, second, decisions[first], decisions[second], pieces)
        for first, second in combinations(decisions, 2)
    )


def _agreement(
    first: str,
    second: str,
    first_decisions: Mapping[Key, Decision],
    second_decisions: Mapping[Key, Decision],
    pieces: Sequence[ReviewImage],
) -> ReviewerAgreement:
    none = Decision()
    decided = [
        (piece.scene, first_decisions[piece.scene.key], second_decisions[piece.scene.key])
        for piece in pieces
        if first_decisions.get(piece.scene.key, none).verdict and second_decisions.get(piece.scene.key, none).verdict
    ]
    boxes = [
        (box.corners in first_decision.unchecked, box.corners in second_decision.unchecked)
        for scene, first_decision, second_decision in decided
        for box in scene.players or ()
    ]
    return ReviewerAgreement(
        first,
        second,
        cohens_kappa(
            [first_decision.verdict for _, first_decision, _ in decided],
            [second_decision.verdict for _, _, second_decision in decided],
        ),
        cohens_kappa([first_box for first_box, _ in boxes], [second_box for _, second_box in boxes]),
        tuple(
            scene.key
            for scene, first_decision, second_decision in decided
            if first_decision.verdict != second_decision.verdict
        ),
    )


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

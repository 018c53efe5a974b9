"""Find the known cause of a difference between a published figure and the data.

Causes are texts for the notes of figures. Each text starts with the cause's name.
"""

from __future__ import annotations

from collections.abc import Iterable

from spotball_core.replication.material import Material
from spotball_core.replication.published import PEOPLE, Condition

NOT_THE_BALL = (
    "not the ball: `gt_x` and `gt_y` were computed from `x` and `y` with the formula for soccer, but in this sport `x` "
    "and `y` already are the ball's center in pixels of the image; the standard value uses the "
    "distance of that center"
)
UNSCALED_BOX = (
    "other pixels: the published value is in pixels of the image after scaling to 512 x 512; the standard "
    "value is in pixels of the 640 x 360 image"
)
MERGED = (
    "boxes merged by file name: the published value also counts players of other sports; the standard value counts "
    "only the players of each image"
)
PEOPLE_MIXED = (
    "people mixed across sports: answers were matched to images by number alone, so an answer could be matched to an "
    "image of another sport; the standard value uses the sport of each answer"
)
SOCCER_TRUTH = (
    "soccer's truth for all sports: the published ratio divides the share of guesses of all sports in the center "
    "window by the share of soccer's balls there; the standard value uses the balls of all scored images"
)
NO_FIT = (
    "no optimum inside the range: for any guesses, the objective increases with tau and decreases with theta, so its "
    "maximum is at the edge of the tested range"
)


def run(material: Material, condition: Condition | None) -> str | None:
    """Return the known cause of differences between the figures of a condition and the published figures.

    A condition is a sport, a respondent and a prompt.

    Returns:
        The cause; None if no cause is known, or if the condition is None or has no answers.
    """
    answered = material.answered(condition)
    if condition is None or answered is None:
        return None
    _, respondent, prompt = condition
    joined, published = material.joined(condition), material.published_answers(condition)
    n = joined.n if joined else round(float(answered.mass.sum()))
    differs = published is not None and published != n and respondent != PEOPLE
    is_earlier = any((other.respondent, other.prompt) == (respondent, prompt) for other in material.catalog.other_runs)
    if differs:
        return (
            f"another run: the published figure is from a run with {published:,} parsed answers, but this run has {n:,}"
        )
    if is_earlier:
        return "another run: the published figure is from an earlier run that was not released"
    return _uneven(answered.answers.tolist(), expected_answers(material, condition), respondent)


def any_run(material: Material, conditions: Iterable[Condition]) -> str | None:
    """Return the known causes of differences in a figure of several conditions; None if no cause is known.

    Each cause is followed by the names of the conditions that it applies to.
    """
    by_cause: dict[str, list[str]] = {}
    for condition in conditions:
        if cause := run(material, condition):
            by_cause.setdefault(cause, []).append("/".join(condition))
    return "; ".join(f"{cause} ({', '.join(names)})" for cause, names in by_cause.items()) or None


def expected_answers(material: Material, condition: Condition) -> int | None:
    """Return the number of answers per image that the paper states for a condition; None if it does not state one."""
    sport, respondent, prompt = condition
    product: int | None = None
    for figure in material.printed("section 4.3", "section 4.4"):
        is_count = figure.quantity in ("answers an image", "participants", "guesses an image")
        if is_count and figure.value and figure.condition == (sport, respondent, prompt):
            product = int(figure.value) * (1 if product is None else product)
    return product


def _uneven(answers: list[float], expected: int | None, respondent: str) -> str | None:
    if expected is None:
        return None
    fewest, most = round(min(answers)), round(max(answers))
    if most > expected:
        return f"more samples: up to {most} answers per image, but the paper states {expected}"
    if fewest == expected:
        return None
    if respondent == PEOPLE:
        return f"fewer people: {fewest} answers per image, but the paper states {expected}"
    if fewest == most:
        return f"fewer samples: {most} answers per image, but the paper states {expected}"
    short = sum(n < expected for n in answers)
    return f"a short run: {short} of {len(answers)} images have fewer than the {expected} answers that the paper states"

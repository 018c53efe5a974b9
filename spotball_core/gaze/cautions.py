"""Write the warnings of a gaze analysis, such as unmatched choices, and its remarks on methods."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from spotball_core.gaze.battery.types import Type
from spotball_core.gaze.mechanism.records import Kind
from spotball_core.text.words import listed

if TYPE_CHECKING:
    import polars as pl

    from spotball_core.gaze.result import RespondentResult

_WORDS: Final = {
    "dist_eye_head": "distance between the targets",
    "expected_dist_to_head": "expected distance to the head target",
    "dist_to_head": "distance to the head target",
    "is_head": "choice of the head target",
    "log_time": "logarithm of the response time",
    "n_objects": "number of objects",
    "stimulus_id": "photo",
    "prompt_id": "prompt",
}
"""The variables of the models in words; other variables, such as `proximity`, are words."""

_TERM: Final = re.compile(r"\b[a-z]\w*(?:\[[^\]]*\])?(?::[a-z]\w*(?:\[[^\]]*\])?)+|\b[a-z]\w*\[[^\]]*\]")
"""A term of a model: a level of a variable (`view[left]`), or an interaction (`view[left]:proximity`)."""

INCONGRUENT_DROP: Final = 0.1
"""Smallest drop in accuracy from congruent to incongruent photos for which a human-level respondent gets a warning."""

CONTRADICTIONS: Final[Mapping[Kind, tuple[Type, ...]]] = {
    "eye": ("head-only", "head-dominant", "eye-head ambivalent"),
    "head": ("human-level", "eye-head ambivalent"),
    "compromise": ("head-only", "eye-head ambivalent"),
    "coin": ("head-only", "head-dominant"),
    "guess": ("human-level", "head-only", "head-dominant", "eye-head ambivalent"),
}
"""The types that contradict each mechanism."""


def cautions(rows: pl.DataFrame, results: Sequence[RespondentResult], people: str | None) -> list[str]:
    """Return the warnings of an analysis: first those about single respondents, then those about all trials.

    Args:
        rows: all trials.
        results: the results of the respondents.
        people: the respondent that stands for people in Test 1; None if Test 1 uses the published accuracies of people.
    """
    warnings = []
    for result in results:
        name = result.respondent
        if result.n_unmatched > 0.05 * result.n_trials:
            warnings.append(
                f"{name}: {result.n_unmatched / result.n_trials:.0%} of the choices are unmatched and count as wrong"
            )
        if result.no_mechanism:
            warnings.append(f"{name}: the cue model was not fitted, because {result.no_mechanism}")
        if warning := _human_level_on_natural_photos(result):
            warnings.append(warning)
        kind = result.mechanism.kind if result.mechanism else None
        if kind is not None and result.type in CONTRADICTIONS.get(kind, ()):
            warnings.append(
                f"{name}: the type {result.type} contradicts the cue model, which is {kind}. Prefer the cue model: the "
                "tests behind the type do not separate noise from the use of the head"
            )
    warnings += _unclear(results)
    photos_of = {
        name: set(rows.filter(respondent=name)["stimulus_id"]) for name in {result.respondent for result in results}
    }
    if len({frozenset(photos) for photos in photos_of.values()}) > 1:
        warnings.append("the respondents answered different photos, so their accuracies cannot be compared")
    if people is None:
        warnings.append(
            "the trials contain no people, so Test 1 uses the published accuracy of people on the photos of the pilot "
            "study"
        )
    return warnings


def remarks(results: Sequence[RespondentResult]) -> list[str]:
    """Return remarks on the methods of single tests, such as models that were replaced by t-tests, in words."""
    lines = []
    for result in results:
        for key, test in result.tests.items():
            label = f"Test {key}" if key[0].isdigit() else f"Test of {key}"
            if test.reason and test.verdict is not None:
                reason = in_words(test.reason)
                lines.append(f"{result.respondent}, {label}: a t-test replaces the model, because {reason}")
            lines += [f"{result.respondent}, {label}: {note}" for note in test.notes]
    return lines


def in_words(text: str) -> str:
    """Replace the names of variables and terms of models by words.

    Examples:
        >>> in_words("no estimate for dist_eye_head[3]:proximity")
        'no estimate for the interaction of distance between the targets 3 and proximity'
        >>> in_words("the answers do not determine proximity, n_objects, n_objects:proximity, n_objects:view[left]")
        'the answers do not determine proximity, number of objects, and their interactions'
        >>> in_words("the effect of view[left] is too large")
        'the effect of view left is too large'
    """

    def written(match: re.Match[str]) -> str:
        parts = match[0].replace("[", " ").replace("]", "").split(":")
        return parts[0] if len(parts) == 1 else f"the interaction of {' and '.join(parts)}"

    text = re.sub(r"(?:, the interaction of [^,]+)+", ", and their interactions", _TERM.sub(written, text))
    return re.sub(r"\b[a-z_]+\b", lambda match: _WORDS.get(match[0], match[0]), text)


def _unclear(results: Sequence[RespondentResult]) -> list[str]:
    """Return a warning for each test without an answer because of which types are unclear, with the respondents."""
    names: dict[str, list[str]] = {}
    for result in results:
        if result.type != "unclear":
            continue
        # Tests of view and proximity have no number and do not affect the type.
        for key, test in result.tests.items():
            if key[0].isdigit() and test.verdict is None:
                reason = f"Test {key} has no answer: {in_words(test.reason)}"
                if result.mechanism:
                    reason += ". The cue model does not need this test"
                names.setdefault(reason, []).append(result.respondent)
                break
    return [f"the type of {listed(respondents)} is unclear, because {reason}" for reason, respondents in names.items()]


def _human_level_on_natural_photos(result: RespondentResult) -> str | None:
    """Return a warning if a human-level respondent is much less accurate when head and eyes disagree, else None."""
    accuracy = result.tests["2.3"].numbers.get("accuracy", {})
    if result.type != "human-level" or not result.tests["2.3"].verdict:
        return None
    congruent, incongruent = accuracy["congruent"], accuracy["incongruent"]
    if congruent - incongruent < INCONGRUENT_DROP:
        return None
    return (
        f"{result.respondent}: the test for the type human-level uses only natural photos; accuracy is {congruent:.0%} "
        f"on congruent photos and {incongruent:.0%} on incongruent photos"
    )

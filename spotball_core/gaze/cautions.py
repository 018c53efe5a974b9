"""Write the warnings of a gaze analysis, such as unmatched choices or models that were replaced by t-tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from spotball_core.gaze.battery.types import Type
from spotball_core.gaze.mechanism.records import Kind

if TYPE_CHECKING:
    import polars as pl

    from spotball_core.gaze.analysis import RespondentResult

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
        for key, test in result.tests.items():
            if test.reason and test.verdict is not None:
                warnings.append(f"{name}, Test {key}: a t-test replaces the model, because {test.reason}")
            warnings += [f"{name}, Test {key}: {note}" for note in test.notes]
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

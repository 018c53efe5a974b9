"""Summarize a gaze analysis: the mechanisms in one sentence, and a table that fits 80 columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from spotball_core.gaze.result import GazeReport, RespondentResult
from spotball_core.text.first_screen import FirstScreen
from spotball_core.text.numbers import number
from spotball_core.text.words import listed, plural, shortened

MORE = (
    "Add --full to see accuracy by number of objects, every test and every parameter. Add --out DIR to write a report "
    "with figures. Add --format json or markdown to choose the format."
)

_NAMED = 3
"""Maximum number of respondents that the headline names for each type."""

_LONGEST = 24
"""Maximum number of characters of a name in the headline."""


def headline(report: GazeReport) -> str:
    """Return one sentence with the mechanisms of the respondents; for one respondent, also with its type."""
    if len(report.respondents) == 1:
        (only,) = report.respondents
        return f"{shortened(only.respondent, _LONGEST)}: {only.summary}"
    by_kind: dict[str, list[str]] = {}
    for result in report.respondents:
        by_kind.setdefault(_mechanism(result), []).append(result.respondent)
    parts = [
        f"{len(names):,} {'has' if len(names) == 1 else 'have'} "
        f"{'no cue model' if kind == '-' else f'the mechanism {kind}'}{_names(names)}"
        for kind, names in sorted(by_kind.items(), key=lambda entry: -len(entry[1]))
    ]
    return f"Of {plural(len(report.respondents), 'respondent')}, {listed(parts)}."


_VERBS: Final[Mapping[str, tuple[str, str]]] = {
    "eye": ("follows the eyes", "follow the eyes"),
    "head": ("follows the head", "follow the head"),
    "compromise": ("chooses between eyes and head", "choose between eyes and head"),
    "coin": (
        "follows the eyes in some trials and the head in others",
        "follow the eyes in some trials and the head in others",
    ),
    "eye or both": ("follows the eyes or both cues", "follow the eyes or both cues"),
    "head or both": ("follows the head or both cues", "follow the head or both cues"),
    "guess": ("guesses", "guess"),
    "none": ("fits no cue model", "fit no cue model"),
}
"""The mechanisms as verbs, for one and for several respondents."""


def finding(report: GazeReport) -> str:
    """Return one sentence that states what the respondents follow by the cue model, or else their types."""
    names: dict[str, list[str]] = {}
    for result in report.respondents:
        if result.mechanism:
            names.setdefault(result.mechanism.kind, []).append(shortened(result.respondent, _LONGEST))
    if not names:
        return headline(report)
    parts = []
    for kind, group in sorted(names.items(), key=lambda entry: -len(entry[1])):
        shown = group if len(group) <= _NAMED else [*group[: _NAMED - 1], f"{len(group) - _NAMED + 1:,} others"]
        one, several = _VERBS.get(kind, (f"has the mechanism {kind}", f"have the mechanism {kind}"))
        parts.append(f"{listed(shown)} {several if len(group) > 1 else one}")
    return f"{'; '.join(parts)}."


def to_summary(report: GazeReport, *, to_terminal: bool = False) -> str:
    """Return the headline, a table with one row per respondent, the warnings, notes, and the signature as text.

    Args:
        report: the report of the analysis.
        to_terminal: whether the text uses the width of the terminal, if standard output is a terminal.
    """
    against = {result.respondent: result for result in report.fleet.against_chance.respondents}
    rows = []
    for result in report.respondents:
        chance = against[result.respondent]
        rows.append(
            [
                result.respondent,
                _mechanism(result),
                result.type,
                f"{result.n_trials:,}",
                number(chance.accuracy, "share"),
                number(chance.chance, "share"),
                _head_weight(result),
            ]
        )
    notes = [
        "Accuracy covers all conditions; unmatched replies count as wrong.",
        "The weight of the head is 0% if only the eyes count, and 100% if only the head counts.",
        "The mechanism (cue model) accounts for noise. The type (tests of the paper) does not; prefer the mechanism.",
    ]
    unmatched = [(result.respondent, result.n_unmatched) for result in report.respondents if result.n_unmatched]
    if unmatched:
        shown = ", ".join(f"{name} {n:,}" for name, n in unmatched[:_NAMED])
        more = f", and {plural(len(unmatched) - _NAMED, 'other respondent')}" if len(unmatched) > _NAMED else ""
        notes.append(f"Unmatched replies: {shown}{more}.")
    screen = FirstScreen(
        headline(report),
        ["respondent", "cue\nmodel", "type", "trials", "accuracy\n(%)", "chance\n(%)", "weight of\nhead (%)"],
        rows,
        n_names=1,
        n_words=2,
        warnings=report.warnings,
        notes=[*notes, MORE],
        signature=report.signature,
    )
    return screen.text(to_terminal=to_terminal)


def _names(names: list[str]) -> str:
    more = f", and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f" ({', '.join(shortened(name, _LONGEST) for name in names[:_NAMED])}{more})"


def _mechanism(result: RespondentResult) -> str:
    return result.mechanism.kind if result.mechanism else "-"


def _head_weight(result: RespondentResult) -> str:
    if result.mechanism is None or result.mechanism.w.value is None:
        return "-"
    return number(result.mechanism.w.value, "share")

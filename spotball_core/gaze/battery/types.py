"""Determine the type of a respondent from the verdicts of its tests, with a decision tree that is stored as a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, get_args

from spotball_core.gaze.battery.findings import Finding, Key

Type = Literal[
    "human-level",
    "no gap shown",
    "gap without head bias",
    "at chance",
    "constant",
    "head-only",
    "head-dominant",
    "eye-head ambivalent",
    "unclear",
]
TYPES: Final[tuple[Type, ...]] = get_args(Type)

SUBTESTS: Final[tuple[Key, ...]] = ("2.1", "2.2", "2.3", "2.4")

ENOUGH: Final = 3
"""Minimum number of positive verdicts among `SUBTESTS` for a head bias."""


@dataclass(frozen=True, slots=True)
class TypeRule:
    """One row of the decision table: the conditions for a type, in the order in which they are checked.

    A condition of None allows any value.

    Attributes:
        gap: verdict of Test 1.
        bias: whether at least three of Tests 2.1 to 2.4 are positive.
        responsive: verdict of Test 3.
        supports: the type that Test 4 supports.
        type: the resulting type.
    """

    gap: bool | None
    bias: bool | None
    responsive: bool | None
    supports: str | None
    type: Type


TABLE: Final = (
    TypeRule(False, None, None, None, "human-level"),
    TypeRule(True, False, None, None, "gap without head bias"),
    TypeRule(True, True, False, None, "head-only"),
    TypeRule(True, True, True, "head-dominant", "head-dominant"),
    TypeRule(True, True, True, "eye-head ambivalent", "eye-head ambivalent"),
    TypeRule(True, True, True, "neither", "unclear"),
)
"""The paper's decision tree, one row per leaf.

If no row applies because a test has no answer, the type is unclear. Except with the policy `paper`, `battery.run`
refines the type: it adds the types `no gap shown`, `at chance` and `constant`.
"""


def head_bias(verdict: Callable[[Key], bool | None]) -> bool | None:
    """Return whether at least three of Tests 2.1 to 2.4 are positive; None if it depends on tests without an answer.

    Verdicts are requested one by one, until the result is certain.

    Examples:
        >>> head_bias({"2.1": False, "2.2": True, "2.3": True, "2.4": True}.get)
        True
        >>> head_bias({"2.1": False, "2.2": True, "2.3": True, "2.4": None}.get) is None
        True
    """
    verdicts: list[bool | None] = []
    for key in SUBTESTS:
        verdicts.append(verdict(key))
        if verdicts.count(True) >= ENOUGH:
            return True
        if verdicts.count(False) > len(SUBTESTS) - ENOUGH:
            return False
    return None


def type_of(finding: Callable[[Key], Finding]) -> Type:
    """Return the type that follows from a respondent's findings.

    Args:
        finding: function that returns the finding of a test. It is called only for the tests that determine the type.
    """
    facts: list[Callable[[], bool | str | None]] = [
        cache(lambda: finding("1").verdict),
        cache(lambda: head_bias(lambda key: finding(key).verdict)),
        cache(lambda: finding("3").verdict),
        cache(lambda: finding("4").supports),
    ]
    for rule in TABLE:
        conditions = (rule.gap, rule.bias, rule.responsive, rule.supports)
        if all(expected is None or expected == fact() for expected, fact in zip(conditions, facts, strict=True)):
            return rule.type
    return "unclear"


def table_markdown() -> str:
    """Return the decision table as Markdown for the documentation."""
    words = {True: "yes", False: "no", None: ""}
    heads = (
        "Test 1: gap",
        f"At least {ENOUGH} of Tests 2.1 to 2.4",
        "Test 3: responsive",
        "Type that Test 4 supports",
        "Type",
    )
    lines = ["| " + " | ".join(heads) + " |", "| --- " * len(heads) + "|"]
    for rule in TABLE:
        cells = (words[rule.gap], words[rule.bias], words[rule.responsive], rule.supports or "", f"**{rule.type}**")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)

from __future__ import annotations

import itertools

import pytest

from spotball_core.gaze.battery.findings import QUESTIONS, Finding, Key
from spotball_core.gaze.battery.types import TABLE, TYPES, head_bias, table_markdown, type_of

ALL = (True, False, None)


def plain(gap: bool | None, subtests: tuple[bool | None, ...], responsive: bool | None, supports: str | None) -> str:
    """Return the type by the paper's decision tree (figures 2 and 3): unclear if a needed verdict is missing."""
    if gap is None:
        return "unclear"
    if not gap:
        return "human-level"
    if subtests.count(True) < 3:
        return "unclear" if subtests.count(True) + subtests.count(None) >= 3 else "gap without head bias"
    if responsive is None:
        return "unclear"
    if not responsive:
        return "head-only"
    if supports == "head-dominant":
        return "head-dominant"
    return "eye-head ambivalent" if supports == "eye-head ambivalent" else "unclear"


def found(verdict: bool | None, key: Key, supports: str | None = None) -> Finding:
    return Finding(verdict=verdict, question=QUESTIONS[key], says="", supports=supports)  # type: ignore[arg-type]


def test_type_of_equals_the_decision_tree_of_the_paper_for_all_combinations_of_verdicts() -> None:
    seen = set()
    for gap, *subtests, responsive in itertools.product(ALL, repeat=6):
        for supports in ("head-dominant", "eye-head ambivalent", "neither", None):
            verdicts = {"1": gap, **dict(zip(("2.1", "2.2", "2.3", "2.4"), subtests, strict=True)), "3": responsive}
            findings = {key: found(verdict, key) for key, verdict in verdicts.items()}
            findings["4"] = found(supports == "eye-head ambivalent" if supports else None, "4", supports)
            expected = plain(gap, tuple(subtests), responsive, supports)
            assert type_of(findings.__getitem__) == expected
            seen.add(expected)
    assert seen == set(TYPES) - {"at chance", "constant", "no gap shown"}
    # Three of the four subtests of head bias must be positive.
    assert head_bias({"2.1": True, "2.2": True, "2.3": False, "2.4": False}.get) is False
    assert head_bias(lambda _: None) is None


def test_type_table_has_one_matching_rule_per_combination_of_verdicts_and_one_markdown_line_per_rule() -> None:
    facts = [ALL[:2], ALL[:2], ALL[:2], ("head-dominant", "eye-head ambivalent", "neither")]
    for fact in itertools.product(*facts):
        wanted = [(rule.gap, rule.bias, rule.responsive, rule.supports) for rule in TABLE]
        fits = [row for row in wanted if all(part in (None, one) for part, one in zip(row, fact, strict=True))]
        assert len(fits) == 1
    lines = table_markdown().splitlines()
    assert len(lines) == 2 + len(TABLE)
    assert lines[2].endswith("| **human-level** |")


@pytest.mark.parametrize(
    ("first", "responsive", "supports", "expected"),
    [
        # These rows are from Table 2 of the paper, where all models are positive in tests 1, 2.2, 2.3 and 2.4.
        pytest.param(True, False, "neither", "head-only", id="GazeLLE, GPT-5.2 and Qwen3-VL-30B"),
        pytest.param(True, True, "head-dominant", "head-dominant", id="Moondream2"),
        pytest.param(False, True, "head-dominant", "head-dominant", id="GPT-4o and InternLM"),
        pytest.param(False, True, "neither", "unclear", id="GLM-4.6V-Flash"),
    ],
)
def test_type_of_the_models_of_the_paper_equals_their_published_types(
    first: bool, responsive: bool, supports: str, expected: str
) -> None:
    findings: dict[Key, Finding] = {key: found(True, key) for key in ("1", "2.2", "2.3", "2.4")}  # type: ignore[misc]
    findings |= {"2.1": found(first, "2.1"), "3": found(responsive, "3"), "4": found(False, "4", supports)}
    assert type_of(findings.__getitem__) == expected


def test_type_of_requests_only_the_tests_that_it_needs() -> None:
    findings = {key: found(False, key) for key in QUESTIONS}
    asked: list[str] = []

    def answer(key: Key) -> Finding:
        asked.append(key)
        return findings[key]

    assert type_of(answer) == "human-level"
    assert asked == ["1"]
    findings["1"] = found(True, "1")
    asked.clear()
    assert type_of(answer) == "gap without head bias"
    assert asked == ["1", "2.1", "2.2"]
    findings |= {key: found(True, key) for key in ("2.1", "2.2", "2.3")}  # type: ignore[misc]
    asked.clear()
    assert type_of(answer) == "head-only"
    assert asked == ["1", "2.1", "2.2", "2.3", "3"]

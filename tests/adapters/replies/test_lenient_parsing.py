"""Test the parse policy `lenient` with sets of labeled replies and with arbitrary replies."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

import spotball_adapters
from spotball_adapters.replies import CELL_POLICIES, DEFAULT_POLICY, PROBLEMS, parse_reply
from spotball_core.errors import OptionError
from spotball_core.grid import Grid
from tests.adapters.replies.test_parsing import ANY_TEXT, FINISHES, GRIDS, LONG, SPELLINGS
from tests.conftest import ROOT
from tests.failures import raises

REPLIES = ROOT / "tests/adapters/replies"

STANDARD = Grid.standard()


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def lenient(text: str, finish: Any = "stop", grid: Grid = STANDARD) -> str | None:
    return parse_reply(text, grid, policy="lenient", finish=finish).cell


@pytest.mark.parametrize(
    ("name", "least_read", "most_wrong"),
    [
        ("development", 0.97, 0.0),
        ("development_2", 0.97, 0.0),
        ("development_3", 0.97, 0.0),
        # These replies were not used to develop the parser.
        ("held_out", 0.85, 0.01),
    ],
)
def test_lenient_policy_finds_the_cells_of_most_labeled_replies_with_few_wrong_cells(
    name: str, least_read: float, most_wrong: float
) -> None:
    rows = rows_of(REPLIES / f"{name}.jsonl")
    assert len(rows) >= 150
    found = [(row["answer"], lenient(row["reply"], row["finish"]), row["id"]) for row in rows]
    wrong = [row_id for answer, cell, row_id in found if cell is not None and cell != answer]
    assert len(wrong) <= most_wrong * len(rows), wrong
    readable = [answer == cell for answer, cell, _ in found if answer is not None]
    assert sum(readable) >= least_read * len(readable)


SENTENCES_ABOUT_OTHERS = (
    "The striker in A1 is running.",
    "The referee (A1) watches.",
    "His gaze suggests A1.",
    "If the shot was taken, it would be in A1.",
    "A1 is less likely.",
    "Some might say A1.",
    "Would you like me to explain it?",
)


@pytest.mark.slow
@pytest.mark.parametrize("sentence", SENTENCES_ABOUT_OTHERS)
def test_lenient_policy_with_an_added_unrelated_sentence_returns_the_same_cell_or_none(sentence: str) -> None:
    for row in rows_of(REPLIES / "development_3.jsonl"):
        if row["finish"] == "stop":
            assert lenient(f"{row['reply']}\n\n{sentence}") in (row["answer"], None)
            assert lenient(f"{sentence}\n\n{row['reply']}") in (row["answer"], None)


def test_lenient_policy_returns_the_labeled_answer_of_every_reply_in_phrases_jsonl() -> None:
    rows = rows_of(REPLIES / "phrases.jsonl")
    assert len(rows) > 1000
    assert [row for row in rows if lenient(row["reply"]) != row["answer"]] == []


def test_parse_reply_is_public_and_strict_by_default() -> None:
    assert spotball_adapters.parse_reply is parse_reply
    assert DEFAULT_POLICY == "strict"
    said = "The ball is most likely in D4."
    assert parse_reply(said, STANDARD) == parse_reply(said, STANDARD, policy="strict")
    assert parse_reply(said, STANDARD).problem == "no answer"
    assert parse_reply(said, STANDARD, policy="lenient").cell == "D4"
    with raises(OptionError, "unknown-name"):
        parse_reply(said, STANDARD, policy="loose")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "finish", "problem"),
    [
        ("", "stop", "empty"),
        ("I cannot see a grid.", "stop", "no answer"),
        ("I cannot help with that.", "refused", "refused"),
        ("The player", "length", "cut off"),
        ("Cell: D1", "length", "cut off"),
        ("Cell: Z9", "stop", "outside the grid"),
        ("Either D4 or E5.", "stop", "several answers"),
        ("Cell: D4-D6", "stop", "a range"),
    ],
)
def test_lenient_policy_reports_the_problem_of_an_unparsed_reply(text: str, finish: Any, problem: str) -> None:
    assert parse_reply(text, STANDARD, policy="lenient", finish=finish).problem == problem


@pytest.mark.parametrize(
    ("text", "reasoning"),
    [
        ("Reasoning: They look left.\nCell: D4", "They look left."),
        ("They look left.\n\n**Final answer:** D4", "They look left."),
        ("Cell: D4\nReasoning: They look left.", "They look left."),
        ('{"cell": "D4", "reasoning": "They look left."}', "They look left."),
        ("<think>D5?</think>They look left.\nAnswer: D4", "They look left."),
        ("They look left, so the ball is in D4.", "They look left, so the ball is in D4."),
        ("D4", None),
        ("**D4**.", None),
    ],
)
def test_lenient_policy_returns_the_reasoning_of_the_reply(text: str, reasoning: str | None) -> None:
    parsed = parse_reply(text, STANDARD, policy="lenient")
    assert (parsed.cell, parsed.reasoning) == ("D4", reasoning)


# Properties that hold for every reply ---------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        *("Cell: ", "Answer: ", "D4", "E5", "Z9", "not ", "or ", "actually ", "wait, ", "<think>", "</think>", "if "),
        *("?", ". ", "\n", "\n\n", "1. ", "- ", "| ", "|---|", "50%", "(", ")", '{"cell": "D4"}', '{"a": [', "~~"),
        *("\\boxed{", "}", "row D ", "column 4 ", "the ball is in ", "player ", "球在", "最可能", "गेंद ", "كرة "),
        *("Ｄ４", "D٤", "than ", "e.g. ", "Example:\n"),
    ]
)
REPLY = st.lists(PIECES | st.text(max_size=6), max_size=30).map("".join)


@given(REPLY | ANY_TEXT | st.text(), GRIDS, FINISHES)
def test_lenient_parsing_of_any_reply_returns_a_cell_of_the_grid_or_a_problem(
    text: str, grid: Grid, finish: Any
) -> None:
    parsed = parse_reply(text, grid, policy="lenient", finish=finish)
    assert (parsed.cell is None) == (parsed.problem in PROBLEMS)
    assert parsed.cell is None or parsed.cell in grid.labels


@given(REPLY, st.sampled_from(STANDARD.labels))
def test_lenient_policy_uses_the_final_answer_line_after_any_text(before: str, label: str) -> None:
    assume(not re.search(r"[<\[{]|think", before))
    assert lenient(f"{before}\n\nFinal answer: {label}") == label


@given(GRIDS, st.data())
def test_lenient_policy_reads_every_spelling_of_every_cell(grid: Grid, data: st.DataObject) -> None:
    label = data.draw(st.sampled_from(grid.labels))
    letters, number = re.fullmatch(r"([A-Z]+)(\d+)", label).groups()  # type: ignore[union-attr]
    assume(len(letters) == 1)
    spelling = data.draw(st.sampled_from(SPELLINGS.split("¦")))
    said = spelling.format(row=letters, low=letters.lower(), col=number)
    assert lenient(data.draw(st.sampled_from(["Cell: {}", "Final answer: {}"])).format(said), grid=grid) == label


def test_lenient_policy_distinguishes_a_cell_in_angle_brackets_from_an_html_heading() -> None:
    assert lenient("Cell: <H1>", grid=Grid(8, 32, 640, 360)) == "H1"
    assert lenient("<h1>Answer</h1>Cell: D5") == "D5"


@pytest.mark.parametrize("policy", CELL_POLICIES)
def test_strict_and_lenient_policies_read_cell_and_reasoning_in_the_format_of_the_prompts(policy: Any) -> None:
    for label in STANDARD.labels:
        for line in ("Cell: {}", "**Cell:** {}", "Cell: **{}**."):
            parsed = parse_reply(f"Reasoning: They look left.\n{line.format(label)}", STANDARD, policy=policy)
            assert (parsed.cell, parsed.reasoning) == (label, "They look left.")


# Parts that are repeated to form long replies, separated by ¦.
HARD_UNITS = (
    "a¦\n¦(¦|¦Cell: ¦D4 ¦D4 or ¦(D4)¦D4\n¦- D4\n¦D4 is wrong. ¦D4 but ¦4D¦球在D4¦row D ¦column 4 ¦not ¦most likely ¦"
    '{"a":¦{"cell": "D4"}\n¦<think>¦<a b=¦<|channel|>x¦~~¦**a¦\\text{¦Example:\n¦Reasoning:¦the ball ¦if ¦'
    'player I think ¦| D4 |\n¦(ignore D4¦{"a": [{"b": ¦["¦Wait, ¦the ball a D4 ¦上から¦so it is '
)


@pytest.mark.slow
@pytest.mark.parametrize("unit", HARD_UNITS.split("¦"))
def test_lenient_parsing_of_a_long_repetitive_reply_terminates_with_the_final_answer_or_none(unit: str) -> None:
    parsed = parse_reply(unit * (LONG // len(unit)) + "\n\nFinal answer: D4", STANDARD, policy="lenient")
    assert parsed.cell in ("D4", None)

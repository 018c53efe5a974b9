"""Test the parse policy `strict` with a table of replies and with arbitrary replies."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from hypothesis import assume, example, given, strategies as st

from spotball_adapters.prompts.prompt import BUILT_IN, load_prompt
from spotball_adapters.replies import CELL_POLICIES, PROBLEMS, Parsed, ParsePolicy, parse_reply
from spotball_adapters.replies.lenient import parse_leniently
from spotball_adapters.replies.plain_text import plain
from spotball_adapters.replies.strict import CELL_WORDS, parse_strictly as parse
from spotball_core.grid import Grid
from tests.conftest import ROOT, THOROUGH

REPLIES = tomllib.loads((ROOT / "tests/adapters/replies.toml").read_text(encoding="utf-8"))["reply"]

STANDARD = Grid.standard()


def grid_of(reply: dict[str, Any]) -> Grid:
    rows, cols = reply.get("grid", (6, 10))
    return Grid(rows, cols, 640, 360)


@pytest.mark.parametrize("reply", REPLIES, ids=[f"{i}: {reply['text'][-40:]!r}" for i, reply in enumerate(REPLIES)])
def test_strict_parsing_of_each_reply_in_replies_toml_gives_its_labeled_cell_or_problem(reply: dict[str, Any]) -> None:
    parsed = parse(reply["text"], grid_of(reply), finish=reply.get("finish", "stop"))
    assert (parsed.cell, parsed.problem) == (reply.get("cell"), reply.get("problem"))
    if "reasoning" in reply:
        assert parsed.reasoning == reply["reasoning"]


def test_replies_toml_has_over_200_different_replies_and_covers_every_problem_and_table_of_the_paper() -> None:
    assert len(REPLIES) > 200
    assert len({reply["text"] + reply.get("finish", "") for reply in REPLIES}) == len(REPLIES)
    assert {reply["problem"] for reply in REPLIES if "problem" in reply} == PROBLEMS.keys()
    printed = {match[1] for reply in REPLIES if (match := re.match(r"table (\d)", reply.get("from", "")))}
    assert printed == set("456789")


@pytest.mark.parametrize("word", [word for words in CELL_WORDS.values() for word in words])
@pytest.mark.parametrize("colon", [":", "：", " :", "﹕"])
def test_strict_policy_reads_the_word_cell_in_other_languages(word: str, colon: str) -> None:
    for said in (word, word.upper(), word.capitalize()):
        assert parse(f"They look left.\n{said}{colon} D4", STANDARD).cell == "D4"


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("sign", ["", "> "])
def test_strict_parsing_of_a_reply_that_only_repeats_the_prompt_gives_no_answer(name: str, sign: str) -> None:
    asked = sign + load_prompt(name).text.replace("\n", "\n" + sign)
    assert parse(asked, STANDARD).problem == "no answer"
    assert parse(asked.replace("<", "").replace(">", ""), STANDARD).problem == "no answer"
    assert parse(f"{asked}\nReasoning: They look left.\nCell: D4", STANDARD).cell == "D4"


CONTINUED = {
    "Cell: E6\n\nHuman: what about D4?\n\nAssistant: Cell: B1": "E6",
    "Cell: E6\nUser: next\nCell: B1": "E6",
    "Cell: E6\n\n**User:** thanks\n**Assistant:** Cell: B2": "E6",
    "Cell: E6<|im_end|>\n<|im_start|>user\nAnd now?<|im_end|>\n<|im_start|>assistant\nCell: B1": "E6",
    "Cell: E6<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nwhat about B1?": "E6",
    "Cell: E6\n<end_of_turn>\n<start_of_turn>user\nCell: B1": "E6",
    "Cell: E6\n### Instruction:\nfind it\n### Response:\nCell: B1": "E6",
    "USER: where?\nASSISTANT: Cell: E6\nUSER: and now?\nASSISTANT: Cell: B1": "E6",
    "I cannot tell.\n\nHuman: just guess\n\nAssistant: Cell: B1": None,
}
"""Replies in which the model invented further turns, with the cell in its first turn, or None."""

ONE_TURN = (
    "<think>\nUser: wants the cell. Human: x\n</think>\nCell: E6",
    "User: Where is the ball?\nAssistant: Cell: E6",
    "I see:\nHuman: 3 players on the left\nBall: none\nCell: E6",
    "The ball might be near D5.\nHuman: the striker looks left.\nCell: E6",
    "<|im_start|>assistant\nCell: E6<|im_end|>",
    "<|channel|>analysis<|message|>User: D5?<|end|><|start|>assistant<|channel|>final<|message|>Cell: E6<|return|>",
    "Cell: E6</s>",
)


@pytest.mark.parametrize("policy", CELL_POLICIES)
def test_parse_reply_ignores_turns_that_the_model_invented_and_marks_the_reply_as_continued(
    policy: ParsePolicy,
) -> None:
    for text, cell in CONTINUED.items():
        read = parse_reply(text, STANDARD, policy=policy)
        assert (text, read.cell, read.continued) == (text, cell, True)
    for text in ONE_TURN:
        read = parse_reply(text, STANDARD, policy=policy)
        assert (text, read.cell, read.continued) == (text, "E6", False)


@pytest.mark.parametrize("finish", ["length", "filtered"])
@pytest.mark.parametrize(
    ("said", "rows", "cols", "cell", "ambiguous"),
    [
        ("D1", 6, 10, "D1", True),
        ("D1", 6, 9, "D1", False),
        ("D4", 6, 39, "D4", False),
        ("D4", 6, 40, "D4", True),
        ("4A", 27, 10, "A4", True),
        ("4A", 26, 10, "A4", False),
    ],
)
def test_cut_off_reply_gives_no_cell_if_its_column_number_or_row_letters_may_be_incomplete(
    finish: Any, said: str, rows: int, cols: int, cell: str, ambiguous: bool
) -> None:
    grid = Grid(rows, cols, 640, 360)
    expected = Parsed(None, None, "cut off") if ambiguous else Parsed(cell, None, None)
    assert parse(f"Cell: {said}", grid, finish=finish) == expected
    assert parse(f"Cell: {said}", grid).cell == cell
    assert parse(f"Cell: {said}.", grid, finish=finish).cell == cell


# Properties that hold for every reply ---------------------------------------------------------------------------

GRIDS = st.builds(Grid, st.integers(1, 60), st.integers(1, 60), st.just(640), st.just(360))

# The parts of these texts are separated by ¦.
SPELLINGS = (
    "{row}{col}¦{low}{col}¦{row}-{col}¦{row} {col}¦({row}, {col})¦({low},{col})¦{col}{row}¦({col}, {row})¦"
    "row {row}, column {col}¦Row: {low}; Col: {col}¦column {col}, row {row}¦**{row}{col}**¦`{row}{col}`¦"
    "<{row}{col}>¦[{row}{col}].¦{row}0{col}¦cell {row}{col}¦$\\boxed{{{row}{col}}}$"
)
LABELS = 'Cell: {}¦**Cell:** {}¦cell：{}¦Grid cell guess: Cell: {}¦- Cell: {}\n\n¦{{"cell": "{}"}}¦Cell:\n{}'

WORDS = (
    """Cell: cell Reasoning: D4 d-4 4D (D,4) D E5 10 4 AA Z9 or - to , < > [ ] { } "cell": " ** ` ```"""
    r""" <think> </think> | between the near С4 Ｄ４ ： \n . _ likely ' … row column"""
)
FRAGMENTS = st.sampled_from([*WORDS.split(), "\n", " ", "\t", "\u2028", "row D, column 4"])

ANY_TEXT = st.lists(FRAGMENTS | st.text(max_size=6), max_size=25).map("".join)
FINISHES = st.sampled_from(["stop", "length", "filtered", "refused", "other"])


@given(GRIDS, st.data())
def test_strict_policy_reads_every_spelling_of_every_cell(grid: Grid, data: st.DataObject) -> None:
    label = data.draw(st.sampled_from(grid.labels))
    letters, number = re.fullmatch(r"([A-Z]+)(\d+)", label).groups()  # type: ignore[union-attr]
    spelling = data.draw(st.sampled_from(SPELLINGS.split("¦")))
    assume(len(letters) == 1 or not spelling.startswith("({low}"))  # "(aa,3)" is read as words
    said = spelling.format(row=letters, low=letters.lower(), col=number)
    line = data.draw(
        st.sampled_from([form for form in LABELS.split("¦") if not (form.startswith("{{") and "\\" in said)])
    )
    assert parse(f"They look left.\n{line.format(said)}", grid) == Parsed(label, "They look left.", None)
    if "cell" not in spelling:
        assert parse(said, grid) == Parsed(label, None, None)


@given(ANY_TEXT | st.text(), GRIDS, FINISHES)
def test_strict_parsing_of_any_reply_returns_only_a_cell_that_is_in_the_text(
    text: str, grid: Grid, finish: Any
) -> None:
    parsed = parse(text, grid, finish=finish)
    assert (parsed.cell is None) == (parsed.problem in PROBLEMS)
    if parsed.cell is None:
        return
    assert parsed.cell in grid.labels
    letters, number = re.fullmatch(r"([A-Z]+)(\d+)", parsed.cell).groups()  # type: ignore[union-attr]
    # The text contains the letters and the number as whole tokens, with only these words between them.
    row, col = rf"(?<![A-Z]){letters}(?![A-Z])", rf"(?<![0-9])0*{number}(?![0-9])"
    between = r"[\W_]{0,16}(?:AND|ROW|COL|COLUMN)?[\W_]{0,16}" * 2
    assert re.search(f"{row}{between}{col}|{col}{between}{row}", plain(text).upper())


@given(ANY_TEXT | st.text(), FINISHES)
@example("A0<|d|>D5}refuse", "stop")
def test_lenient_parsing_of_any_reply_has_either_a_cell_or_a_problem(text: str, finish: Any) -> None:
    parsed = parse_leniently(text, STANDARD, finish=finish)
    assert (parsed.cell is None) == (parsed.problem in PROBLEMS)


@given(ANY_TEXT, ANY_TEXT, st.sampled_from(STANDARD.labels))
def test_strict_policy_uses_the_cell_line_regardless_of_text_around_it(before: str, after: str, label: str) -> None:
    assume("{" not in before and "<think" not in before)
    assert parse(f"{before}\n\nReasoning: x\nCell: {label}\n", STANDARD).cell == label
    quiet = re.sub(r"(?i)cell|think|[{}|]", "", plain(after))
    assert parse(f"Cell: {label}\nSo it is.\n{quiet}", STANDARD).cell == label


@given(ANY_TEXT.filter(lambda text: not re.search(r"(?i)cell", plain(text))))
def test_strict_parsing_of_a_sentence_without_the_word_cell_gives_no_cell(text: str) -> None:
    assume("think" not in text)
    assert parse(f"The players are over there. {text}", STANDARD).cell is None


UNITS = (
    'a¦\n¦ ¦(¦4¦*¦|¦Cell: ¦Cell:\n\n¦cell the ¦D4 ¦{¦{"a":¦[{"¦{"cell": "D4"}\n¦<think>¦<think></think>¦Cell: <¦'
    "```\n¦Reasoning:¦row D, ¦Cell: D4 or ¦Cell: Z9\n¦\\n"
)
LONG = 1_000_000 if THOROUGH else 50_000
"""Length of a long reply in characters. A parser with quadratic run time needs minutes even for the shorter length."""


@pytest.mark.parametrize("unit", UNITS.split("¦"))
def test_strict_parsing_of_a_long_repetitive_reply_takes_linear_time(unit: str) -> None:
    parsed = parse(unit * (LONG // len(unit)) + "\nCell: D4", STANDARD)
    assert parsed.cell == (None if unit == "<think>" else "D4")

"""Test which option a reply chooses, with a table of typical replies and with arbitrary texts."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, strategies as st

from spotball_adapters.gaze.options import letters, lines
from spotball_adapters.gaze.prompts import SETS, built_in
from spotball_adapters.gaze.templates import PROBLEMS, How, Match, Problem, match
from spotball_adapters.providers.protocol import Finish

FILE = Path(__file__).with_name("replies.toml")
TABLE: list[dict[str, Any]] = tomllib.loads(FILE.read_text(encoding="utf-8"))["reply"]
OBJECTS = ("kettle", "bunny", "tulips", "bottle")


@pytest.mark.parametrize("row", TABLE, ids=[row["text"][:50] or "nothing" for row in TABLE])
def test_match_of_each_reply_in_replies_toml_gives_its_labeled_choice_or_problem(row: dict[str, Any]) -> None:
    found = match(row["text"], row.get("options", OBJECTS), finish=row.get("finish", "stop"))
    assert found == Match(row.get("choice"), row.get("how"), row.get("problem"))


def test_replies_toml_has_at_least_60_replies_and_covers_every_problem() -> None:
    assert len(TABLE) >= 60
    found = {row["problem"] for row in TABLE if "problem" in row}
    assert found == set(PROBLEMS) - {"not recognizable"}
    assert set(PROBLEMS) == set(get_args(Problem))
    assert {row["how"] for row in TABLE if "how" in row} < set(get_args(How))


def named(text: str, options: list[str], option: str) -> bool:
    """Return whether a text contains the name or letter of an option in any spelling, without using the templates."""

    def same(said: str) -> str:
        said = re.sub(r"<[^<>]*>", " ", unicodedata.normalize("NFKC", said))
        return " ".join(re.sub(r"[\W_]+", " ", said).casefold().split())

    letter = letters(options)[options.index(option)]
    return letter.casefold() in same(text).split() or f" {same(option)} " in f" {same(text)} "


NAMES = st.one_of(
    st.sampled_from(["kettle", "bunny", "wooden hand", "white eraser", "remote_control", "Pen", "a", "B", "camera"]),
    st.text("abcXYZ -_", min_size=1, max_size=12).map(str.strip).filter(lambda name: re.search(r"\w", name)),
)
OPTIONS = st.lists(NAMES, min_size=2, max_size=5, unique=True)
SINGLE = "the a A B C b Answer: option not but or and near . , ? ( ) ** \\boxed{ } I so <think> </think> Ｂ isn't"
WORDS = (*SINGLE.split(), "answer is", "looking at", "cannot tell", "\n")


@given(data=st.data(), options=OPTIONS, finish=st.sampled_from(get_args(Finish)))
def test_match_never_chooses_an_option_that_the_reply_does_not_name(
    data: st.DataObject, options: list[str], finish: Finish
) -> None:
    parts = st.one_of(st.sampled_from(WORDS), st.sampled_from(options), st.text(max_size=5))
    text = data.draw(st.lists(parts, max_size=12).map(" ".join))
    found = match(text, options, finish=finish)
    assert (found.choice is None) == (found.how is None) == (found.problem is not None)
    assert found.choice is None or named(text, options, found.choice)


@given(text=st.text(max_size=200), options=OPTIONS, finish=st.sampled_from(get_args(Finish)))
def test_match_of_arbitrary_text_chooses_only_an_option_that_the_text_names(
    text: str, options: list[str], finish: Finish
) -> None:
    found = match(text, options, finish=finish)
    assert found.choice is None or named(text, options, found.choice)


@given(st.permutations(OBJECTS), st.sampled_from(OBJECTS))
def test_match_by_letter_depends_on_the_option_order_and_match_by_name_does_not(
    options: list[str], chosen: str
) -> None:
    letter = letters(options)[options.index(chosen)]
    assert match(letter, options) == match(f"{letter}. {chosen}", options) == Match(chosen, "letter", None)
    assert match(f"He looks at the {chosen}.", options) == Match(chosen, "name", None)


@given(st.permutations(OBJECTS))
def test_match_of_a_reply_that_only_repeats_the_option_list_chooses_no_option(options: list[str]) -> None:
    assert match(lines(options), options).problem == "several options"


@pytest.mark.parametrize("name", SETS)
def test_match_of_a_reply_that_only_repeats_the_prompt_chooses_no_option(name: str) -> None:
    for prompt in built_in(name):
        asked = prompt.text.format(options=lines(OBJECTS), letters="A, B, C, D", in_order=", ".join(OBJECTS))
        assert match(asked, OBJECTS).choice is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "times", "end"),
    [
        ("answer ", 20_000, ""),
        ("looking at ", 20_000, ""),
        ("A. ", 20_000, ""),
        ("the ", 30_000, "kettle"),
        ("(", 60_000, ""),
        ("not ", 20_000, "B."),
    ],
)
def test_match_of_a_very_long_reply_takes_linear_time(part: str, times: int, end: str) -> None:
    # A match with quadratic run time would take hours for these replies.
    assert isinstance(match(part * times + end, OBJECTS), Match)

"""Prompts: the paper's words, one's own file, and what is filled in."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from spotball_adapters.prompts.prompt import BUILT_IN, Prompt, load_prompt
from spotball_adapters.providers.protocol import Message
from spotball_core.errors import InputError, OptionError

ASKED = (
    "The ball has been removed from this {sport} image. Your task is to infer the most likely location of the ball.\n"
)
FORMAT = (
    "Respond in the following format:\n"
    "Reasoning: <Explain where the ball is likely located and why.>\n"
    "Cell: <What grid cell is the ball most likely located in? Respond with a label like F4.>"
)
CUE = (
    "The location of the players, where they are looking and their positions can help you infer the location of the "
    "ball.\n"
)
OBSERVED = (
    "The ball has been removed from this {sport} image. Here are some observations:\n{context}\n"
    "The above information could help you infer the ball's location.\n"
)
QUESTIONS = (
    "Where are the players located?",
    "Where are the players looking?",
    "How are the players positioned?",
)
PAPER = {
    "base": (ASKED + FORMAT, ()),
    "cue": (ASKED + CUE + FORMAT, ()),
    "cot": (OBSERVED + FORMAT, QUESTIONS),
}

DIGESTS = {
    ("base", "1"): "88ea840362ac2a6919663a6c356cb3ff756c74a68c6b49d66bdb06d244b149f0",
    ("cue", "1"): "8c66aa68713bbf62cb1c47f4b642e60ca7016d861462e0e032de2873ff6304a4",
    ("cot", "1"): "5fe43a5a00929f73984fc225602ec2b48fa37d3d0ae3c7009486b4c8db635c1b",
}
"""What runs have recorded: a text that changes gets another version."""


class TestThePapersPrompts:
    @pytest.mark.parametrize("name", BUILT_IN)
    def test_word_for_word(self, name: str) -> None:
        prompt = load_prompt(name)
        assert (prompt.text, prompt.questions) == PAPER[name]

    @pytest.mark.parametrize("name", BUILT_IN)
    def test_a_versions_text_stays(self, name: str) -> None:
        prompt = load_prompt(name)
        assert DIGESTS[prompt.name, prompt.version] == prompt.digest

    def test_there_are_no_others(self) -> None:
        assert tuple(PAPER) == BUILT_IN

    def test_the_conversations_of_a_chain_of_thought(self) -> None:
        prompt = load_prompt("cot")
        asked = [prompt.question(i) for i in range(len(prompt.questions))]
        assert asked == [(Message("user", question, picture=True),) for question in QUESTIONS]
        (final,) = prompt.final("soccer", ["On the\nleft.", "Up.", "In a row."])
        assert final.role == "user"
        assert final.picture
        assert final.text == (
            "The ball has been removed from this soccer image. Here are some observations:\n"
            "Where are the players located? On the\nleft.\n"
            "Where are the players looking? Up.\n"
            "How are the players positioned? In a row.\n"
            "The above information could help you infer the ball's location.\n" + FORMAT
        )


class TestFilling:
    def test_sport(self) -> None:
        assert load_prompt("base").final("volleyball")[0].text == ASKED.format(sport="volleyball") + FORMAT

    def test_what_is_filled_in_is_not_filled_again(self) -> None:
        prompt = Prompt("mine", "1", "{sport}: {context} {sport}", ("Who?",))
        assert prompt.final("{context}", ["{sport} {context} \\1 {0}"])[0].text == (
            "{context}: Who? {sport} {context} \\1 {0} {context}"
        )

    @given(st.text(min_size=1), st.text())
    def test_any_answer_stands_as_it_is(self, sport: str, answer: str) -> None:
        text = Prompt("mine", "1", "{sport}|{context}|end", ("Who?",)).final(sport, [answer])[0].text
        assert text == sport + "|Who? " + answer + "|end"

    @pytest.mark.parametrize("text", ['{"cell": "D4"} {sport}', "{} {1 2} {a, b} } { {\n}", "a {", "set {A1, A2}"])
    def test_other_braces_are_text(self, text: str) -> None:
        assert Prompt("mine", "1", text).final("soccer")[0].text == text.replace("{sport}", "soccer")

    @pytest.mark.parametrize("answers", [[], ["one"], ["one", "two", "three"]])
    def test_one_answer_for_each_question(self, answers: list[str]) -> None:
        prompt = Prompt("mine", "1", "{context}", ("Who?", "Where?"))
        with pytest.raises(OptionError, match=f"prompt 'mine': found {len(answers)} answers, expected 2"):
            prompt.final("soccer", answers)


class TestDigest:
    def test_it_is_of_what_is_asked(self) -> None:
        prompt = Prompt("mine", "1", "{context}", ("Who?", "Where?"))
        assert dataclasses.replace(prompt, name="yours", version="2").digest == prompt.digest
        others = [
            dataclasses.replace(prompt, text="{context}."),
            dataclasses.replace(prompt, questions=("Where?", "Who?")),
            dataclasses.replace(prompt, questions=("Who?Where?",)),
        ]
        assert len({prompt.digest, *(other.digest for other in others)}) == 4

    def test_any_text_has_one(self) -> None:
        assert len(Prompt("mine", "1", "Où? \ud800 \x00").digest) == 64


FILE = """
name = "mine"
version = "2025-11"
questions = ["Who has the ball?"]
text = '''
In this {sport} image: {context}
Answer {"cell": "D4"}.'''
"""


class TestOnesOwn:
    def test_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        path.write_bytes(b"\xef\xbb\xbf" + FILE.replace("\n", "\r\n").encode())
        prompt = load_prompt(str(path))
        text = 'In this {sport} image: {context}\nAnswer {"cell": "D4"}.'
        assert prompt == Prompt("mine", "2025-11", text, ("Who has the ball?",))

    @pytest.mark.parametrize(
        ("old", "new", "said"),
        [
            ('name = "mine"', "", "name: found nothing, expected a string in quotes"),
            ('name = "mine"', "name = 3", "name: found 3, expected a string in quotes"),
            (
                'name = "mine"',
                'name = ""',
                "name: found '', expected a non-empty text without spaces at its start or end",
            ),
            ('name = "mine"', 'name = "cot"', "name: found 'cot', expected a name that no prompt of the paper has"),
            ('version = "2025-11"', "version = 1.0", "version: found 1.0, expected a string in quotes"),
            (
                "text = ",
                "txt = ",
                "txt: found an unknown field, expected only the fields name, version, text, questions",
            ),
            ("text = ", "txt = ", "text: found nothing, expected a string in quotes"),
            ("{sport}", "{sports}", "text: found {sports}, expected only the placeholders {sport} and {context}"),
            ("{sport}", "{{sport}}", "text: found {{sport}}, expected only the placeholders {sport} and {context}"),
            ("{sport}", "{ sport }", "text: found { sport }, expected only the placeholders {sport} and {context}"),
            ("{context}", "", "text: found a text without {context}, expected the placeholder {context} where"),
            ("questions = ", "#", "text: found {context}, expected no {context}, because the prompt has no questions"),
            ('["Who has the ball?"]', '"Who?"', "questions: found 'Who?', expected a list of strings in quotes"),
            (
                '["Who has the ball?"]',
                '["Who?", " "]',
                "questions, number 2: found nothing, expected the text of the question",
            ),
            ("Who has the ball", "Who plays {sport}", "questions, number 1: found {sport}, expected no placeholder"),
            ("name =", "name", "file: found "),
        ],
    )
    def test_a_file_that_is_no_prompt(self, tmp_path: Path, old: str, new: str, said: str) -> None:
        assert old in FILE
        path = tmp_path / "mine.toml"
        path.write_text(FILE.replace(old, new), encoding="utf-8")
        with pytest.raises(InputError) as error:
            load_prompt(str(path))
        assert f"{path}: {said}" in str(error.value)

    def test_an_empty_text(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        path.write_text('name = "mine"\nversion = "1"\ntext = "\\n"\n', encoding="utf-8")
        with pytest.raises(InputError, match="text: found nothing, expected the text of the prompt"):
            load_prompt(str(path))

    def test_all_that_is_wrong_is_said(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        path.write_text('name = " mine"\nversion = ""\ntext = "{cell} {place} {cell}"\n', encoding="utf-8")
        with pytest.raises(InputError) as error:
            load_prompt(str(path))
        assert [problem.field for problem in error.value.problems] == ["name", "version", "text", "text"]

    def test_no_such_file(self, tmp_path: Path) -> None:
        with pytest.raises(
            OptionError, match=r"unknown prompt .* Available: base, cue, cot, or the path of a prompt file"
        ):
            load_prompt(str(tmp_path / "mine.toml"))

    @pytest.mark.parametrize("content", [b"\xff\xfe", None])
    def test_a_file_that_is_no_text(self, tmp_path: Path, content: bytes | None) -> None:
        path = tmp_path / "mine.toml"
        path.mkdir() if content is None else path.write_bytes(content)
        with pytest.raises(
            InputError, match="expected a readable text file" if content is None else "which is not UTF-8"
        ):
            load_prompt(str(path))

    def test_the_same_holds_in_python(self) -> None:
        with pytest.raises(OptionError, match=r"prompt 'mine': text: found \{cell\}, expected only the placeholders"):
            Prompt("mine", "1", "{cell}")

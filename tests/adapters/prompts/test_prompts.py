"""Test prompts: the text of the paper, prompt files, and placeholders."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from spotball_adapters.prompts.prompt import BUILT_IN, Prompt, load_prompt
from spotball_adapters.providers.protocol import Message
from spotball_core.errors import InputError, OptionError
from tests.failures import raises

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
"""Digests of prompts by name and version. Existing runs have stored them, so a changed text needs a new version."""


class TestPaperPrompts:
    def test_built_in_prompts_have_the_texts_of_the_paper_and_the_known_digests_of_their_versions(self) -> None:
        prompts = {name: load_prompt(name) for name in BUILT_IN}
        assert {name: (prompt.text, prompt.questions) for name, prompt in prompts.items()} == PAPER
        assert {((prompt.name, prompt.version), prompt.digest) for prompt in prompts.values()} <= DIGESTS.items()
        assert tuple(PAPER) == BUILT_IN

    def test_cot_prompt_gives_three_questions_and_a_final_message_with_the_answers(self) -> None:
        prompt = load_prompt("cot")
        asked = [prompt.question(i) for i in range(len(prompt.questions))]
        assert asked == [(Message("user", question, picture=True),) for question in QUESTIONS]
        text = (
            "The ball has been removed from this soccer image. Here are some observations:\n"
            "Where are the players located? On the\nleft.\n"
            "Where are the players looking? Up.\n"
            "How are the players positioned? In a row.\n"
            "The above information could help you infer the ball's location.\n" + FORMAT
        )
        final = prompt.final("soccer", ["On the\nleft.", "Up.", "In a row."])
        assert final == (Message("user", text, picture=True),)


class TestPlaceholders:
    def test_final_does_not_replace_placeholders_in_inserted_text(self) -> None:
        prompt = Prompt("mine", "1", "{sport}: {context} {sport}", ("Who?",))
        assert prompt.final("{context}", ["{sport} {context} \\1 {0}"])[0].text == (
            "{context}: Who? {sport} {context} \\1 {0} {context}"
        )

    @given(st.text(min_size=1), st.text())
    def test_final_inserts_any_answer_unchanged(self, sport: str, answer: str) -> None:
        text = Prompt("mine", "1", "{sport}|{context}|end", ("Who?",)).final(sport, [answer])[0].text
        assert text == sport + "|Who? " + answer + "|end"

    @pytest.mark.parametrize("text", ['{"cell": "D4"} {sport}', "{} {1 2} {a, b} } { {\n}", "a {", "set {A1, A2}"])
    def test_final_leaves_braces_that_are_not_placeholders_unchanged(self, text: str) -> None:
        assert Prompt("mine", "1", text).final("soccer")[0].text == text.replace("{sport}", "soccer")

    @pytest.mark.parametrize("answers", [[], ["one"], ["one", "two", "three"]])
    def test_final_with_a_wrong_number_of_answers_is_an_option_error(self, answers: list[str]) -> None:
        with raises(OptionError, "invalid-option"):
            Prompt("mine", "1", "{context}", ("Who?", "Where?")).final("soccer", answers)


class TestDigest:
    def test_digest_depends_on_text_and_questions_but_not_on_name_and_version(self) -> None:
        prompt = Prompt("mine", "1", "{context}", ("Who?", "Where?"))
        assert dataclasses.replace(prompt, name="yours", version="2").digest == prompt.digest
        changes = {"text": "{context}."}, {"questions": ("Where?", "Who?")}, {"questions": ("Who?Where?",)}
        others = {dataclasses.replace(prompt, **change).digest for change in changes}
        assert len({prompt.digest, *others}) == 4

    def test_digest_accepts_text_with_surrogates_and_nul(self) -> None:
        assert len(Prompt("mine", "1", "Où? \ud800 \x00").digest) == 64


TEXT = 'In this {sport} image: {context}\nAnswer {"cell": "D4"}.'
FILE = f"""
name = "mine"
version = "2025-11"
questions = ["Who has the ball?"]
text = '''
{TEXT}'''
"""


class TestCustomPrompts:
    def test_load_prompt_reads_a_file_with_bom_and_crlf(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        path.write_bytes(b"\xef\xbb\xbf" + FILE.replace("\n", "\r\n").encode())
        assert load_prompt(str(path)) == Prompt("mine", "2025-11", TEXT, ("Who has the ball?",))

    @pytest.mark.parametrize(
        ("old", "new", "where", "found"),
        [
            ('name = "mine"', "", "missing-value:name", ""),
            ('name = "mine"', "name = 3", "invalid-value:name", "3"),
            ('name = "mine"', 'name = ""', "invalid-value:name", "''"),
            ('name = "mine"', 'name = "cot"', "invalid-value:name", "'cot'"),
            ('version = "2025-11"', "version = 1.0", "invalid-value:version", "1.0"),
            ("text = ", "txt = ", "unknown-key:txt", ""),
            ("text = ", "txt = ", "missing-value:text", ""),
            (TEXT, " ", "missing-value:text", ""),
            ("{sport}", "{sports}", "invalid-value:text", "{sports}"),
            ("{sport}", "{{sport}}", "invalid-value:text", "{{sport}}"),
            ("{sport}", "{ sport }", "invalid-value:text", "{ sport }"),
            ("{context}", "", "invalid-value:text", "{context}"),
            ("questions = ", "#", "invalid-value:text", "{context}"),
            ('["Who has the ball?"]', '"Who?"', "invalid-value:questions", "'Who?'"),
            ('["Who has the ball?"]', '["Who?", " "]', "missing-value:questions, number 2", ""),
            ("Who has the ball", "Who plays {sport}", "invalid-value:questions, number 1", "{sport}"),
            ("name =", "name", "invalid-toml:file", ""),
        ],
    )
    def test_load_prompt_of_an_invalid_file_raises_input_error(
        self, tmp_path: Path, old: str, new: str, where: str, found: str
    ) -> None:
        assert old in FILE
        path = tmp_path / "mine.toml"
        path.write_text(FILE.replace(old, new), encoding="utf-8")
        with raises(InputError, where) as error:
            load_prompt(str(path))
        assert error.value.file == str(path)
        assert any(found in one.found for one in error.value.problems if f"{one.code}:{one.field}" == where)

    def test_load_prompt_reports_all_problems_of_a_file(self, tmp_path: Path) -> None:
        path = tmp_path / "mine.toml"
        path.write_text('name = " mine"\nversion = ""\ntext = "{cell} {place} {cell}"\n', encoding="utf-8")
        with pytest.raises(InputError) as error:
            load_prompt(str(path))
        assert [problem.field for problem in error.value.problems] == ["name", "version", "text", "text"]

    def test_load_prompt_of_a_missing_file_a_folder_or_a_non_utf8_file_is_an_error(self, tmp_path: Path) -> None:
        with raises(OptionError, "unknown-name"):
            load_prompt(str(tmp_path / "mine.toml"))
        (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
        for path in (tmp_path, tmp_path / "binary.toml"):
            with raises(InputError, "unreadable-file:file"):
                load_prompt(str(path))

    def test_prompt_constructor_with_an_unknown_placeholder_is_an_option_error(self) -> None:
        with raises(OptionError, "invalid-value"):
            Prompt("mine", "1", "{cell}")

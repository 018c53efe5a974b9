"""Test the validation of answers, `show_if` rules, and errors in questionnaires and quizzes."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from pydantic import ValidationError

from spotball_adapters.study.questions import Number, ShowIf, worded
from spotball_adapters.study.surveys import Questionnaire, Quiz, Surveys, check_answers, faults
from tests.adapters.study.asked import PLAYER, QUESTIONNAIRES, QUIZ, RIGHT, WRONG

PAGES = [Questionnaire.model_validate(one) for one in tomllib.loads(QUESTIONNAIRES)["questionnaires"]]
BACKGROUND, EFFORT = (page.questions for page in PAGES)


def player(**answers: object) -> dict[str, Any]:
    """Return the answers of a participant who has played soccer for three years.

    Keyword arguments replace or add answers.
    """
    return {"plays": "yes", "sports": ["soccer"], "years": 3.0, **answers}


@pytest.mark.parametrize("answers", [PLAYER, {"plays": "no"}, player(sports=["tennis"]), player(years=10.0)])
def test_check_answers_accepts_valid_answers(answers: dict[str, Any]) -> None:
    check_answers(BACKGROUND, answers, {})


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({}, "plays: the answer is missing"),
        ({"plays": "maybe"}, "plays: expected one of yes, no"),
        ({"plays": 1.0}, "plays: expected one of yes, no"),
        ({"plays": ["yes"]}, "plays: expected one of yes, no"),
        ({"plays": "no", "years": 3.0}, "years: expected no answer, because the question is not shown"),
        (player(sports=[]), "sports: expected at least one of"),
        (player(sports=["tennis", "soccer"]), "sports: expected at least one of"),
        (player(sports=["soccer", "soccer"]), "sports: expected at least one of"),
        (player(sports="soccer"), "sports: expected at least one of"),
        (player(years=91.0), "years: expected a number from 0.0 up to 90.0"),
        (player(years="9"), "years: expected a number"),
        (player(years=9.0, how="x"), "how: expected no answer, because the question is not shown"),
        (player(years=10.0, how="x" * 61), "how: expected a text of at most 60"),
        (player(years=10.0, how=" "), "how: expected a text"),
        ({"plays": "no", "secret": "x"}, "secret: unknown question"),
    ],
)
def test_check_answers_with_an_invalid_answer_raises_an_error_that_names_the_question(
    answers: dict[str, Any], says: str
) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(says)):
        check_answers(BACKGROUND, answers, {})


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ({}, "a number"),
        ({"min": 1, "whole": True}, "a whole number from 1.0"),
        ({"max": 5.5}, "a number up to 5.5"),
        ({"min": 1, "max": 5}, "a number from 1.0 up to 5.0"),
    ],
)
def test_number_question_error_states_only_the_limits_that_are_set(limits: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=f"^{says}$"):
        Number.model_validate({"name": "n", "text": "N", "type": "number", **limits}).check("x")


def test_scale_question_accepts_only_whole_numbers_in_range() -> None:
    check_answers(EFFORT, {"hard": 1}, {})
    check_answers(EFFORT, {"hard": 5.0, "why": "small"}, {})
    for wrong in (0, 6, 2.5, True, "3"):
        with pytest.raises(ValueError, match="hard: expected a whole number from 1 to 5"):
            check_answers(EFFORT, {"hard": wrong}, {})


@pytest.mark.parametrize(
    ("rule", "answer", "holds"),
    [
        ({"equals": "a"}, "a", True),
        ({"equals": ["a", "b"]}, "c", False),
        ({"equals": "a"}, ["b", "a"], True),
        ({"differs": "a"}, "b", True),
        ({"differs": "a"}, ["a", "b"], False),
        ({"at_least": 3}, 3, True),
        ({"at_least": 3, "at_most": 4}, 5, False),
        ({"at_most": 3}, 3.5, False),
        ({"equals": "a"}, None, False),
        ({"differs": "a"}, None, False),
    ],
)
def test_show_if_holds_only_for_matching_answers(rule: dict[str, Any], answer: Any, holds: bool) -> None:
    answers = {} if answer is None else {"q": answer}
    assert ShowIf.model_validate({"question": "q", **rule}).holds(answers) is holds


def test_show_if_may_refer_to_an_answer_of_an_earlier_page() -> None:
    shown = {"question": "plays", "equals": "yes"}
    club = {"name": "club", "type": "text", "text": "Which club?", "show_if": shown}
    page = Questionnaire.model_validate({"name": "more", "title": "More", "questions": [club]})
    check_answers(page.questions, {"club": "ours"}, {"plays": "yes"})
    check_answers(page.questions, {}, {"plays": "no"})
    with pytest.raises(ValueError, match="club: the answer is missing"):
        check_answers(page.questions, {}, {"plays": "yes"})


def test_quiz_lists_wrongly_answered_questions_and_its_public_form_omits_the_right_answers() -> None:
    quiz = Quiz.model_validate(tomllib.loads(QUIZ)["quiz"])
    assert quiz.wrong(RIGHT) == []
    assert quiz.wrong(WRONG) == ["task", "cells"]
    assert quiz.wrong({**RIGHT, "cells": ["three cells are chosen"]}) == ["cells"]
    assert "right" not in str(quiz.public("en"))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"right": "goal"}, "the right answers of task to be among its options, but found goal"),
        ({"required": False}, "task to be required and without `show_if`"),
        ({"options": ["the ball"]}, "at least 2 items"),
        ({"options": ["a", "a"], "right": "a"}, "different values"),
        ({"options": ["a|b", "c"], "right": "c"}, "pattern"),
        ({"type": "text"}, "tag 'text'"),
    ],
)
def test_invalid_quiz_is_an_error(changes: dict[str, Any], says: str) -> None:
    fields = tomllib.loads(QUIZ)["quiz"]
    fields["questions"][0] |= changes
    with pytest.raises(ValidationError, match=says):
        Quiz.model_validate(fields)


def test_worded_selects_the_text_by_language() -> None:
    assert worded({"en": "Age", "de": "Alter"}, "de-AT") == "Alter"
    assert worded({"en": "Age", "de-AT": "Alter"}, "de-AT") == "Alter"
    assert worded("Age", "he") == "Age"
    with pytest.raises(ValueError, match="the language he"):
        worded({"en": "Age"}, "he")


def faults_of(text: str, *, language: str = "en") -> list[tuple[str, str, str]]:
    pages = [Questionnaire.model_validate(one) for one in tomllib.loads(text)["questionnaires"]]
    return list(faults(Surveys(tuple(pages)), language))


def test_faults_of_questionnaires_report_the_field_the_found_value_and_the_expected_value() -> None:
    first, second = "questionnaires.1.questions", "questionnaires.2.questions"
    assert not faults_of(QUESTIONNAIRES)
    no_hebrew = ("questionnaires.1", "texts in en, de", "a text in the language he")
    assert faults_of(QUESTIONNAIRES, language="he") == [no_hebrew]

    def changed(before: str, after: str) -> list[tuple[str, str, str]]:
        return faults_of(QUESTIONNAIRES.replace(before, after))

    again = (f"{second}.2.name", "plays again", "a name that no other question has")
    assert changed('name = "why"', 'name = "plays"') == [again]
    assert [field for field, *_ in changed('name = "why"', 'name = "participant"')] == [f"{second}.2.name"]
    later = (f"{first}.4.show_if", "the question hard", "the name of an earlier question")
    assert changed('question = "years"', 'question = "hard"') == [later]
    assert (f"{first}.2.show_if", "often", "an option of plays") in changed('equals = "yes"', 'equals = "often"')
    number = "`at_least` or `at_most`, because years is a number"
    assert [expected for *_, expected in changed("at_least = 10", 'equals = "10"')] == [number]
    assert changed('equals = "yes"', "at_least = 1")[0][2] == "`equals` or `differs`, because plays has options"


def test_questionnaire_shown_after_the_images_may_come_before_those_it_refers_to_in_the_file() -> None:
    first, name, second = QUESTIONNAIRES.partition('[[questionnaires]]\nname = "effort"')
    earlier = second.replace('question = "hard", at_least = 4', 'question = "plays", equals = "no"')
    assert not faults_of(name + earlier + first)

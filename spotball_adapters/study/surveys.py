"""Define questionnaires and the comprehension quiz, and check their definitions and participants' answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, PositiveInt, model_validator

from spotball_adapters.study.questions import (
    Answers,
    MultipleChoice,
    Question,
    QuestionName,
    ShortText,
    ShowIf,
    SingleChoice,
    Value,
    Wording,
    as_list,
    worded,
)
from spotball_core.schema.record import Record

PARTICIPANT = "participant"
"""Name of the first column of questionnaires.csv."""


class Questionnaire(Record):
    """A page of questions, which is shown before the instructions or after the images.

    Attributes:
        name: name of the questionnaire in stored events.
        when: `before` the instructions or `after` the images.
        text: text above the questions, or None.
    """

    name: QuestionName
    when: Literal["before", "after"] = "before"
    title: Wording
    text: Wording | None = None
    questions: Annotated[tuple[Question, ...], Field(min_length=1, max_length=100)]

    def public(self, language: str) -> dict[str, Any]:
        """Return the questionnaire as JSON values, with its texts in the given language, as the page needs them."""
        return {
            "name": self.name,
            "when": self.when,
            "title": worded(self.title, language),
            "text": None if self.text is None else worded(self.text, language),
            "questions": [question.public(language) for question in self.questions],
        }


class QuizChoice(SingleChoice):
    """A quiz question with one correct option."""

    right: Value


class QuizChoices(MultipleChoice):
    """A quiz question with one or more correct options. An answer is correct if it contains exactly these options."""

    right: Annotated[tuple[Value, ...], BeforeValidator(as_list), Field(min_length=1)]


QuizQuestion = Annotated[QuizChoice | QuizChoices, Field(discriminator="type")]


class Quiz(Record):
    """Questions about the instructions, which a participant must answer correctly before the images are shown.

    Attributes:
        attempts: number of attempts that a participant has.
        failure: what happens after a wrong last attempt: the participant reads the instructions again and gets new
            attempts (`instructions`), or the participation ends (`screened-out`).
        text: text above the questions, or None.
    """

    attempts: Annotated[PositiveInt, Field(le=20)] = 2
    failure: Literal["instructions", "screened-out"] = "screened-out"
    text: Wording | None = None
    questions: Annotated[tuple[QuizQuestion, ...], Field(min_length=1, max_length=20)]

    @model_validator(mode="after")
    def _answerable(self) -> Quiz:
        for question in self.questions:
            right = (question.right,) if isinstance(question, QuizChoice) else question.right
            if unknown := [value for value in right if value not in question.values]:
                raise ValueError(
                    f"expected the right answers of {question.name} to be among its options, but found {unknown[0]}"
                )
            if question.show_if is not None or not question.required:
                raise ValueError(f"expected {question.name} to be required and without `show_if`")
        return self

    def wrong(self, answers: Answers) -> list[str]:
        """Return the names of the questions whose answers are wrong or missing."""
        return [
            question.name
            for question in self.questions
            if not (
                answers.get(question.name) == question.right
                if isinstance(question, QuizChoice)
                else set(answers.get(question.name, ())) == set(question.right)  # type: ignore[arg-type]
            )
        ]

    def public(self, language: str) -> dict[str, Any]:
        """Return the quiz as JSON values for the page, with its texts in the given language and without the correct
        answers.
        """
        return {
            "attempts": self.attempts,
            "failure": self.failure,
            "text": None if self.text is None else worded(self.text, language),
            "questions": [question.public(language) for question in self.questions],
        }


@dataclass(frozen=True, slots=True)
class Surveys:
    """The questionnaires and the quiz of a study. `quiz` is None if the study has no quiz."""

    questionnaires: tuple[Questionnaire, ...] = ()
    quiz: Quiz | None = None

    def at(self, when: str) -> tuple[Questionnaire, ...]:
        """Return the questionnaires that are shown `before` the instructions or `after` the images."""
        return tuple(questionnaire for questionnaire in self.questionnaires if questionnaire.when == when)


NO_SURVEYS = Surveys()


def check_answers(questions: Sequence[Question], answers: Answers, earlier: Answers) -> None:
    """Check the answers to the questions of one page.

    Args:
        questions: questions of the page.
        answers: answers to these questions, by question name.
        earlier: answers to earlier pages, by question name.

    Raises:
        ValueError: if an answer is missing or invalid, or belongs to a question that is unknown or not shown. The
            message names the question.
    """
    known = dict(earlier)
    for question in questions:
        is_shown = question.show_if is None or question.show_if.holds(known)
        if question.name not in answers:
            if is_shown and question.required:
                raise ValueError(f"{question.name}: the answer is missing")
            continue
        if not is_shown:
            raise ValueError(f"{question.name}: expected no answer, because the question is not shown")
        try:
            question.check(answers[question.name])
        except ValueError as error:
            raise ValueError(f"{question.name}: expected {error}") from error
        known[question.name] = answers[question.name]
    if unknown := sorted(set(answers) - {question.name for question in questions}):
        raise ValueError(f"{unknown[0]}: unknown question")


def faults(surveys: Surveys, language: str) -> Iterator[tuple[str, str, str]]:
    """Yield each problem in the definitions of a study's questionnaires and quiz as (field, value found, value
    expected).
    """
    pages: list[tuple[str, Questionnaire | Quiz]] = [
        (f"questionnaires.{number}", questionnaire)
        for number, questionnaire in enumerate(surveys.questionnaires, start=1)
    ]
    pages += [("quiz", surveys.quiz)] if surveys.quiz else []
    names = [questionnaire.name for questionnaire in surveys.questionnaires]
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        yield "questionnaires", f"{name} twice", "a different name for each questionnaire"
    # Participants see the questionnaires before the instructions first, in any order of the file.
    shown = [*surveys.at("before"), *surveys.at("after")]
    before: dict[str, Question] = {}
    places = {page.name: place for place, page in pages if isinstance(page, Questionnaire)}
    for questionnaire in shown:
        for number, question in enumerate(questionnaire.questions, start=1):
            place = f"{places[questionnaire.name]}.questions.{number}"
            if question.name == PARTICIPANT:
                yield (
                    f"{place}.name",
                    PARTICIPANT,
                    "a different name, because exported tables have a column with this name",
                )
            if question.name in before:
                yield f"{place}.name", f"{question.name} again", "a name that no other question has"
            if question.show_if is not None:
                yield from _rule_faults(f"{place}.show_if", question.show_if, before)
            before[question.name] = question
    for place, page in pages:
        wordings: list[str | dict[str, str] | None] = [page.text]
        wordings += [page.title] if isinstance(page, Questionnaire) else []
        wordings += [text for question in page.questions for text in question.words()]
        for wording in wordings:
            if isinstance(wording, dict):
                try:
                    worded(wording, language)
                except ValueError as error:
                    yield place, f"texts in {', '.join(wording)}", str(error)
                    break


def _rule_faults(place: str, rule: ShowIf, before: Mapping[str, Question]) -> Iterator[tuple[str, str, str]]:
    question = before.get(rule.question)
    if question is None:
        yield place, f"the question {rule.question}", "the name of an earlier question"
    elif isinstance(question, SingleChoice | MultipleChoice):
        if rule.at_least is not None or rule.at_most is not None:
            yield place, "`at_least` or `at_most`", f"`equals` or `differs`, because {rule.question} has options"
        for value in (*rule.equals, *rule.differs):
            if value not in question.values:
                yield place, value, f"an option of {rule.question}"
    elif isinstance(question, ShortText) or rule.equals or rule.differs:
        is_text = isinstance(question, ShortText)
        expected = (
            "a question whose type is not `text`"
            if is_text
            else f"`at_least` or `at_most`, because {rule.question} is a number"
        )
        yield place, rule.question if is_text else "`equals` or `differs`", expected

"""Define the types of questions: their fields, when a question is shown, and which answers are valid.

The page applies the same rules in `server/page/questions.js`. The server checks every answer that it receives.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from spotball_core.schema.record import Record

Answer = str | float | Sequence[str]
"""An answer: the value of the chosen option, a number, a text, or the values of several chosen options."""

Answers = Mapping[str, Answer]
"""Answers by question name. Questions without an answer have no entry."""

MAX_TEXT = 2000
"""Maximum number of characters of a text answer."""

SEPARATOR = " | "
"""Separator between the values of several chosen options in an exported table cell."""

_Sentence = Annotated[str, StringConstraints(min_length=1, max_length=2000, strip_whitespace=True)]
Wording = _Sentence | Annotated[dict[str, _Sentence], Field(min_length=1)]
"""A text in the study's language, or one text per language code, such as {en = "Age", de = "Alter"}."""

QuestionName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,49}$")]
Value = Annotated[
    str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^|\x00-\x1f]+$", strip_whitespace=True)
]


def worded(wording: str | Mapping[str, str], language: str) -> str:
    """Return a text in the given language. If it is missing, use the language without region: `de` for `de-AT`.

    A text without language codes is returned unchanged.

    Raises:
        ValueError: if there is no text in this language.

    Examples:
        >>> worded({"en": "Age", "de": "Alter"}, "de-AT")
        'Alter'
    """
    if isinstance(wording, str):
        return wording
    for code in (language, language.split("-")[0]):
        if code in wording:
            return wording[code]
    raise ValueError(f"a text in the language {language}")


def as_list(value: Any) -> Any:
    """Return a list with the value if it is a text or a number; return any other value unchanged."""
    return [value] if isinstance(value, str | int | float) else value


class ShowIf(Record):
    """A condition for showing a question, which the answer to an earlier question must meet.

    Attributes:
        question: name of the earlier question.
        equals: values of options, at least one of which must be chosen.
        differs: values of options, none of which may be chosen.
        at_least: smallest number that meets the condition, if the answer is a number.
        at_most: largest number that meets the condition, if the answer is a number.
    """

    question: QuestionName
    equals: Annotated[tuple[Value, ...], BeforeValidator(as_list)] = ()
    differs: Annotated[tuple[Value, ...], BeforeValidator(as_list)] = ()
    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def _some(self) -> ShowIf:
        if not (self.equals or self.differs or self.at_least is not None or self.at_most is not None):
            raise ValueError("expected `equals`, `differs`, `at_least` or `at_most`")
        return self

    def holds(self, answers: Answers) -> bool:
        """Return whether the earlier question has an answer that meets the condition."""
        answer = answers.get(self.question)
        if answer is None:
            return False
        if isinstance(answer, int | float):
            return (self.at_least is None or answer >= self.at_least) and (
                self.at_most is None or answer <= self.at_most
            )
        chosen = {answer} if isinstance(answer, str) else set(answer)
        return (not self.equals or bool(chosen & set(self.equals))) and not chosen & set(self.differs)


class Option(Record):
    """An option of a question: the stored value, and the text that participants read (default: the value)."""

    value: Value
    text: Wording | None = None


def _option(value: Any) -> Any:
    return {"value": value} if isinstance(value, str | int | float) else value


Options = Annotated[tuple[Annotated[Option, BeforeValidator(_option)], ...], Field(min_length=2, max_length=50)]


class _Question(Record):
    """Fields and methods that all question types have."""

    name: QuestionName
    text: Wording
    required: bool = True
    show_if: ShowIf | None = None

    def words(self) -> Iterator[str | dict[str, str]]:
        """Yield every text of the question that is shown to participants."""
        yield self.text

    @abstractmethod
    def check(self, answer: Answer) -> None:
        """Check an answer. If it is invalid, raise a ValueError that describes the expected answer."""

    def public(self, language: str) -> dict[str, Any]:
        """Return the question as JSON values, with its texts in the given language, as the page needs them."""
        shown = self.model_dump(mode="json", include={"name", "type", "required", "show_if"})
        return {**shown, "text": worded(self.text, language)}


class _WithOptions(_Question):
    options: Options

    @model_validator(mode="after")
    def _distinct(self) -> _WithOptions:
        values = [option.value for option in self.options]
        if len(set(values)) < len(values):
            raise ValueError("expected different values")
        return self

    @property
    def values(self) -> tuple[str, ...]:
        """Return the values of the options."""
        return tuple(option.value for option in self.options)

    def words(self) -> Iterator[str | dict[str, str]]:
        """See `_Question`."""
        yield self.text
        yield from (option.text for option in self.options if option.text is not None)

    def public(self, language: str) -> dict[str, Any]:
        """See `_Question`."""
        options = [
            {"value": option.value, "text": worded(option.text or option.value, language)} for option in self.options
        ]
        return {**super().public(language), "options": options}


class SingleChoice(_WithOptions):
    """A question that is answered by choosing one option."""

    type: Literal["choice"] = "choice"

    def check(self, answer: Answer) -> None:
        """See `_Question`."""
        if not isinstance(answer, str) or answer not in self.values:
            raise ValueError(f"one of {', '.join(self.values)}")


class MultipleChoice(_WithOptions):
    """A question that is answered by choosing any number of options; at least one if an answer is required."""

    type: Literal["choices"] = "choices"

    def check(self, answer: Answer) -> None:
        """See `_Question`."""
        chosen = () if isinstance(answer, str | int | float) else tuple(answer)
        # In the order of the options, so that equal answers are stored in the same way.
        if not chosen or list(chosen) != [value for value in self.values if value in chosen]:
            raise ValueError(f"at least one of {', '.join(self.values)}, in this order")


class Scale(_Question):
    """A question that is answered by choosing a whole number on a scale with labeled ends."""

    type: Literal["scale"] = "scale"
    min: Annotated[int, Field(ge=-100, le=100)] = 1
    max: Annotated[int, Field(ge=-100, le=100)] = 7
    low: Wording | None = None
    high: Wording | None = None

    @model_validator(mode="after")
    def _rising(self) -> Scale:
        if not 1 <= self.max - self.min <= 20:
            raise ValueError("expected `max` to be 1 to 20 above `min`")
        return self

    def words(self) -> Iterator[str | dict[str, str]]:
        """See `_Question`."""
        yield from (text for text in (self.text, self.low, self.high) if text is not None)

    def check(self, answer: Answer) -> None:
        """See `_Question`."""
        if not _is_number(answer) or answer not in range(self.min, self.max + 1):
            raise ValueError(f"a whole number from {self.min} to {self.max}")

    def public(self, language: str) -> dict[str, Any]:
        """See `_Question`."""
        ends = {name: worded(text, language) for name in ("low", "high") if (text := getattr(self, name)) is not None}
        return {**super().public(language), "min": self.min, "max": self.max, **ends}


class Number(_Question):
    """A question that is answered by typing a number."""

    type: Literal["number"] = "number"
    min: float | None = None
    max: float | None = None
    whole: bool = False

    @model_validator(mode="after")
    def _rising(self) -> Number:
        if self.min is not None and self.max is not None and self.max < self.min:
            raise ValueError("expected `max` to be at least `min`")
        return self

    def check(self, answer: Answer) -> None:
        """See `_Question`."""
        is_inside = _is_number(answer) and not (
            (self.min is not None and answer < self.min)  # type: ignore[operator]
            or (self.max is not None and answer > self.max)  # type: ignore[operator]
        )
        if not is_inside or (self.whole and answer != int(answer)):  # type: ignore[arg-type]
            kind = "a whole number" if self.whole else "a number"
            limits = [f"{word} {end}" for word, end in (("from", self.min), ("up to", self.max)) if end is not None]
            raise ValueError(" ".join([kind, *limits]))

    def public(self, language: str) -> dict[str, Any]:
        """See `_Question`."""
        return {**super().public(language), "min": self.min, "max": self.max, "whole": self.whole}


class ShortText(_Question):
    """A question that is answered by typing a text."""

    type: Literal["text"] = "text"
    max_length: Annotated[int, Field(ge=1, le=MAX_TEXT)] = 200

    def check(self, answer: Answer) -> None:
        """See `_Question`."""
        if not isinstance(answer, str) or not answer.strip() or len(answer) > self.max_length:
            raise ValueError(f"a text of at most {self.max_length} characters")

    def public(self, language: str) -> dict[str, Any]:
        """See `_Question`."""
        return {**super().public(language), "max_length": self.max_length}


Question = Annotated[SingleChoice | MultipleChoice | Scale | Number | ShortText, Field(discriminator="type")]


def _is_number(answer: object) -> bool:
    return isinstance(answer, int | float) and not isinstance(answer, bool)

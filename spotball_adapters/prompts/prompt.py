"""Prompts: the three prompts of the paper, and your own prompts from TOML files.

A prompt has a text and a version. A run records the version and the hash of the text.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from spotball_adapters.providers.protocol import Message
from spotball_core.errors import Fault, InputError, OptionError, unknown_name
from spotball_core.schema.scene import Scene
from spotball_core.service.toml_file import read_toml

BUILT_IN = ("base", "cue", "cot")
"""Names of the paper's prompts (Spot the Ball, supplementary material, section 7)."""

_PLACEHOLDER = re.compile(r"\{(sport|context)\}")
# A single word in any number of braces, with or without blanks, is meant as a placeholder. Other braces are text.
_WORD_IN_BRACES = re.compile(r"\{++\s*+\w++\s*+\}++")


@dataclass(frozen=True, slots=True)
class Prompt:
    """The text that asks a model about an image.

    Attributes:
        name: name of the prompt in a run and its responses.
        version: version of the text.
        text: the final message. `{sport}` stands for the sport, `{context}` for the answers to the questions.
        questions: questions that are asked first, one by one with the image, each in its own conversation.

    Raises:
        OptionError: if the name, version, text or a question is empty; if the text has a word in braces other than
            `{sport}` and `{context}`; if a question has a word in braces; or if the text has `{context}` but there are
            no questions, or the reverse.

    Examples:
        >>> prompt = Prompt("mine", "1", "Where is the ball in this {sport} image? Answer like {\\"cell\\": \\"D4\\"}.")
        >>> prompt.final("soccer")[0].text
        'Where is the ball in this soccer image? Answer like {"cell": "D4"}.'
    """

    name: str
    version: str
    text: str
    questions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if faults := list(_faults(self.name, self.version, self.text, self.questions)):
            raise OptionError(f"prompt {self.name!r}: {'; '.join(map(str, faults))}", code=faults[0].code)

    @property
    def digest(self) -> str:
        """Return the SHA-256 of the text and the questions in hexadecimal. It does not depend on name and version."""
        content = json.dumps({"questions": self.questions, "text": self.text}, sort_keys=True)
        return hashlib.sha256(content.encode("ascii")).hexdigest()

    def question(self, index: int) -> tuple[Message, ...]:
        """Return the conversation that asks question `index` (zero-based)."""
        return (Message("user", self.questions[index], picture=True),)

    def final(self, sport: str, answers: Sequence[str] = ()) -> tuple[Message, ...]:
        """Return the conversation that asks for the cell.

        Args:
            sport: replaces `{sport}`.
            answers: answers to the questions, in order. `{context}` becomes one line per question: the question, a
                blank and the answer, as in the published analysis. Braces in an answer are kept.

        Raises:
            OptionError: if the number of answers differs from the number of questions.

        Examples:
            >>> prompt = Prompt("mine", "1", "In this {sport} image: {context} Where is it?", ("Who plays?",))
            >>> prompt.final("soccer", ["Two teams."])[0].text
            'In this soccer image: Who plays? Two teams. Where is it?'
        """
        if len(answers) != len(self.questions):
            raise OptionError(f"prompt {self.name!r}: found {len(answers)} answers, expected {len(self.questions)}")
        pairs = zip(self.questions, answers, strict=True)
        filled = {"sport": sport, "context": "\n".join(f"{question} {answer}" for question, answer in pairs)}
        text = _PLACEHOLDER.sub(lambda match: filled[match[1]], self.text)
        return (Message("user", text, picture=True),)

    def last(self, item: Scene, sample: int, answers: Sequence[str] = ()) -> tuple[Message, ...]:
        """Return the conversation that asks for the ball's cell in a scene. `sample` has no effect."""
        return self.final(item.sport, answers)


def load_prompt(name_or_path: str) -> Prompt:
    """Load a prompt of the paper by its name, or your own prompt from a TOML file.

    A file has the fields `name`, `version`, `text` and optionally `questions`. The field `name` must not be the name of
    a prompt of the paper, so that their results cannot be confused.

    Raises:
        OptionError: if `name_or_path` is neither the name of a prompt of the paper nor an existing file.
        InputError: if the file is not a valid prompt. The error lists all problems.

    Examples:
        >>> load_prompt("cot").questions[0]
        'Where are the players located?'
    """
    if name_or_path in BUILT_IN:
        text = files("spotball_adapters.prompts").joinpath("texts", f"{name_or_path}.toml").read_text(encoding="utf-8")
        return _prompt(tomllib.loads(text))
    path = Path(name_or_path)
    if not path.exists():
        raise OptionError(
            f"{unknown_name('prompt', str(name_or_path), BUILT_IN)}, or the path of a prompt file", code="unknown-name"
        )
    fields = read_toml(path, "a prompt")
    if problems := list(_problems(fields)):
        raise InputError(fault.in_file(path) for fault in problems)
    return _prompt(fields)


def _prompt(fields: dict[str, Any]) -> Prompt:
    return Prompt(fields["name"], fields["version"], fields["text"], tuple(fields.get("questions", ())))


def _problems(fields: dict[str, Any]) -> list[Fault]:
    """Return the problems with the fields of a prompt file."""
    known_fields = ("name", "version", "text", "questions")
    faults = [
        Fault(field, "an unknown field", f"only the fields {', '.join(known_fields)}", "unknown-key")
        for field in fields
        if field not in known_fields
    ]
    for field in ("name", "version", "text"):
        if field not in fields:
            faults.append(Fault(field, "nothing", "a string in quotes", "missing-value"))
        elif not isinstance(fields[field], str):
            faults.append(Fault(field, repr(fields[field]), "a string in quotes"))
    questions = fields.get("questions", [])
    if not isinstance(questions, list) or not all(isinstance(question, str) for question in questions):
        faults.append(Fault("questions", repr(questions), "a list of strings in quotes"))
    if faults:
        return faults
    if fields["name"] in BUILT_IN:
        faults.append(Fault("name", repr(fields["name"]), "a name that no prompt of the paper has"))
    return faults + _faults(fields["name"], fields["version"], fields["text"], questions)


def _faults(name: str, version: str, text: str, questions: Sequence[str]) -> list[Fault]:
    """Return the problems with a prompt."""
    faults = [
        Fault(field, repr(value), "a non-empty text without spaces at its start or end")
        for field, value in (("name", name), ("version", version))
        if not value or value != value.strip()
    ]
    if not text.strip():
        faults.append(Fault("text", "nothing", "the text of the prompt", "missing-value"))
    faults += [
        Fault("text", word, "only the placeholders {sport} and {context}")
        for word in dict.fromkeys(_WORD_IN_BRACES.findall(text))
        if not _PLACEHOLDER.fullmatch(word)
    ]
    for i, question in enumerate(questions, start=1):
        if not question.strip():
            faults.append(Fault(f"questions, number {i}", "nothing", "the text of the question", "missing-value"))
        if word := _WORD_IN_BRACES.search(question):
            faults.append(
                Fault(f"questions, number {i}", word[0], "no placeholder, because questions are sent unchanged")
            )
    if questions and "{context}" not in text:
        faults.append(Fault("text", "a text without {context}", "the placeholder {context} where the answers belong"))
    if not questions and "{context}" in text:
        faults.append(Fault("text", "{context}", "no {context}, because the prompt has no questions"))
    return faults

"""The result of parsing a reply, and the reasons why a reply is unparsed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from spotball_adapters.providers.protocol import Finish
from spotball_adapters.replies.cell_text import ReadCell

Problem = Literal[
    "empty",
    "no answer",
    "several answers",
    "a range",
    "outside the grid",
    "cut off",
    "refused",
    "filtered",
]

PROBLEMS: dict[Problem, str] = {
    "empty": "the reply has no text",
    "no answer": "the reply states no answer that the parse policy can read",
    "several answers": "the answer names more than one cell",
    "a range": "the answer names a range of cells",
    "outside the grid": "the answer names a cell outside the grid",
    "cut off": "the reply reached its length limit before or within its answer",
    "refused": "the model declined to answer",
    "filtered": "a filter withheld the reply or its answer",
}
"""Reasons why a reply is unparsed, with descriptions."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """The result of parsing a reply.

    Attributes:
        cell: the label of the answer, or None if the reply is unparsed.
        reasoning: the text after `Reasoning:` up to the answer, or the text before the answer if the word is missing,
            or None without such text.
        problem: why the reply is unparsed, a key of `PROBLEMS`, or None if it is parsed.
        continued: whether the model wrote further turns of a conversation, which were ignored.
    """

    cell: str | None
    reasoning: str | None
    problem: Problem | None
    continued: bool = False


def parsed(result: ReadCell, reasoning: str | None, text: str, finish: Finish) -> Parsed:
    """Return the result of parsing a reply. If it has no answer, the problem depends on why the reply ended.

    Args:
        result: the cell that was read, or the reason why it is missing.
        reasoning: see `Parsed.reasoning`.
        text: the whole reply.
        finish: why the reply ended.
    """
    problem: Problem | None = result.problem
    if problem == "no answer":
        problem = _FINISHED_EARLY.get(finish, "no answer" if text.strip() else "empty")
    return Parsed(result.cell, reasoning, problem)


_FINISHED_EARLY: dict[Finish, Problem] = {"length": "cut off", "filtered": "filtered", "refused": "refused"}

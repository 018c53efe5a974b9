"""Match a reply to an option by letter or name, using templates. If the choice is unclear, the reply stays unmatched.

An answer is a letter or a name in the position of an answer: at the start, on its own line, after "the answer is", or
after "she is looking at". If a reply has no such answer but mentions exactly one option, that option is used. An option
is ignored if the reply denies it, asks about it, or only says that it is near the target. If the letter and the name in
a reply belong to different options, neither is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from spotball_adapters.gaze.mentions import mentions
from spotball_adapters.providers.protocol import Finish
from spotball_adapters.replies.plain_text import plain, without_thinking

How = Literal["letter", "name", "judge", "manual"]
"""How a reply was matched: by an option's letter, by its name, by a judge model, or by a person."""

Problem = Literal[
    "empty",
    "no option",
    "several options",
    "letter and name differ",
    "denied",
    "cut off",
    "refused",
    "filtered",
    "not recognizable",
]

PROBLEMS: dict[Problem, str] = {
    "empty": "the reply has no text",
    "no option": "the reply does not name an option",
    "several options": "the reply names several options and does not choose one of them",
    "letter and name differ": "the letter and the name in the reply belong to different options",
    "denied": "the reply only denies options, asks about them, or says that they are near the target",
    "cut off": "the reply reached its length limit before or within its answer",
    "refused": "the model declined to answer and did not name an option",
    "filtered": "a filter withheld the reply or its answer",
    "not recognizable": "a person read the reply and could not identify the chosen option",
}
"""Reasons why a reply is unmatched, with descriptions."""

_FINISHED_EARLY: dict[Finish, Problem] = {"length": "cut off", "filtered": "filtered", "refused": "refused"}


@dataclass(frozen=True, slots=True)
class Match:
    """The option that a reply chooses, or the reason why the reply is unmatched.

    Attributes:
        choice: the option, or None if the reply is unmatched.
        how: how the reply was matched, or None if it is unmatched.
        problem: why the reply is unmatched, as a key of `PROBLEMS`, or None if it is matched.
    """

    choice: str | None
    how: How | None
    problem: Problem | None


def match(text: str, options: Sequence[str], *, finish: Finish = "stop") -> Match:
    """Return the option that a reply chooses, or the reason why the reply is unmatched.

    Args:
        text: the unchanged text. Reasoning in `<think>` or similar tags is ignored.
        options: the options in the order in which they were listed, from A.
        finish: why the reply ended, for example `stop` or `length`.

    Examples:
        >>> match("B", ["keys", "bottle"])
        Match(choice='bottle', how='letter', problem=None)
        >>> match("She is looking at the keys.", ["keys", "bottle"])
        Match(choice='keys', how='name', problem=None)
        >>> match("It is not the keys.", ["keys", "bottle"]).problem
        'denied'
    """
    answer_text = plain(without_thinking(text))
    mentioned = mentions(answer_text, tuple(options), unfinished=finish in ("length", "filtered"))
    answers = [mention for mention in mentioned if mention.answers and not mention.denied] or mentioned
    chosen = {mention.option for mention in answers}
    if len(chosen) > 1:
        by_kind = [{mention.option for mention in answers if mention.kind == kind} for kind in ("letter", "name")]
        each_one = all(len(kind) == 1 for kind in by_kind)
        return Match(None, None, "letter and name differ" if each_one else "several options")
    if any(mention.denied for mention in answers):
        return Match(None, None, "denied")
    if not answers:
        early = _FINISHED_EARLY.get(finish)
        return Match(None, None, early or ("no option" if text.strip() else "empty"))
    (option,) = chosen
    for kind in ("letter", "name"):
        same_kind = {mention.option for mention in mentioned if mention.kind == kind and not mention.denied}
        if same_kind and option not in same_kind:
            return Match(None, None, "letter and name differ")
    by_letter = any(mention.kind == "letter" for mention in answers)
    return Match(options[option], "letter" if by_letter else "name", None)

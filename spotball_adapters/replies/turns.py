"""Find the end of a reply whose model goes on and writes the next turns of the conversation itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from spotball_adapters.providers.protocol import Finish
from spotball_adapters.replies.result import Parsed

# Chat templates put these markers after the reply. Those of channels (`<|channel|>`, `<|end|>`) are part of a reply.
_MARKER = r"<\|(?:im_end|im_start|eot_id|endoftext|end_of_text|eom_id|user)\|>|<(?:end_of_turn|eos)>|</s>|\[INST\]"
_USER = r"^[ \t*_#>]{0,6}(?:human|user|### ?(?:instruction|human|user|input))[ \t*_]{0,4}(?::|$)"
_MODEL = r"^[ \t*_#>]{0,6}(?:assistant|ai|model|bot|### ?(?:response|assistant|output))[ \t*_]{0,4}(?::|$)"
_TURN = re.compile(rf"(?P<marker>{_MARKER})|(?P<user>{_USER})|(?P<model>{_MODEL})", re.I | re.M)


def first_turn(text: str, has_answer: Callable[[str], bool]) -> str:
    r"""Return a reply without the turns that the model invented after it.

    A reply ends at the first marker of a chat template. It ends at a line such as `Human:` if a line such as
    `Assistant:` follows, or if there is an answer before it; otherwise, the line may describe a person in the image.

    Args:
        text: the text of a reply, without hidden reasoning.
        has_answer: function that returns whether a text clearly states an answer.

    Examples:
        >>> first_turn("Cell: D4\n\nHuman: Why?\n\nAssistant: Cell: D5", lambda text: True)
        'Cell: D4\n\n'
    """
    begun, place = False, 0
    for turn in _TURN.finditer(text):
        # Markers before the first word do not end the reply.
        begun = begun or re.search(r"\w", text[place : turn.start()]) is not None
        place = turn.end()
        before = text[: turn.start()]
        if begun and turn["marker"]:
            return before
        if begun and turn["user"]:
            answered = any(later["model"] for later in _TURN.finditer(text, place))
            return before if answered or has_answer(before) else text
    return text


def of_first_turn(
    text: str, finish: Finish, parse: Callable[[str, Finish], Parsed], has_answer: Callable[[str], bool]
) -> Parsed:
    """Parse the first turn of a reply with `parse`, which reads a single turn; see `first_turn`."""
    first = first_turn(text, has_answer)
    result = parse(first, finish if first == text else "stop")
    # A marker at the end of a reply does not continue it.
    return replace(result, continued=re.search(r"\w", _TURN.sub("", text[len(first) :])) is not None)

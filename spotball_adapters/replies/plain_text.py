"""Convert the text of a reply to plain characters, and remove blocks of hidden reasoning."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from spotball_adapters.providers.protocol import Finish
from spotball_adapters.replies.result import Parsed

_THINKING = re.compile(r"<(/?)(?:think|thinking|thought)>|\[(/?)THINK\]", re.I)
_REASONING = re.compile(r"(?<![^\W_])reasoning[ \t*_]{0,6}:[*_]{0,3}", re.I)
# Tags such as <h1> are not included, because H1 is also a cell.
_TAG = re.compile(r"</?(?:p|b|i|em|strong|code|pre|br|li|ul|ol|div|span|td|tr|th)\s?/?>", re.I)

_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_SAME = {
    **dict.fromkeys("‐‑‒–—−﹣", "-"),
    **dict.fromkeys("﹕︓꞉∶ː", ":"),
    **dict.fromkeys("\u00a0\u2007\u202f\u3000", " "),
}
_PLAIN = _WIDE | {ord(character): ord(plain_one) for character, plain_one in _SAME.items()}


def plain(text: str) -> str:
    """Return a text of the same length with plain forms of wide characters, dashes, colons and blanks, and without
    tags.

    Examples:
        >>> plain("Cell：<b>Ｄ－4</b>")
        'Cell:   D-4    '
    """
    return _TAG.sub(lambda match: " " * len(match[0]), text.translate(_PLAIN))


def without_thinking(text: str) -> str:
    """Return the text without blocks in thinking tags. A block without an opening tag begins at the text's start."""
    parts: list[str] = []
    start, thinking = 0, False
    for mark in _THINKING.finditer(text):
        ends = "/" in mark[0]
        if ends and not thinking:
            parts = []
        elif not thinking:
            parts.append(text[start : mark.start()])
        thinking, start = not ends, mark.end()
    # Separate the parts, so that the two sides of a removed block cannot form a cell.
    return "\n".join(parts if thinking else [*parts, text[start:]])


def reasoning_around(text: str, plain_text: str, start: int, end: int) -> str | None:
    """Return the text after `Reasoning:`, before or after an answer; without that word, the text before the answer.

    Args:
        text: the text of a reply.
        plain_text: the same text in plain characters.
        start: offset of the answer.
        end: offset after the answer.
    """
    if label := _REASONING.search(plain_text, 0, start):
        reasoning = text[label.end() : start]
    elif label := _REASONING.search(plain_text, end):
        reasoning = text[label.end() :]
    else:
        reasoning = text[:start]
    return reasoning.strip().strip("*_#`").strip() or None


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

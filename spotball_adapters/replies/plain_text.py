"""The text of a reply in plain characters, and without what the model only thought."""

from __future__ import annotations

import re

_THINKING = re.compile(r"<(/?)(?:think|thinking|thought)>|\[(/?)THINK\]", re.I)
_REASONING = re.compile(r"(?<![^\W_])reasoning[ \t*_]{0,6}:[*_]{0,3}", re.I)
# Without <h1> and its like, which are cells too.
_TAG = re.compile(r"</?(?:p|b|i|em|strong|code|pre|br|li|ul|ol|div|span|td|tr|th)\s?/?>", re.I)

_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_SAME = {
    **dict.fromkeys("‐‑‒–—−﹣", "-"),
    **dict.fromkeys("﹕︓꞉∶ː", ":"),
    **dict.fromkeys("\u00a0\u2007\u202f\u3000", " "),
}
_PLAIN = _WIDE | {ord(character): ord(plain_one) for character, plain_one in _SAME.items()}


def plain(text: str) -> str:
    """A text of the same length with its wide characters, dashes, colons and blanks in their plain form, without tags.

    Examples:
        >>> plain("Cell：<b>Ｄ－4</b>")
        'Cell:   D-4    '
    """
    return _TAG.sub(lambda match: " " * len(match[0]), text.translate(_PLAIN))


def without_thinking(text: str) -> str:
    """What is not between the marks of thinking; without a mark before it, it began before the reply."""
    parts: list[str] = []
    start, thinking = 0, False
    for mark in _THINKING.finditer(text):
        ends = "/" in mark[0]
        if ends and not thinking:
            parts = []
        elif not thinking:
            parts.append(text[start : mark.start()])
        thinking, start = not ends, mark.end()
    # Apart, so that no cell comes together from two sides of a thought.
    return "\n".join(parts if thinking else [*parts, text[start:]])


def reasoning_around(text: str, plain_text: str, start: int, end: int) -> str | None:
    """Return what stands after `Reasoning:`, before or after an answer; else all before it.

    Args:
        text: of a reply.
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

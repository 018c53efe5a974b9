"""Convert the text of a reply to plain characters, and remove blocks of hidden reasoning."""

from __future__ import annotations

import re

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

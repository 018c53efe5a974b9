"""Read answers from JSON objects in a reply, with any keys and any nesting."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from spotball_adapters.replies.cell_text import ReadCell
from spotball_adapters.replies.json_text import DECODER, JsonAnswer, JsonObject, Read
from spotball_adapters.replies.rankings import SCORE_NAME
from spotball_adapters.replies.tokens import tokenize

_START = re.compile(r'\{\s{0,99}"|\[\s{0,99}[\[{]')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]"]')
_EXTRA_COMMA = re.compile(r",(?=\s{0,99}[}\]])")
_MOST_FAILURES = 20
_WORD_START = re.compile(r"(?<=[a-z])(?=[A-Z])|[_.-]")
_ANSWER_KEY = re.compile(r"[zakmbfgqw]*[akmbfg][zakmbfgqw]*")
_OTHER_KEY = re.compile(r"[plehxnvr]")
_RANKED_KEY = re.compile("rank|top|order|sorted|best", re.I)
_NAME_KEYS = frozenset(("class", "label", "name", "type", "object", "entity", "item", "role", "who", "what"))
_SEVERAL = ReadCell(None, "several answers")


def object_answers(text: str, read: Read) -> tuple[list[JsonAnswer], str]:
    """Return the answers of the JSON objects in a text, and the text with blanks in place of these objects.

    Invalid JSON stays in the text. If an object is cut off, its top-level fields stay, and nested values become blanks.

    Args:
        text: the text of a reply.
        read: function that reads the cell in the text of an answer field.
    """
    cleaned = _EXTRA_COMMA.sub(" ", text)
    answers: list[JsonAnswer] = []
    parts: list[str] = []
    place = copied = failures = 0
    while failures < _MOST_FAILURES and (start := _START.search(cleaned, place)):
        try:
            value, place = DECODER.raw_decode(cleaned, start.start())
        except (ValueError, RecursionError):
            failures, place = failures + 1, start.end()
            if (top := _broken_off(text, start.start())) is not None:
                return answers, "".join([*parts, text[copied : start.start()], top])
            continue
        parts.extend((text[copied : start.start()], " " * (place - start.start())))
        copied = place
        if result := _answer(value, read):
            answers.append(JsonAnswer(start.start(), place, result, _reasoning(value)))
    return answers, "".join([*parts, text[copied:]])


def _broken_off(text: str, start: int) -> str | None:
    """Return the text of the unclosed object at `start`, with blanks for nested values, or None if it is closed."""
    parts: list[str] = []
    depth, place = 0, start
    for token in _TOKEN.finditer(text, start):
        if token[0] == '"':
            break
        if token[0][0] == '"':
            continue
        opens = token[0] in "{["
        between = text[place : token.start()]
        parts.append(between if depth < 2 else " " * len(between))
        place, depth = token.start(), depth + (1 if opens else -1)
        if depth == 0:
            return None
    rest = text[place:]
    return "".join([*parts, rest if depth < 2 else " " * len(rest)])


def _answer(value: Any, read: Read, *, ranked: bool = False) -> ReadCell | None:
    if isinstance(value, str):
        return read(value)
    if isinstance(value, list):
        if len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], int):
            return read(f"{value[0]}{value[1]}")
        return _of_list(value, read, ranked=ranked)
    return _of_object(value, read) if isinstance(value, JsonObject) else None


def _of_object(json_object: JsonObject, read: Read) -> ReadCell | None:
    keys = [(_roles(key), key, value) for key, value in json_object.fields]
    if _is_of_a_person(json_object):
        return None
    answers = [
        (roles, _nothing() if value is None else _answer(value, read, ranked=bool(_RANKED_KEY.search(key))))
        for roles, key, value in keys
        if _ANSWER_KEY.fullmatch(roles)
    ]
    final = [answer for roles, answer in answers if answer and "f" in roles]
    direct = final or [answer for _, answer in answers if answer]
    if pair := _row_and_column(json_object, read):
        direct.append(pair)
    if scored := _by_score((key, value) for key, value in json_object.fields if read(key)):
        direct.append(scored if isinstance(scored, ReadCell) else read(scored) or _SEVERAL)
    nested = direct or [
        answer
        for roles, key, value in keys
        if isinstance(value, JsonObject | list) and not _OTHER_KEY.search(roles)
        if (answer := _answer(value, read, ranked=bool(_RANKED_KEY.search(key))))
    ]
    cells = {answer.cell for answer in nested}
    return nested[0] if len(cells) == 1 else _SEVERAL if cells else None


def _of_list(values: list[Any], read: Read, *, ranked: bool) -> ReadCell | None:
    answers = [(value, answer) for value in values if (answer := _answer(value, read))]
    if len(answers) < 2 or ranked:
        return answers[0][1] if answers else None
    scored = _by_score((answer.cell or "", _score(value)) for value, answer in answers)
    if scored is None or isinstance(scored, ReadCell):
        return _SEVERAL
    return read(scored)


def _by_score(scores: Iterator[tuple[str, Any]]) -> str | ReadCell | None:
    """Return the name with the highest score, "several answers" for a tie, or None without a score per name."""
    pairs = list(scores)
    if not pairs or not all(isinstance(score, int | float) and not isinstance(score, bool) for _, score in pairs):
        return None
    best = max(score for _, score in pairs)
    names = [name for name, score in pairs if score == best]
    return names[0] if len(names) == 1 else _SEVERAL


def _score(value: Any) -> float | None:
    if not isinstance(value, JsonObject):
        return None
    for key, score in value.fields:
        if SCORE_NAME.search(key) or key.lower() == "p":
            if isinstance(score, str) and (number := re.match(r"[0-9.]+", score)):
                return float(number[0])
            return score if isinstance(score, int | float) else None
    for key, rank in value.fields:
        if "rank" in key.lower() and isinstance(rank, int):
            return -rank
    return None


def _is_of_a_person(json_object: JsonObject) -> bool:
    """Return whether an object describes a person or a thing, not the ball: `{"class": "person", "cell": "D5"}`."""
    names = [value for key, value in json_object.fields if key.lower() in _NAME_KEYS and isinstance(value, str)]
    return any("p" in _roles(name) and "b" not in _roles(name) for name in names)


def _row_and_column(json_object: JsonObject, read: Read) -> ReadCell | None:
    fields = {key.lower(): value for key, value in json_object.fields if isinstance(value, str | int)}
    row = fields.get("row")
    column = fields.get("column", fields.get("col"))
    return read(f"row {row}, column {column}") if row is not None and column is not None else None


def _reasoning(value: Any) -> str | None:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, JsonObject):
        return None
    texts = [
        text
        for key, text in value.fields
        if re.search("reason|expla|rational|why", key, re.I) and isinstance(text, str)
    ]
    return "\n".join(texts).strip() or None


def _roles(key: str) -> str:
    return tokenize(_WORD_START.sub(" ", key), []).roles


def _nothing() -> ReadCell:
    return ReadCell(None, "no answer")

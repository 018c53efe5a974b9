"""Policy `strict`: read only replies in the format that the prompts request.

The answer is the last line with `Cell:` and exactly one cell of the grid, or the cell of a JSON object, or a reply that
consists only of a cell. Everything else is unparsed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from spotball_adapters.providers.protocol import Finish
from spotball_adapters.replies.cell_text import ReadCell, read_alone, read_value
from spotball_adapters.replies.json_text import json_answers
from spotball_adapters.replies.plain_text import of_first_turn, plain, reasoning_around, without_thinking
from spotball_adapters.replies.result import Parsed, parsed
from spotball_core.grid import Grid

CELL_WORDS = {
    "English": ("cell", "cells"),
    "Spanish": ("celda", "casilla"),
    "French": ("cellule", "case"),
    "German": ("zelle", "feld"),
    "Italian": ("cella", "casella"),
    "Portuguese": ("célula",),
    "Dutch": ("cel", "vak"),
    "Polish": ("komórka",),
    "Turkish": ("hücre",),
    "Russian": ("ячейка", "клетка"),
    "Arabic": ("خلية",),
    "Chinese": ("单元格", "單元格", "格子"),
    "Japanese": ("セル",),
    "Korean": ("셀",),
}
"""Translations of "cell" that may replace `Cell` in an answer line."""

_OTHER_WORDS = ("the", "my", "final", "grid", "best", "chosen", "predicted", "likely", "guess", "answer", "label")

# Repetitions are bounded or possessive, so that reading takes time in proportion to the text.
_CELL = "|".join(word for words in CELL_WORDS.values() for word in words)
_LABEL = (
    rf"(?:(?:{'|'.join(_OTHER_WORDS)})[ \t_\-]{{1,3}}){{0,4}}(?:{_CELL})(?!\w)(?:\(s\))?"
    rf"(?:[ \t_\-]{{1,3}}(?:{'|'.join(_OTHER_WORDS)}|{_CELL})(?!\w)){{0,3}}"
)
_SIGN = r"[ \t*_`~)\]]{0,6}[:=|\t]"
_WORD = re.compile(_CELL, re.I)
_LABEL_ONLY = re.compile(_LABEL, re.I)
_AT_START = re.compile(rf"[\W_]{{0,20}}(?:[0-9]{{1,2}}[.)][\W_]{{0,6}})?{_LABEL}{_SIGN}", re.I)
# After the end of a sentence, in a table, or after a literal "\n".
_WITHIN = re.compile(rf"(?:(?<=[.!?。:;|\t])|(?<=\\n))[\W_]{{0,9}}{_LABEL}{_SIGN}", re.I)
_HEADING = re.compile(rf"[\W_]{{0,20}}{_LABEL}[\W_]{{0,20}}", re.I)
_LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]++")
_AFTER = re.compile(r"\b(?:reasoning|explanation|rationale|justification)[ \t*_]{0,6}:", re.I)


@dataclass(frozen=True, slots=True)
class _StrictAnswer:
    """An answer in a reply, with the offsets of its start and end in the text."""

    start: int
    end: int
    result: ReadCell
    reasoning: str | None = None


def parse_strictly(text: str, grid: Grid, *, finish: Finish = "stop") -> Parsed:
    """Parse a reply under the policy `strict`. The time is proportional to the reply's length.

    Examples:
        >>> parse_strictly("Reasoning: They look left.\\nCell: **d-4**", Grid.standard())
        Parsed(cell='D4', reasoning='They look left.', problem=None, continued=False)
        >>> parse_strictly("The ball is near the player in D4.", Grid.standard()).problem
        'no answer'
    """
    return of_first_turn(
        without_thinking(text),
        finish,
        lambda turn, finish: _parse(turn, grid, text, finish),
        lambda part: states_cell(part, grid),
    )


def states_cell(text: str, grid: Grid) -> bool:
    """Return whether a text without hidden reasoning has an answer in the format that the prompts request."""
    return _parse(text, grid, text, "stop").cell is not None


def _parse(text: str, grid: Grid, original: str, finish: Finish) -> Parsed:
    """Parse a text without hidden reasoning; `original` is the whole reply."""
    plain_text = plain(text)
    unfinished = finish in ("length", "filtered")
    objects = _objects(text, grid)
    answers = [*objects, *_lines(plain_text, grid, objects, unfinished=unfinished)]
    if answers:
        answer = max(answers, key=lambda answer: answer.start)
        return parsed(
            answer.result,
            answer.reasoning or reasoning_around(text, plain_text, answer.start, answer.end),
            original,
            finish,
        )
    if alone := read_alone(plain_text.replace("```", "   "), grid, unfinished=unfinished):
        return parsed(alone, None, original, finish)
    nowhere = _StrictAnswer(len(text), len(text), ReadCell(None, "no answer"))
    return parsed(nowhere.result, reasoning_around(text, plain_text, nowhere.start, nowhere.end), original, finish)


def _is_label(name: str) -> bool:
    return bool(_LABEL_ONLY.fullmatch(name))


def _objects(text: str, grid: Grid) -> list[_StrictAnswer]:
    """Return the answers of JSON objects in the reply. If they differ, each becomes "several answers"."""
    answers = json_answers(text, _is_label, lambda value: read_value(plain(value), grid))
    result = answers[0].result if len({answer.result for answer in answers}) == 1 else ReadCell(None, "several answers")
    return [_StrictAnswer(answer.start, answer.end, result, answer.reasoning) for answer in answers]


def _lines(plain_text: str, grid: Grid, objects: list[_StrictAnswer], *, unfinished: bool) -> Iterator[_StrictAnswer]:
    """Yield the answers of lines outside of objects: lines with `Cell:`, or lines after a line with only this label."""
    awaited: int | None = None
    for line in _LINE.finditer(plain_text):
        start, end = line.span()
        if not line[0].strip():
            continue
        open_end = unfinished and end == len(plain_text)
        label = None
        if _WORD.search(plain_text, start, end):
            label = _AT_START.match(plain_text, start, end) or _WITHIN.search(plain_text, start, end)
        if label is None:
            if awaited is not None and (result := read_alone(line[0], grid, unfinished=open_end)):
                yield _StrictAnswer(awaited, end, result)
            awaited = start if _HEADING.fullmatch(plain_text, start, end) else None
            continue
        awaited = None
        if _inside(objects, label.start()):
            continue
        where = label.end()
        while repeated := _AT_START.match(plain_text, where, end):
            where = repeated.end()
        stop = after.start() if (after := _AFTER.search(plain_text, where, end)) else end
        value = plain_text[where:stop]
        if result := read_value(value, grid, unfinished=open_end and stop == end):
            yield _StrictAnswer(label.start(), stop, result)
        elif not re.search(r"[^\W_]", value):
            awaited = label.start()


def _inside(objects: list[_StrictAnswer], place: int) -> bool:
    before = bisect_right(objects, place, key=lambda answer: answer.start)
    return before > 0 and place < objects[before - 1].end

"""Which cell a reply answers with: what it says, or nothing. Never a guess.

The answer is the last line that says `Cell:` and then one cell of the grid, or the cell of a JSON object; else a reply
that is nothing but a cell. What a model only thinks, or mentions on the way, is no answer.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from spotball_adapters.cell_text import Said, read_alone, read_value
from spotball_adapters.json_text import json_answers
from spotball_adapters.providers.protocol import Finish
from spotball_core.grid import Grid

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
    "empty": "there is no text",
    "no answer": "there is no line `Cell:` with a cell, no such JSON object, and the text is more than a cell",
    "several answers": "the answer names more than one cell",
    "a range": "the answer names a stretch of cells",
    "outside the grid": "the answer names a cell that the grid does not have",
    "cut off": "the reply ended at the limit of its length before its answer, or within it",
    "refused": "the model declined, and there is no answer",
    "filtered": "a filter withheld the reply, or what would have been its answer",
}
"""Why a reply is unparsed, in words."""

_FINISHED_EARLY: dict[Finish, Problem] = {"length": "cut off", "filtered": "filtered", "refused": "refused"}

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
"""Words for a cell that a line may have in the place of `Cell`."""

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
# After the end of a sentence, in a table, or after a line's end that was written out.
_WITHIN = re.compile(rf"(?:(?<=[.!?。:;|\t])|(?<=\\n))[\W_]{{0,9}}{_LABEL}{_SIGN}", re.I)
_HEADING = re.compile(rf"[\W_]{{0,20}}{_LABEL}[\W_]{{0,20}}", re.I)
_LINE = re.compile(r"[^\n\r\v\f\x1c-\x1e\x85\u2028\u2029]++")
_REASONING = re.compile(r"(?<![^\W_])reasoning[ \t*_]{0,6}:[*_]{0,3}", re.I)
_AFTER = re.compile(r"\b(?:reasoning|explanation|rationale|justification)[ \t*_]{0,6}:", re.I)
_THINKING = re.compile(r"<(/?)(?:think|thinking|thought)>|\[(/?)THINK\]", re.I)
# Without <h1> and its like, which are cells too.
_TAG = re.compile(r"</?(?:p|b|i|em|strong|code|pre|br|li|ul|ol|div|span|td|tr|th)\s?/?>", re.I)

_WIDE = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_SAME = {
    **dict.fromkeys("‐‑‒–—−﹣", "-"),
    **dict.fromkeys("﹕︓꞉∶ː", ":"),
    **dict.fromkeys("\u00a0\u2007\u202f\u3000", " "),
}
_PLAIN = _WIDE | {ord(character): ord(plain_one) for character, plain_one in _SAME.items()}


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a reply says.

    Attributes:
        cell: the answer, in the grid's canonical spelling; None if the reply is unparsed.
        reasoning: what stands after `Reasoning:`, up to the answer; without that word, all the text before the answer.
            None where there is none.
        problem: why the reply is unparsed, a key of `PROBLEMS`; None if it is not.
    """

    cell: str | None
    reasoning: str | None
    problem: Problem | None


@dataclass(frozen=True, slots=True)
class _Answer:
    """One of the places where a reply answers."""

    start: int
    end: int
    said: Said
    reasoning: str | None = None


def parse(text: str, grid: Grid, *, finish: Finish = "stop") -> Parsed:
    """The answer of a reply, in time proportional to its length.

    Args:
        text: as the model gave it. What it thought, in `<think>` and its like, is not looked at.
        grid: whose cells are answered with.
        finish: why the reply ended.

    Examples:
        >>> parse("Reasoning: They look left.\\nCell: **d-4**", Grid.standard())
        Parsed(cell='D4', reasoning='They look left.', problem=None)
        >>> parse("The ball is near the player in D4.", Grid.standard()).problem
        'no answer'
    """
    given, text = text, without_thinking(text)
    same = plain(text)
    unfinished = finish in ("length", "filtered")
    objects = _objects(text, grid)
    answers = [*objects, *_lines(same, grid, objects, unfinished=unfinished)]
    if answers:
        answer = max(answers, key=lambda each: each.start)
        said, reasoning = answer.said, answer.reasoning or _reasoning(text, same, answer)
    elif alone := read_alone(same.replace("```", "   "), grid, unfinished=unfinished):
        said, reasoning = alone, None
    else:
        said, reasoning = Said(None, "no answer"), _reasoning(text, same, _Answer(len(text), len(text), Said(None)))
    problem: Problem | None = said.problem
    if problem == "no answer":
        problem = _FINISHED_EARLY.get(finish, "no answer" if given.strip() else "empty")
    return Parsed(said.cell, reasoning, problem)


def plain(text: str) -> str:
    """A text of the same length with its wide characters, dashes, colons and blanks in their plain form, without tags.

    Examples:
        >>> plain("Cell：<b>Ｄ－4</b>")
        'Cell:   D-4    '
    """
    return _TAG.sub(lambda match: " " * len(match[0]), text.translate(_PLAIN))


def without_thinking(text: str) -> str:
    """What is not between the marks of thinking; without a mark before it, it began before the reply."""
    kept: list[str] = []
    start, thinking = 0, False
    for mark in _THINKING.finditer(text):
        ends = "/" in mark[0]
        if ends and not thinking:
            kept = []
        elif not thinking:
            kept.append(text[start : mark.start()])
        thinking, start = not ends, mark.end()
    # Apart, so that no cell comes together from two sides of a thought.
    return "\n".join(kept if thinking else [*kept, text[start:]])


def _is_label(name: str) -> bool:
    return bool(_LABEL_ONLY.fullmatch(name))


def _objects(text: str, grid: Grid) -> list[_Answer]:
    """What JSON objects in the reply answer; they contradict each other where they differ."""
    found = json_answers(text, _is_label, lambda value: read_value(plain(value), grid))
    said = found[0].said if len({each.said for each in found}) == 1 else Said(None, "several answers")
    return [_Answer(each.start, each.end, said, each.reasoning) for each in found]


def _lines(same: str, grid: Grid, objects: list[_Answer], *, unfinished: bool) -> Iterator[_Answer]:
    """What the lines outside of objects answer that say `Cell:`, or that follow one that says no more than that."""
    awaited: int | None = None
    for line in _LINE.finditer(same):
        start, end = line.span()
        if not line[0].strip():
            continue
        open_end = unfinished and end == len(same)
        label = None
        if _WORD.search(same, start, end):
            label = _AT_START.match(same, start, end) or _WITHIN.search(same, start, end)
        if label is None:
            if awaited is not None and (said := read_alone(line[0], grid, unfinished=open_end)):
                yield _Answer(awaited, end, said)
            awaited = start if _HEADING.fullmatch(same, start, end) else None
            continue
        awaited = None
        if _inside(objects, label.start()):
            continue
        where = label.end()
        while again := _AT_START.match(same, where, end):
            where = again.end()
        stop = after.start() if (after := _AFTER.search(same, where, end)) else end
        value = same[where:stop]
        if said := read_value(value, grid, unfinished=open_end and stop == end):
            yield _Answer(label.start(), stop, said)
        elif not re.search(r"[^\W_]", value):
            awaited = label.start()


def _inside(objects: list[_Answer], place: int) -> bool:
    before = bisect_right(objects, place, key=lambda each: each.start)
    return before > 0 and place < objects[before - 1].end


def _reasoning(text: str, same: str, answer: _Answer) -> str | None:
    """What stands after `Reasoning:`, before or after an answer; else all before it."""
    if label := _REASONING.search(same, 0, answer.start):
        found = text[label.end() : answer.start]
    elif label := _REASONING.search(same, answer.end):
        found = text[label.end() :]
    else:
        found = text[: answer.start]
    return found.strip().strip("*_#`").strip() or None

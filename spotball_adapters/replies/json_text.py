"""Read answers from JSON objects in a reply."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from spotball_adapters.replies.cell_text import ReadCell

Read = Callable[[str], ReadCell | None]
"""A function that reads the cell in the text of an answer field; None if the text says nothing about a cell."""

_ROWS, _COLUMNS = ("row",), ("col", "column")


@dataclass(frozen=True, slots=True)
class JsonAnswer:
    """The answer in a JSON object, with the object's offsets in the text and its field `reasoning` if present."""

    start: int
    end: int
    result: ReadCell
    reasoning: str | None


@dataclass(frozen=True, slots=True)
class JsonObject:
    """A JSON object with all its fields, including repeated ones."""

    fields: list[tuple[str, Any]]


DECODER = json.JSONDecoder(object_pairs_hook=JsonObject)
"""A decoder that returns objects as `JsonObject`."""

_START = re.compile(r'\{\s{0,99}"|\[\s{0,99}\{\s{0,99}"')


def json_answers(text: str, is_label: Callable[[str], bool], read: Read) -> list[JsonAnswer]:
    """Return the answers of the JSON objects in a text, in the text's order, or an empty list if an object is cut off.

    An object's answer is its field for the cell, or its fields for row and column. If it has neither, the answer of a
    nested object is used. A list of objects at the top level counts only if it has exactly one object.

    Args:
        text: the text of a reply.
        is_label: whether a field's name (lowercase, with blanks for underscores) names the cell.
        read: function that reads the cell in the text of an answer field.
    """
    answers, place = [], 0
    while start := _START.search(text, place):
        try:
            value, place = DECODER.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            return []
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, JsonObject) and (result := _answer(value, is_label, read)):
            reasoning = [value for key, value in value.fields if key.lower() == "reasoning" and isinstance(value, str)]
            answers.append(JsonAnswer(start.start(), place, result, "\n".join(reasoning).strip() or None))
    return answers


def _answer(json_object: JsonObject, is_label: Callable[[str], bool], read: Read) -> ReadCell | None:
    level = [json_object]
    while level:
        fields = [(key.lower().replace("_", " ").strip(), value) for entry in level for key, value in entry.fields]
        results = {_said(value, read) for key, value in fields if is_label(key)} | {_row_and_column(level, read)}
        results.discard(None)
        if results:
            return results.pop() if len(results) == 1 else ReadCell(None, "several answers")
        level = [value for _, value in fields if isinstance(value, JsonObject)]
    return None


def _said(value: Any, read: Read) -> ReadCell | None:
    if isinstance(value, str):
        return read(value)
    if isinstance(value, list):
        return read(", ".join(item for item in value if isinstance(item, str)))
    return _row_and_column([value], read) if isinstance(value, JsonObject) else None


def _row_and_column(level: list[JsonObject], read: Read) -> ReadCell | None:
    """Read the cell if the objects have one row field and one column field in total; otherwise return None."""
    fields = [(key.lower(), value) for entry in level for key, value in entry.fields]
    rows = [value for key, value in fields if key in _ROWS and isinstance(value, str)]
    columns = [value for key, value in fields if key in _COLUMNS and isinstance(value, str | int)]
    return read(f"row {rows[0]}, column {columns[0]}") if len(rows) == len(columns) == 1 else None

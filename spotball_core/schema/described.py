"""What a record's docstring says of it and of its fields, as descriptions in its JSON Schema."""

from __future__ import annotations

import inspect
import re
from typing import Any

_SECTION = re.compile(r"^(Attributes|Raises|Examples):$", re.MULTILINE)
_FIELD = re.compile(r"^    (\w+): (.*(?:\n(?:     .*)?)*)", re.MULTILINE)


def describe(record: type, schema: dict[str, Any]) -> None:
    """Put a record's docstring, written in Google style, into its schema: the text, and each attribute's to its field.

    Args:
        record: the class.
        schema: its JSON Schema, which is changed.
    """
    # A class that is made of another one to add a field says nothing of its own.
    docstring = next((base.__doc__ for base in record.__mro__ if base.__doc__), "")
    schema["description"] = _one_line(_SECTION.split(inspect.cleandoc(docstring))[0])
    for name, description in _attributes(record).items():
        if name in schema.get("properties", {}):
            schema["properties"][name]["description"] = description


def _attributes(record: type) -> dict[str, str]:
    """What docstrings say of attributes, those of the classes that the record is derived from included."""
    descriptions: dict[str, str] = {}
    for base in reversed(record.__mro__):
        parts = _SECTION.split(inspect.cleandoc(base.__doc__ or ""))
        for title, text in zip(parts[1::2], parts[2::2], strict=True):
            if title == "Attributes":
                descriptions |= {name: _one_line(description) for name, description in _FIELD.findall(text)}
    return descriptions


def _one_line(text: str) -> str:
    """Text without line breaks, and with JSON's word for what Python calls None."""
    return re.sub(r"\bNone\b", "null", " ".join(text.split()))

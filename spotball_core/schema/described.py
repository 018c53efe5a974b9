"""Copy the docstrings of records and their fields into the descriptions of JSON Schemas."""

from __future__ import annotations

import inspect
import re
from typing import Any

_SECTION = re.compile(r"^(Attributes|Raises|Examples):$", re.MULTILINE)
_FIELD = re.compile(r"^    (\w+): (.*(?:\n(?:     .*)?)*)", re.MULTILINE)


def describe(record: type, schema: dict[str, Any]) -> None:
    """Add the text of a record's Google-style docstring, and of its attributes, to the record's schema.

    Args:
        record: the class.
        schema: its JSON Schema, which is changed in place.
    """
    # A derived class that only adds a field may have no docstring.
    docstring = next((base.__doc__ for base in record.__mro__ if base.__doc__), "")
    schema["description"] = _one_line(_SECTION.split(inspect.cleandoc(docstring))[0])
    for name, description in _attributes(record).items():
        if name in schema.get("properties", {}):
            schema["properties"][name]["description"] = description


def _attributes(record: type) -> dict[str, str]:
    """Return the descriptions of attributes, including those in base classes."""
    descriptions: dict[str, str] = {}
    for base in reversed(record.__mro__):
        parts = _SECTION.split(inspect.cleandoc(base.__doc__ or ""))
        for title, text in zip(parts[1::2], parts[2::2], strict=True):
            if title == "Attributes":
                descriptions |= {name: _one_line(description) for name, description in _FIELD.findall(text)}
    return descriptions


def _one_line(text: str) -> str:
    """Return the text without line breaks, with `null` in place of `None`."""
    return re.sub(r"\bNone\b", "null", " ".join(text.split()))

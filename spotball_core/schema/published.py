"""Build the JSON Schemas of file formats from the record classes that read and write them.

Formats are registered under the entry point group `spotball.schemas`, as a name and a `FileFormat`. Other packages can
register formats as well.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from spotball_core.errors import OptionError, unknown_name

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
    for name, description in attributes(record).items():
        if name in schema.get("properties", {}):
            schema["properties"][name]["description"] = description


def attributes(record: type) -> dict[str, str]:
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


GROUP: Final = "spotball.schemas"
VERSION: Final = 1
"""Version of the published schemas.

A change that would break readers of the files gets a new version; the old schema stays available.
"""


@dataclass(frozen=True)
class FileFormat:
    """A file format whose JSON Schema is published.

    Attributes:
        about: which files have the format, and which part of a file one instance describes.
        of: the record class, or union of record classes, that reads or writes the format.
    """

    about: str
    of: Any


class _Generator(GenerateJsonSchema):
    """A schema generator that adds descriptions from docstrings and omits titles that only repeat the field's name."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def model_schema(self, schema: Any) -> dict[str, Any]:
        json_schema_of_model = super().model_schema(schema)
        describe(schema["cls"], json_schema_of_model)
        return json_schema_of_model


def formats(distribution: str | None = None) -> dict[str, FileFormat]:
    """Return the file formats by name, sorted.

    Args:
        distribution: only return formats that this distribution registers, such as `spotball-core`.

    Examples:
        >>> formats()["scene"].about
        'A line of scenes.jsonl.'
    """
    # Python may find one package twice: installed, and in the folder it was started in.
    entries = {
        entry.name: entry
        for entry in entry_points(group=GROUP)
        if distribution is None or (entry.dist is not None and entry.dist.name == distribution)
    }
    return {name: entries[name].load() for name in sorted(entries)}


def json_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a format. Its `$id` is a stable name, not an address.

    Raises:
        OptionError: for an unknown name.

    Examples:
        >>> json_schema("scene")["$id"]
        'urn:spotball-core:schema:v1:scene'
    """
    all_formats = formats()
    if name not in all_formats:
        raise OptionError(unknown_name("schema", name, all_formats), code="unknown-name")
    body = TypeAdapter(all_formats[name].of).json_schema(schema_generator=_Generator)
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        "$id": f"urn:spotball-core:schema:v{VERSION}:{name}",
        "$comment": all_formats[name].about,
        **body,
    }

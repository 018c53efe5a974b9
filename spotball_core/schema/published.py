"""JSON Schemas of files, made from the records that read and write them.

Formats, ours and other packages', are found by the entry point group `spotball.schemas`: a name, and a `FileFormat`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from spotball_core.errors import OptionError
from spotball_core.schema.described import describe

GROUP: Final = "spotball.schemas"
VERSION: Final = 1
"""Of the published schemas. What would break a reader of the files is a new version beside the old one."""


@dataclass(frozen=True)
class FileFormat:
    """A kind of file.

    Attributes:
        about: which files they are, and what of them one instance is.
        of: the record, or union of records, that reads or writes it.
    """

    about: str
    of: Any


class _Generator(GenerateJsonSchema):
    """With what docstrings say, and without a title for each field, which would be its name once more."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def model_schema(self, schema: Any) -> dict[str, Any]:
        json_schema_of_model = super().model_schema(schema)
        describe(schema["cls"], json_schema_of_model)
        return json_schema_of_model


def formats(distribution: str | None = None) -> dict[str, FileFormat]:
    """The formats by name, sorted.

    Args:
        distribution: only those that this one brings, such as `spotball-core`.

    Examples:
        >>> formats()["scene"].about
        'A line of scenes.jsonl.'
    """
    # One package may be found twice: installed, and in the folder that Python was started in.
    entries = {
        entry.name: entry
        for entry in entry_points(group=GROUP)
        if distribution is None or (entry.dist is not None and entry.dist.name == distribution)
    }
    return {name: entries[name].load() for name in sorted(entries)}


def json_schema(name: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a format. Its `$id` is a name and no address; it stays as it is.

    Raises:
        OptionError: for a name that nobody has.

    Examples:
        >>> json_schema("scene")["$id"]
        'urn:spotball-core:schema:v1:scene'
    """
    all_formats = formats()
    if name not in all_formats:
        raise OptionError(f"there is no schema {name!r}; there are {', '.join(all_formats)}")
    body = TypeAdapter(all_formats[name].of).json_schema(schema_generator=_Generator)
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        "$id": f"urn:spotball-core:schema:v{VERSION}:{name}",
        "$comment": all_formats[name].about,
        **body,
    }

"""The base of all records."""

from __future__ import annotations

import math
import re
from typing import Annotated, ClassVar, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from spotball_core.service.paths import CONTROLS, MOST_SIGNS_OF_PATH, PATH_RULE, is_relative


class Record(BaseModel):
    """A frozen record that refuses fields it does not know and numbers that are not finite."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, coerce_numbers_to_str=True, ser_json_inf_nan="null"
    )


MOST_SIGNS: Final = 255
"""Length of a name, at most."""

NAME_RULE: Final = f"a name of at most {MOST_SIGNS} characters, without control characters and line breaks"
"""What a name has to be, as errors say it."""

_RELATIVE = rf"^(?![A-Za-z]:)(?!(.*/)?\.\.(/|$))[^/\\{CONTROLS}][^\\{CONTROLS}]*$"
_CONTROL = re.compile(f"[{CONTROLS}]")


def _not_missing(value: object) -> object:
    # Numbers become text, and so would the NaN that stands for a missing value in a table.
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("expected a name or a number")
    return value


def _name(text: str) -> str:
    if len(text) > MOST_SIGNS or _CONTROL.search(text):
        raise ValueError(NAME_RULE)
    return text


def _identifier(text: str) -> str:
    if "/" in text or "\\" in text or text in (".", ".."):
        raise ValueError("a name without / and \\, other than . and ..")
    return text


def _relative(text: str) -> str:
    if not is_relative(text):
        raise ValueError(PATH_RULE)
    return text


Name = Annotated[
    str,
    StringConstraints(min_length=1, strip_whitespace=True),
    BeforeValidator(_not_missing),
    AfterValidator(_name),
    Field(json_schema_extra={"maxLength": MOST_SIGNS, "pattern": f"^[^{CONTROLS}]*$"}),
]
"""A word that identifies something: not empty, no blanks around it, without control characters, at most 255 long."""

# Not built on `Name`: Pydantic 2.9 takes a field with two layers of `Field` for an optional one.
Identifier = Annotated[
    str,
    StringConstraints(min_length=1, strip_whitespace=True),
    BeforeValidator(_not_missing),
    AfterValidator(_name),
    AfterValidator(_identifier),
    Field(json_schema_extra={"maxLength": MOST_SIGNS, "pattern": rf"^(?!\.{{1,2}}$)[^/\\{CONTROLS}]*$"}),
]
"""A name that may be a part of a path: without / and \\."""

RelativePath = Annotated[
    str,
    AfterValidator(_relative),
    Field(json_schema_extra={"minLength": 1, "maxLength": MOST_SIGNS_OF_PATH, "pattern": _RELATIVE}),
]
"""A file in a folder, named from that folder on, with / between folders. It cannot lead out of the folder by its text;
`spotball_core.service.paths` sees to links."""

"""The base class of all records, and types for names and paths."""

from __future__ import annotations

import math
import re
from typing import Annotated, ClassVar, Final

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from spotball_core.service.paths import CONTROLS, MOST_SIGNS_OF_PATH, PATH_RULE, is_relative


class Record(BaseModel):
    """A frozen record that rejects unknown fields and numbers that are not finite."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, coerce_numbers_to_str=True, ser_json_inf_nan="null"
    )


Count = Annotated[int, Field(gt=0, le=2**53)]
"""A whole number from 1, which a float represents exactly."""

Pixels = Annotated[int, Field(gt=0, le=1_000_000)]
"""The width or height of an image."""

UNNAMED: Final = "all"
"""The sport of images and answers that name no sport."""

MOST_SIGNS: Final = 255
"""Maximum length of a name."""

NAME_RULE: Final = f"a name of at most {MOST_SIGNS} characters, without control characters and line breaks"
"""The rule for names, as error messages state it."""

_RELATIVE = rf"^(?![A-Za-z]:)(?!(.*/)?\.\.(/|$))[^/\\{CONTROLS}][^\\{CONTROLS}]*$"
_CONTROL = re.compile(f"[{CONTROLS}]")


def _not_missing(value: object) -> object:
    # Numbers are converted to text. This would include NaN, which stands for a missing value in tables.
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("expected a name or a number")
    return value


def _name(text: str) -> str:
    if len(text) > MOST_SIGNS or _CONTROL.search(text):
        raise ValueError(f"expected {NAME_RULE}")
    return text


def _identifier(text: str) -> str:
    if "/" in text or "\\" in text or text in (".", ".."):
        raise ValueError("expected a name without / and \\, other than . and ..")
    return text


def _relative(text: str) -> str:
    if not is_relative(text):
        raise ValueError(f"expected {PATH_RULE}")
    return text


Name = Annotated[
    str,
    StringConstraints(min_length=1, strip_whitespace=True),
    BeforeValidator(_not_missing),
    AfterValidator(_name),
    Field(json_schema_extra={"maxLength": MOST_SIGNS, "pattern": f"^[^{CONTROLS}]*$"}),
]
"""A name: not empty, no surrounding spaces, no control characters, at most 255 characters."""

# Not built on `Name`: Pydantic 2.9 treats a field with two layers of `Field` as optional.
Identifier = Annotated[
    str,
    StringConstraints(min_length=1, strip_whitespace=True),
    BeforeValidator(_not_missing),
    AfterValidator(_name),
    AfterValidator(_identifier),
    Field(json_schema_extra={"maxLength": MOST_SIGNS, "pattern": rf"^(?!\.{{1,2}}$)[^/\\{CONTROLS}]*$"}),
]
"""A name that may be part of a path: without / and \\."""

RelativePath = Annotated[
    str,
    AfterValidator(_relative),
    Field(json_schema_extra={"minLength": 1, "maxLength": MOST_SIGNS_OF_PATH, "pattern": _RELATIVE}),
]
"""The path of a file relative to a folder, with / between folders.

Its text cannot lead out of the folder; `spotball_core.service.paths` checks links.
"""

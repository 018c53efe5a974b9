"""The base of all records."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints


class Record(BaseModel):
    """A frozen record that refuses fields it does not know and numbers that are not finite."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, coerce_numbers_to_str=True, ser_json_inf_nan="null"
    )


def _not_missing(value: object) -> object:
    # Numbers become text, and so would the NaN that stands for a missing value in a table.
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("expected a name or a number")
    return value


Name = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True), BeforeValidator(_not_missing)]
"""A word that identifies something: not empty, no blanks around it."""

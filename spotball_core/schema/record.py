"""The base of all records."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints


class Record(BaseModel):
    """A frozen record that refuses fields it does not know and numbers that are not finite."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, coerce_numbers_to_str=True, ser_json_inf_nan="null"
    )


Name = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
"""A word that identifies something: not empty, no blanks around it."""

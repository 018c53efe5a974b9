"""Convert pydantic's errors about the records of a file to `Problem`s that name the file, line and field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from spotball_core.error_codes import Code
from spotball_core.errors import InputError, Problem, did_you_mean
from spotball_core.service.json_file import parse_json

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

ModelT = TypeVar("ModelT", bound="BaseModel")

_PREFIXES = ("Value error, ", "Input should be ", "expected ")

_KINDS = {
    **dict.fromkeys(("int_type", "int_parsing", "int_parsing_size", "int_from_float"), "an integer"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    "finite_number": "a finite number",
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    "string_type": "text",
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type"), "a list"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type", "dataclass_type"), "an object"),
}
"""The expected kind of value in words, for each of these pydantic error types. Pydantic's words name Python types."""

_STATEMENT = re.compile(r"\b(is|are|has|have|lies|add|end|make|sum|exclude)\b")
"""Matches a validator's message that states what is wrong instead of what was expected."""


_CODES: dict[str, Code] = {"missing": "missing-value", "extra_forbidden": "unknown-key"}
"""Codes of pydantic's error types; the code of all others is `invalid-value`."""


def record_of_json(
    model: type[ModelT], text: str | bytes, file: str, line: int | None = None, *, where: str = "", fix: str = ""
) -> ModelT:
    """Return the record that JSON text describes.

    Args:
        model: the type of the record.
        text: the JSON.
        file: the name of the file.
        line: the line of the record, from 1.
        where: the field that holds the record, such as `run`.
        fix: advice to the user, as a sentence.

    Raises:
        InputError: if the text is not JSON, has a repeated key, or does not describe such a record.
    """
    from pydantic import ValidationError

    whole = "file" if line is None else "line"
    try:
        parse_json(text)
        return model.model_validate_json(text)
    except ValidationError as error:
        problems = problems_of_record(error, file, line, model=model, where=where, whole=whole)
        raise InputError(replace(problem, fix=fix or problem.fix) for problem in problems) from error
    except ValueError as error:
        raise InputError.of(
            "invalid-json", file, where or whole, str(error)[:200], "JSON", line=line, fix=fix
        ) from error


def problems_of_record(
    error: ValidationError,
    file: str,
    line: int | None = None,
    *,
    model: type[BaseModel] | None = None,
    where: str = "",
    whole: str = "line",
    counts_from_1: bool = False,
) -> list[Problem]:
    """Return a `Problem` for each of pydantic's errors about a record.

    Args:
        error: the error that pydantic raised.
        file: the name of the file.
        line: the line of the record, from 1.
        model: the type of the record, whose field names are suggested for unknown keys.
        where: the field that holds the record, such as `run`.
        whole: the name to give as the field if a problem concerns the whole record.
        counts_from_1: whether positions in lists count from 1 instead of 0.
    """
    return [
        _problem(detail, file, line, model, where, whole, counts_from_1)
        for detail in error.errors(include_url=False, include_context=False)
    ]


def expected_of(detail: ErrorDetails) -> str:
    """Return what a pydantic error says was expected, as words that follow "expected".

    Examples:
        >>> expected_of({"type": "greater_than", "msg": "Input should be greater than 0", "loc": (), "input": 0})
        'greater than 0'
        >>> expected_of({"type": "int_parsing", "msg": "Input should be a valid integer", "loc": (), "input": 1.5})
        'an integer'
    """
    if detail["type"] == "missing":
        return "a value"
    if detail["type"] == "extra_forbidden":
        return "a known key"
    if _is_statement(detail):
        return "a valid value"
    if detail["type"] in _KINDS:
        return _KINDS[detail["type"]]
    return _message(detail)


def _message(detail: ErrorDetails) -> str:
    text = detail["msg"]
    for prefix in _PREFIXES:
        text = text.removeprefix(prefix)
    return text.replace("String should match pattern ", "text that matches ").replace(" should have at ", " with at ")


def _is_statement(detail: ErrorDetails) -> bool:
    is_own = detail["msg"].startswith("Value error, ") and not detail["msg"].startswith("Value error, expected ")
    return is_own and _STATEMENT.search(detail["msg"]) is not None


def _problem(
    detail: ErrorDetails,
    file: str,
    line: int | None,
    model: type[BaseModel] | None,
    where: str,
    whole: str,
    counts_from_1: bool,
) -> Problem:
    parts = [str(part + 1) if isinstance(part, int) and counts_from_1 else str(part) for part in detail["loc"]]
    field = ".".join(filter(None, [where, *parts])) or whole
    actual = "nothing" if detail["type"] == "missing" else json.dumps(detail["input"], default=str)
    actual = actual if len(actual) <= 80 else f"{actual[:77]}..."
    if _is_statement(detail):
        actual += f" ({_message(detail)})"
    code = _CODES.get(detail["type"], "invalid-value")
    return Problem(code, file, line, field, actual, expected_of(detail), fix=_fix(detail, model, parts))


def _fix(detail: ErrorDetails, model: type[BaseModel] | None, parts: list[str]) -> str:
    if detail["type"] == "missing":
        return f"Add {parts[-1]}" if parts else ""
    if detail["type"] == "extra_forbidden":
        known = _keys_at(model, detail["loc"])
        listed = f" Known keys: {', '.join(known)}" if known else ""
        return f"Remove it or correct its spelling.{did_you_mean(parts[-1], known)}{listed}".removesuffix(".")
    if detail["type"] == "literal_error" and isinstance(detail["input"], str):
        values = detail["msg"].split("'")[1::2]
        return did_you_mean(detail["input"], values).strip()
    return ""


def _keys_at(model: type[BaseModel] | None, place: tuple[int | str, ...]) -> list[str]:
    """Return the keys of the record that contains this location; empty if its type is not known."""
    for part in place[:-1]:
        field = None if model is None else model.model_fields.get(str(part))
        if not isinstance(part, int):
            model = None if field is None else next(_models_in(field.annotation), None)
    return [] if model is None else [field.alias or name for name, field in model.model_fields.items()]


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    from pydantic import BaseModel

    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models_in(inner)

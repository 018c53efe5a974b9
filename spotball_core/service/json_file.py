"""Parse JSON from untrusted sources. A repeated key is an error, while `json.loads` would keep its last value."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NoReturn

from spotball_core.errors import InputError, unreadable_text


class RepeatedKeyError(ValueError):
    """Raised for an object with a repeated key.

    Attributes:
        key: the repeated key.
    """

    def __init__(self, key: str) -> None:
        super().__init__(f"the repeated key {json.dumps(key)} in one object")
        self.key = key


def parse_json(text: str | bytes, *, finite: bool = True) -> Any:
    """Parse JSON text and return its value.

    Args:
        text: the text.
        finite: whether NaN and numbers beyond the range of a float are errors.

    Raises:
        ValueError: if the text is not JSON, or is nested too deeply; RepeatedKeyError if an object has a repeated key.

    Examples:
        >>> parse_json('{"cell": "D5"}')
        {'cell': 'D5'}
        >>> parse_json('{"cell": "D5", "cell": "E6"}')
        Traceback (most recent call last):
        spotball_core.service.json_file.RepeatedKeyError: the repeated key "cell" in one object
    """
    numbers: dict[str, Any] = {}
    if finite:
        numbers = {"parse_constant": _not_finite, "parse_float": _float, "parse_int": _int}
    try:
        return json.loads(text, object_pairs_hook=_object, **numbers)
    except RecursionError:
        raise ValueError("objects or lists that are nested too deeply") from None


def read_json(path: Path, description: str) -> Any:
    """Return the value in a JSON file in UTF-8, with or without a byte order mark.

    Args:
        description: the expected content, for the error message.

    Raises:
        InputError: if the file is missing, cannot be read, or has content that `parse_json` rejects.
    """
    line = None
    try:
        return parse_json(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        actual, expected = "no such file", f"{description} (JSON)"
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([unreadable_text(str(path), error)]) from error
    except json.JSONDecodeError as error:
        line, actual, expected = error.lineno, error.msg, f"{description} (JSON)"
    except ValueError as error:
        actual, expected = str(error), f"{description} (JSON)"
    raise InputError.of("invalid-json", path, "file", actual, expected, line=line)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise RepeatedKeyError(key)
            seen.add(key)
    return value


def _not_finite(text: str) -> NoReturn:
    raise ValueError(f"{text}, which is not JSON")


def _int(text: str) -> int:
    _float(text)
    return int(text)


def _float(text: str) -> float:
    return value if math.isfinite(value := float(text)) else _not_finite(text)

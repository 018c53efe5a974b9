"""Convert mappings to YAML, for the metadata of Hugging Face cards."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def yaml_text(value: Mapping[str, Any]) -> str:
    """Return a mapping as YAML in block style.

    Every text is quoted, so that it is not read as a number, a date or a boolean.

    Args:
        value: a mapping of texts, numbers, lists and mappings. Lists and mappings must not be empty.

    Examples:
        >>> print(yaml_text({"license": "mit", "tags": ["a", "b"], "n": 1}), end="")
        license: "mit"
        tags:
          - "a"
          - "b"
        n: 1
    """
    return "".join(f"{line}\n" for line in _block(value))


def _block(value: Mapping[str, Any] | Sequence[Any]) -> Iterator[str]:
    items = value.items() if isinstance(value, Mapping) else ((None, item) for item in value)
    for key, item in items:
        start = "-" if key is None else f"{key}:"
        if not isinstance(item, (Mapping, list)):
            yield f"{start} {_scalar(item)}"
        elif key is None:
            # The first line of the item follows its dash on the same line.
            first, *rest = _block(item)
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)
        else:
            yield start
            yield from (f"  {line}" for line in _block(item))


def _scalar(value: str | float | int) -> str:
    if isinstance(value, str):
        return '"' + "".join(map(_quoted, value)) + '"'
    text = repr(value)
    if isinstance(value, float) and math.isfinite(value) and "." not in text:
        # YAML 1.1 reads 1e-07 as text.
        text = text.replace("e", ".0e", 1)
    return text


def _quoted(sign: str) -> str:
    if sign in '"\\':
        return f"\\{sign}"
    return sign if sign.isprintable() else f"\\U{ord(sign):08x}"

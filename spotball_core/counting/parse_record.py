"""Read and write the record next to a responses file.

It names the policy under which replies were parsed, and whether the run was adaptive.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, get_args

from spotball_core.errors import InputError, Problem
from spotball_core.service.files import replacing
from spotball_core.service.json_file import parse_json

ParsePolicy = Literal[
    "strict",
    "lenient",
    "point-image",
    "point-1",
    "point-100",
    "point-1000",
    "point-qwen",
    "point-gemini",
    "point-molmo",
    "box-image",
    "box-1",
    "box-100",
    "box-1000",
    "box-qwen",
    "box-gemini",
    "box-molmo",
]
"""The parse policies. Those for points and boxes end with a `PointScale`."""

PARSE_POLICIES: tuple[ParsePolicy, ...] = get_args(ParsePolicy)

_KEY, _ADAPTIVE = "parse_policy", "adaptive"


def record_of(path: Path) -> Path:
    """Return the path of the record of a responses file.

    Examples:
        >>> record_of(Path("run-gpt/responses.jsonl")).as_posix()
        'run-gpt/parsing.responses.json'
    """
    # The name starts differently from the responses file's name, so that `responses*` in a shell matches responses
    # only.
    return path.with_name(f"parsing.{path.stem}.json")


def write_parse_policy(path: Path, policy: str, *, adaptive: bool = False) -> None:
    """Write the record of a responses file.

    Args:
        path: the responses file.
        policy: the parse policy.
        adaptive: whether the number of answers to an image depends on earlier answers, as in `spotball run --adaptive`.
    """
    record = {_KEY: policy, **({_ADAPTIVE: True} if adaptive else {})}
    with replacing(record_of(path)) as beside:
        beside.write_text(json.dumps(record) + "\n", encoding="utf-8", newline="\n")


def is_adaptive(path: Path) -> bool:
    """Return whether a responses file has a record that says that its run was adaptive."""
    record = record_of(path)
    return record.is_file() and bool(parse_json(record.read_text(encoding="utf-8")).get(_ADAPTIVE))


def read_parse_policies(paths: Iterable[Path]) -> frozenset[str]:
    """Return the policies that the records of response files name. Files without a record are ignored.

    Raises:
        InputError: if a record does not name one of `PARSE_POLICIES`.
    """
    policies = set()
    for path in paths:
        record = record_of(path)
        if not record.is_file():
            continue
        try:
            policy = parse_json(record.read_text(encoding="utf-8"))[_KEY]
        except (ValueError, KeyError, TypeError):
            policy = None
        if not isinstance(policy, str) or policy not in PARSE_POLICIES:
            expected = f'{{"{_KEY}": NAME}}, where NAME is {", ".join(sorted(PARSE_POLICIES))}'
            raise InputError([Problem("invalid-value", str(record), None, _KEY, repr(policy), expected)])
        policies.add(policy)
    return frozenset(policies)

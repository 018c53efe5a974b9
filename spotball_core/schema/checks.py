"""Check the types of arguments, so that a wrong argument of a public function raises OptionError."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from pathlib import Path

from spotball_core.errors import OptionError
from spotball_core.schema.scene import Scene


def scene_records(scenes: object) -> tuple[Scene, ...]:
    """Return scenes as a tuple.

    Raises:
        OptionError: for anything other than Scene records.
    """
    # Iterating over text gives characters, and iterating over a record gives its fields.
    if isinstance(scenes, (str, bytes, Scene)) or not isinstance(scenes, Iterable):
        found = type(scenes).__name__
    else:
        items = tuple(scenes)
        others = {type(item).__name__ for item in items if not isinstance(item, Scene)}
        if not others:
            return items
        found = f"items of type {min(others)}"
    raise OptionError(
        f"found {found}, expected a list of Scene records. Read a scenes file with `read_scenes`, or convert "
        "each dictionary with `Scene.model_validate`",
        code="wrong-type",
        field="scenes",
    )


def path_of(name: str, path: object) -> Path:
    """Return an argument as a path.

    Raises:
        OptionError: if the argument is not a path.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise OptionError(f"found {type(path).__name__}, expected a path", code="wrong-type", field=name)
    return Path(path)


def whole_number(name: str, number: object, *, least: int) -> int:
    """Return an argument as an integer.

    Raises:
        OptionError: if the argument is not an integer of at least `least`.

    Examples:
        >>> whole_number("permutations", 5, least=1)
        5
    """
    try:
        integer = operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        integer = least - 1
    if isinstance(number, bool) or integer < least:
        raise OptionError(f"found {number!r}, expected a whole number of at least {least}", field=name)
    return integer

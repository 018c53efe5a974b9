"""Finding by name what packages bring under an entry point group: ours, and those of others."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from spotball_core.errors import OptionError, SpotballError


def registered_names(group: str) -> tuple[str, ...]:
    """The names that there are in a group, sorted."""
    return tuple(sorted({entry.name for entry in entry_points(group=group)}))


def make_registered(group: str, what: str, name: str, *arguments: object) -> Any:
    """What the factory of this name makes of the arguments.

    Args:
        group: the entry point group.
        what: one of the group, as errors call it.

    Raises:
        OptionError: for a name that nobody has, that two packages have, or whose factory cannot be loaded or fails.
        SpotballError: what the factory itself raises of this kind, as it is.
    """
    # One package may be found twice: installed, and in the folder that Python was started in.
    found = list({entry.value: entry for entry in entry_points(group=group, name=name)}.values())
    if not found:
        raise OptionError(f"there is no {what} {name!r}; there are {', '.join(registered_names(group))}")
    if len(found) > 1:
        raise OptionError(f"there is more than one {what} {name!r}: {', '.join(map(_where, found))}")
    try:
        return found[0].load()(*arguments)
    except SpotballError:
        raise
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise OptionError(f"the {what} {name!r} ({_where(found[0])}) cannot be used: {said}") from error


def _where(entry: EntryPoint) -> str:
    return entry.value if entry.dist is None else f"{entry.value} of {entry.dist.name}"

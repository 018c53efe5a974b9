"""Finding by name what packages bring under an entry point group: ours, and those of others."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from spotball_core.errors import OptionError, SpotballError


def registered_names(group: str, prefix: str = "") -> tuple[str, ...]:
    """The names that there are in a group, sorted; of those that begin so, what follows."""
    names = {entry.name for entry in entry_points(group=group)}
    return tuple(sorted(name.removeprefix(prefix) for name in names if name.startswith(prefix)))


def load_registered(group: str, kind: str, name: str, *, prefix: str = "") -> Any:
    """What stands under this name.

    Args:
        group: the entry point group.
        kind: one of the group, as errors call it.
        prefix: of all names that are meant, which errors leave out.

    Raises:
        OptionError: for a name that nobody has, that two packages have, or that cannot be loaded.
        SpotballError: what loading raises of this kind, as it is.
    """
    return _used(group, kind, name, prefix, lambda loaded: loaded)


def make_registered(group: str, kind: str, name: str, *arguments: object) -> Any:
    """What the factory of this name makes of the arguments.

    Args:
        group: the entry point group.
        kind: one of the group, as errors call it.

    Raises:
        OptionError: for a name that nobody has, that two packages have, or whose factory cannot be loaded or fails.
        SpotballError: what the factory itself raises of this kind, as it is.
    """
    return _used(group, kind, name, "", lambda factory: factory(*arguments))


def _used(group: str, kind: str, name: str, prefix: str, use: Callable[[Any], Any]) -> Any:
    # One package may be found twice: installed, and in the folder that Python was started in.
    entries = list({entry.value: entry for entry in entry_points(group=group, name=prefix + name)}.values())
    if not entries:
        raise OptionError(f"there is no {kind} {name!r}; there are {', '.join(registered_names(group, prefix))}")
    if len(entries) > 1:
        raise OptionError(f"there is more than one {kind} {name!r}: {', '.join(map(_where, entries))}")
    try:
        return use(entries[0].load())
    except SpotballError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise OptionError(f"the {kind} {name!r} ({_where(entries[0])}) cannot be used: {reason}") from error


def _where(entry: EntryPoint) -> str:
    return entry.value if entry.dist is None else f"{entry.value} of {entry.dist.name}"

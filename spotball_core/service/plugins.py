"""Load objects that packages register under an entry point group, by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from spotball_core.errors import OptionError, SpotballError, unknown_name


def registered_names(group: str, prefix: str = "") -> tuple[str, ...]:
    """Return the sorted names in a group; with a prefix, only names with this prefix, which is removed."""
    names = {entry.name for entry in entry_points(group=group)}
    return tuple(sorted(name.removeprefix(prefix) for name in names if name.startswith(prefix)))


def load_registered(group: str, kind: str, name: str, *, prefix: str = "") -> Any:
    """Load the object with this name.

    Args:
        group: the entry point group.
        kind: the kind of objects in the group, for error messages.
        prefix: prefix of all relevant names; error messages omit it.

    Raises:
        OptionError: for an unknown name, a name that two packages register, or an object that cannot be loaded.
        SpotballError: if loading raises it; it is passed on unchanged.
    """
    return _used(group, kind, name, prefix, lambda loaded: loaded)


def make_registered(group: str, kind: str, name: str, *arguments: object) -> Any:
    """Call the factory with this name and return its result.

    Args:
        group: the entry point group.
        kind: the kind of objects in the group, for error messages.

    Raises:
        OptionError: for an unknown name, a name that two packages register, or a factory that cannot be loaded or
            fails.
        SpotballError: if the factory raises it; it is passed on unchanged.
    """
    return _used(group, kind, name, "", lambda factory: factory(*arguments))


def _used(group: str, kind: str, name: str, prefix: str, use: Callable[[Any], Any]) -> Any:
    # Python may find one package twice: installed, and in the folder it was started in.
    entries = list({entry.value: entry for entry in entry_points(group=group, name=prefix + name)}.values())
    if not entries:
        raise OptionError(unknown_name(kind, name, registered_names(group, prefix)))
    if len(entries) > 1:
        raise OptionError(
            f"{len(entries)} packages define the {kind} {name!r}: "
            f"{', '.join(map(_where, entries))}. Uninstall all but one"
        )
    try:
        return use(entries[0].load())
    except SpotballError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise OptionError(f"the {kind} {name!r} ({_where(entries[0])}) cannot be loaded: {reason}") from error


def _where(entry: EntryPoint) -> str:
    return entry.value if entry.dist is None else f"{entry.value} of {entry.dist.name}"

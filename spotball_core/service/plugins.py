"""Load objects by the names under which packages register them in an entry point group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol, TypeVar

from spotball_core.errors import OptionError, SpotballError, unknown_name


class _Keyed(Protocol):
    @property
    def key(self) -> str: ...


Entry = TypeVar("Entry", bound=_Keyed)


class Registry(Mapping[str, Entry]):
    """A read-only mapping of keys to entries: built-in entries first, then entries that other packages register.

    Args:
        group: the entry point group. Its entries are loaded when the mapping is first used.
        kind: the kind of entries, for error messages.
        type_: the type that all entries must have, a class that `spotball_core` exports.
        built_in: the entries of this package.
    """

    def __init__(self, group: str, kind: str, type_: type[Entry], built_in: Iterable[Entry]) -> None:
        self._group, self._kind, self._type = group, kind, type_
        self._built_in = built_in

    def __getitem__(self, key: str) -> Entry:
        return self._entries[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    @cached_property
    def _entries(self) -> Mapping[str, Entry]:
        """Return all entries; raise OptionError if an entry has a wrong type or a key that is already in use."""
        entries = {entry.key: entry for entry in self._built_in}
        for name in registered_names(self._group):
            entry = load_registered(self._group, self._kind, name)
            of = f"the {self._kind} {name!r}"
            if not isinstance(entry, self._type):
                expected = f"spotball_core.extend.{self._type.__name__}"
                raise OptionError(
                    f"{of} is of type {type(entry).__name__}, expected {expected}. Update or uninstall its package",
                    code="unusable-plugin",
                )
            if entry.key in entries:
                raise OptionError(
                    f"{of} has the key {entry.key!r}, which another {self._kind} already has. Uninstall one of "
                    "the two packages",
                    code="unusable-plugin",
                )
            entries[entry.key] = entry
        return entries


def registered_names(group: str, prefix: str = "") -> tuple[str, ...]:
    """Return the sorted names in a group that start with the prefix. The prefix is removed from the names."""
    names = {entry.name for entry in entry_points(group=group)}
    return tuple(sorted(name.removeprefix(prefix) for name in names if name.startswith(prefix)))


def load_registered(group: str, kind: str, name: str, *, prefix: str = "") -> Any:
    """Load and return the object that is registered under a name.

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
    """Call the factory that is registered under a name, and return its result.

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
        raise OptionError(unknown_name(kind, name, registered_names(group, prefix)), code="unknown-name")
    if len(entries) > 1:
        raise OptionError(
            f"{len(entries)} packages define the {kind} {name!r}: "
            f"{', '.join(map(_where, entries))}. Uninstall all but one",
            code="unusable-plugin",
        )
    try:
        return use(entries[0].load())
    except SpotballError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise OptionError(
            f"the {kind} {name!r} ({_where(entries[0])}) cannot be loaded: {reason}. Update or uninstall this package",
            code="unusable-plugin",
        ) from error


def _where(entry: EntryPoint) -> str:
    return entry.value if entry.dist is None else f"{entry.value} of {entry.dist.name}"

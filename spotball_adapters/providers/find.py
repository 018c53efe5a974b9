"""Finding a provider by its name: ours and those of other packages, by the entry point group `spotball.providers`."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from spotball_adapters.providers.protocol import ENTRY_POINTS, Access, Provider
from spotball_core.errors import OptionError, SpotballError


def names() -> tuple[str, ...]:
    """The providers that there are, sorted.

    Examples:
        >>> "openai" in names()
        True
    """
    return tuple(sorted({entry.name for entry in entry_points(group=ENTRY_POINTS)}))


def find(name: str, access: Access) -> Provider:
    """The provider of this name, for one model.

    Raises:
        OptionError: for a name that nobody has, that two packages have, or whose provider cannot be loaded or made.
        MissingExtraError: where packages are missing that an extra brings.
    """
    # One package may be found twice: installed, and in the folder that Python was started in.
    found = list({entry.value: entry for entry in entry_points(group=ENTRY_POINTS, name=name)}.values())
    if not found:
        raise OptionError(f"there is no provider {name!r}; there are {', '.join(names())}")
    if len(found) > 1:
        raise OptionError(f"there is more than one provider {name!r}: {', '.join(map(_where, found))}")
    try:
        factory = found[0].load()
        return factory(access)  # type: ignore[no-any-return]
    except SpotballError:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}"
        raise OptionError(f"the provider {name!r} ({_where(found[0])}) cannot be used: {what}") from error


def _where(entry: EntryPoint) -> str:
    return entry.value if entry.dist is None else f"{entry.value} of {entry.dist.name}"

"""Finding a provider by its name: ours and those of other packages, by the entry point group `spotball.providers`."""

from __future__ import annotations

from spotball_adapters.providers.protocol import ENTRY_POINTS, Access, Provider
from spotball_core.service.plugins import make_registered, registered_names


def names() -> tuple[str, ...]:
    """The providers that there are, sorted.

    Examples:
        >>> "openai" in names()
        True
    """
    return registered_names(ENTRY_POINTS)


def find(name: str, access: Access) -> Provider:
    """The provider of this name, for one model.

    Raises:
        OptionError: for a name that nobody has, that two packages have, or whose provider cannot be loaded or made.
        MissingExtraError: where packages are missing that an extra brings.
    """
    provider: Provider = make_registered(ENTRY_POINTS, "provider", name, access)
    return provider

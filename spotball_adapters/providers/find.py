"""Find a provider by its name, in this or another installed package (entry point group `spotball.providers`)."""

from __future__ import annotations

from spotball_adapters.providers.protocol import ENTRY_POINTS, Access, Provider
from spotball_core.service.plugins import make_registered, registered_names


def names() -> tuple[str, ...]:
    """Return the names of all installed providers, sorted.

    Examples:
        >>> "openai" in names()
        True
    """
    return registered_names(ENTRY_POINTS)


def find(name: str, access: Access) -> Provider:
    """Return the provider with this name, for the model in `access`.

    Raises:
        OptionError: if the name is unknown, if two packages define it, or if the provider cannot be loaded or created.
        MissingExtraError: if the provider needs packages from an extra that is not installed.
    """
    provider: Provider = make_registered(ENTRY_POINTS, "provider", name, access)
    return provider

"""Find an embedder by its name, in this or another installed package (entry point group `spotball.embedders`)."""

from __future__ import annotations

from spotball_adapters.embedders.protocol import ENTRY_POINTS, Embedder, EmbedderAccess
from spotball_core.service.plugins import make_registered, registered_names


def names() -> tuple[str, ...]:
    """Return the names of all installed embedders, sorted.

    Examples:
        >>> "openai" in names()
        True
    """
    return registered_names(ENTRY_POINTS)


def find(name: str, access: EmbedderAccess) -> Embedder:
    """Return the embedder with this name, for the model in `access`.

    Raises:
        OptionError: if the name is unknown, if two packages define it, or if the embedder cannot be loaded or created.
        MissingExtraError: if the embedder needs packages from an extra that is not installed.
    """
    embedder: Embedder = make_registered(ENTRY_POINTS, "embedder", name, access)
    return embedder

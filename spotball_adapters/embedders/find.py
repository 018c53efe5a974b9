"""Finding an embedder by its name: ours and those of other packages, by the entry point group `spotball.embedders`."""

from __future__ import annotations

from spotball_adapters.embedders.protocol import ENTRY_POINTS, Embedder, EmbedderAccess
from spotball_core.service.plugins import make_registered, registered_names


def names() -> tuple[str, ...]:
    """The embedders that there are, sorted.

    Examples:
        >>> "openai" in names()
        True
    """
    return registered_names(ENTRY_POINTS)


def find(name: str, access: EmbedderAccess) -> Embedder:
    """The embedder of this name, for one model.

    Raises:
        OptionError: for a name that nobody has, that two packages have, or whose embedder cannot be loaded or made.
        MissingExtraError: where packages are missing that an extra brings.
    """
    embedder: Embedder = make_registered(ENTRY_POINTS, "embedder", name, access)
    return embedder

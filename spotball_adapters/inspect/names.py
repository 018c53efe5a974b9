"""Choose the names under which this package registers its task, solver and scorer with Inspect."""

from __future__ import annotations

from pathlib import Path

PACKAGE = "spotball_adapters"


def named(name: str) -> str:
    """Return the name to register an object under, so that Inspect always finds it as spotball_adapters/NAME.

    In a regular install, Inspect adds the prefix itself. In an editable install, it looks for a distribution called
    `spotball_adapters`. As this project's distribution is called `spotball-core`, the returned name has the prefix.
    """
    installed = {"site-packages", "dist-packages"} & set(Path(__file__).parts)
    return name if installed else f"{PACKAGE}/{name}"

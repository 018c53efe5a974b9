"""Names under which Inspect finds the objects of this package."""

from __future__ import annotations

from pathlib import Path

PACKAGE = "spotball_adapters"


def named(name: str) -> str:
    """Return the name to register, so that Inspect finds the object as PACKAGE/NAME in every installation.

    Inspect adds the package's name for files among the installed packages. In an editable install it looks for a
    distribution with the package's name, but this project's distribution is called `spotball-core`.
    """
    installed = {"site-packages", "dist-packages"} & set(Path(__file__).parts)
    return name if installed else f"{PACKAGE}/{name}"

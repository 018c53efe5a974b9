"""Choose the names under which this package registers its task, solver and scorer with Inspect."""

from __future__ import annotations

from pathlib import Path

PACKAGE = "spotball_adapters"


def named(name: str) -> str:
    """Return the name to register, so that Inspect finds the object as PACKAGE/NAME in every installation.

    In a regular install, Inspect adds PACKAGE itself. In an editable install it cannot, because it looks for a
    distribution called PACKAGE, and this project's distribution is called `spotball-core`. Then, the name includes it.
    """
    installed = {"site-packages", "dist-packages"} & set(Path(__file__).parts)
    return name if installed else f"{PACKAGE}/{name}"

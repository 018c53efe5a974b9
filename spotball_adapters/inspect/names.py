"""What Inspect calls our objects."""

from __future__ import annotations

from pathlib import Path

PACKAGE = "spotball_adapters"


def named(name: str) -> str:
    """What to register an object as, for Inspect to find it as PACKAGE/NAME however we are installed.

    Inspect adds the package's name where the files are among the installed ones. In an editable install it looks for a
    distribution of the package's name, which ours does not have.
    """
    installed = {"site-packages", "dist-packages"} & set(Path(__file__).parts)
    return name if installed else f"{PACKAGE}/{name}"

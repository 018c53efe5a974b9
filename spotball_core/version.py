"""Find the installed version of spotball-core."""

from __future__ import annotations

from importlib import metadata


def version() -> str:
    """Return the installed version of spotball-core."""
    return metadata.version("spotball-core")

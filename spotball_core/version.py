"""Return the installed version."""

from __future__ import annotations

from importlib import metadata


def version() -> str:
    """Return the version of spotball-core."""
    return metadata.version("spotball-core")

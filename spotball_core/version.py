"""Find the installed version of spotball-core, and state how to install it."""

from __future__ import annotations

from importlib import metadata

PACKAGE = "."
"""What pip installs: the folder of a checkout. At the first release, change this to "spotball-core" and run
`scripts/install_lines.py`."""


def version() -> str:
    """Return the installed version of spotball-core."""
    return metadata.version("spotball-core")


def install_command(extras: str = "") -> str:
    """Return the command that installs the package with extras.

    Examples:
        >>> install_command("report").endswith('[report]"')
        True
    """
    return f'pip install "{PACKAGE}[{extras}]"' if extras else f"pip install {PACKAGE}"

"""Reading a TOML file that a user wrote."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from spotball_core.errors import InputError, Problem


def read_toml(path: Path, wanted: str) -> dict[str, Any]:
    """The tables of a file in UTF-8, with or without a byte order mark.

    Args:
        wanted: what the file is to hold, as the error says it.

    Raises:
        InputError: if there is none, it cannot be read, or it is no TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        found, expected = "nothing there", f"{wanted} (TOML)"
    except (OSError, UnicodeDecodeError) as error:
        found, expected = str(error), "a readable text file in UTF-8"
    except tomllib.TOMLDecodeError as error:
        found, expected = str(error), f"{wanted} (TOML)"
    raise InputError([Problem(str(path), None, "file", found, expected)])

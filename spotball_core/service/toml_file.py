"""Reading a TOML file that a user wrote."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from spotball_core.errors import InputError, Problem

_MOST_BYTES = 2_000_000
"""Larger files take long to parse, and no configuration is as large."""

_DEEPEST_KEY = 200
"""Parts of a dotted key. The time to parse grows with the square of their number."""

_DEEP_KEY = re.compile(rf"(?:^|[{{,])[ \t\[]*(?:[^\s.,=\[\]{{}}]+[ \t]*\.[ \t]*){{{_DEEPEST_KEY}}}", re.MULTILINE)


def read_toml(path: Path, description: str) -> dict[str, Any]:
    """The tables of a file in UTF-8, with or without a byte order mark.

    Args:
        description: what the file is to hold, as the error says it.

    Raises:
        InputError: if there is none, it cannot be read, or it is no TOML.
    """
    try:
        size = path.stat().st_size
        if size > _MOST_BYTES:
            raise InputError([Problem(str(path), None, "file", f"{size} bytes", f"at most {_MOST_BYTES}")])
        text = path.read_text(encoding="utf-8-sig")
        if deep := _DEEP_KEY.search(text):
            line = text.count("\n", 0, deep.end()) + 1
            expected = f"at most {_DEEPEST_KEY} parts"
            raise InputError([Problem(str(path), line, "key", "a key with more dots", expected)])
        return tomllib.loads(text)
    except FileNotFoundError:
        actual, expected = "nothing there", f"{description} (TOML)"
    except (OSError, UnicodeDecodeError) as error:
        actual, expected = str(error), "a readable text file in UTF-8"
    except ValueError as error:  # Beside errors of TOML, one of an integer with thousands of digits.
        actual, expected = str(error), f"{description} (TOML)"
    except RecursionError:
        actual, expected = "tables or lists that are nested too deeply", f"{description} (TOML)"
    raise InputError([Problem(str(path), None, "file", actual, expected)])

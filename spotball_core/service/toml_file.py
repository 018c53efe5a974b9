"""Read TOML files from users."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from spotball_core.errors import InputError, Problem, unreadable_text

_MOST_BYTES = 2_000_000
"""Maximum size in bytes: larger files take long to parse, and configurations are much smaller."""

_DEEPEST_KEY = 200
"""Maximum number of parts in a dotted key. The time to parse grows with the square of this number."""

_DEEP_KEY = re.compile(rf"(?:^|[{{,])[ \t\[]*(?:[^\s.,=\[\]{{}}]+[ \t]*\.[ \t]*){{{_DEEPEST_KEY}}}", re.MULTILINE)


def read_toml(path: Path, description: str) -> dict[str, Any]:
    """Return the content of a TOML file in UTF-8, with or without a byte order mark.

    Args:
        description: the expected content, for the error message.

    Raises:
        InputError: if the file is missing, cannot be read, is too large, is not TOML, or is nested too deeply.
    """
    try:
        size = path.stat().st_size
        if size > _MOST_BYTES:
            raise InputError.of("too-large", path, "file", f"{size} bytes", f"at most {_MOST_BYTES}")
        text = path.read_text(encoding="utf-8-sig")
        if deep := _DEEP_KEY.search(text):
            line = text.count("\n", 0, deep.end()) + 1
            expected = f"at most {_DEEPEST_KEY} parts, separated by dots"
            raise InputError.of("too-large", path, "key", "a key with too many parts", expected, line=line)
        return tomllib.loads(text)
    except FileNotFoundError:
        fix = "Check the path"
        problem = Problem("missing-file", str(path), None, "file", "no such file", f"{description} (TOML)", fix=fix)
        raise InputError([problem]) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([unreadable_text(str(path), error)]) from error
    except ValueError as error:  # ValueError covers errors of TOML, and of integers with thousands of digits.
        actual, expected, fix = str(error), f"{description} (TOML)", "Correct the TOML syntax at this place"
    except RecursionError:
        actual, expected, fix = "tables or lists that are nested too deeply", f"{description} (TOML)", ""
    raise InputError.of("invalid-toml", path, "file", actual, expected, fix=fix)

"""Print each kind of error of a study's server at most once a minute, so that an attack cannot fill the disk."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from spotball_core.service.safe_text import show

EVERY = 60.0
"""Minimum seconds between two lines about the same kind of error."""

MANY = 1000
"""Maximum number of kinds that are remembered."""


class ErrorLog:
    """Print errors to standard error: the first of each kind at once, later ones at most once a minute, with a count.

    Args:
        clock: function that returns the current time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._printed: dict[str, float] = {}
        self._hidden = Counter[str]()

    def print(self, kind: str, text: str) -> None:
        """Print an error, unless an error of the same kind was printed within the last minute."""
        if (more := self.due(kind)) is not None:
            show(f"error: {text}{more}", err=True)

    def due(self, kind: str) -> str | None:
        """Return None if an error of this kind must not be printed now. Otherwise, return the words to add about the
        errors that were not printed: empty if there are none.

        Examples:
            >>> times = iter([0, 1, 2, 61])
            >>> log = ErrorLog(lambda: next(times))
            >>> [log.due("disk") for _ in range(4)]
            ['', None, None, ' (2 more since the last message)']
        """
        now = self._clock()
        if now - self._printed.get(kind, -EVERY) < EVERY:
            self._hidden[kind] += 1
            return None
        if len(self._printed) >= MANY:
            self._printed.clear()
        self._printed[kind] = now
        return f" ({n:,} more since the last message)" if (n := self._hidden.pop(kind, 0)) else ""


class _Filter(logging.Filter):
    """Drop records of the web server and of asyncio that `ErrorLog` would not print."""

    def __init__(self) -> None:
        super().__init__()
        self._log = ErrorLog()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to print a record. The traceback of an OSError is removed, because its text says enough."""
        message, *_ = record.getMessage().splitlines() or [""]
        if (more := self._log.due(f"{record.name} {message}")) is None:
            return False
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, OSError):
            record.exc_info, message = None, f"{message}: {error}"
        record.msg, record.args = f"{message}{more}", ()
        return True


def log_config() -> dict[str, Any]:
    """Return the configuration of the loggers of the web server and of asyncio, for `logging.config.dictConfig`."""
    logger = {"handlers": ["stderr"], "level": "WARNING", "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"once": {"()": _Filter}},
        "formatters": {"line": {"format": "error: %(message)s"}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "filters": ["once"], "formatter": "line"}},
        "loggers": {"uvicorn": logger, "asyncio": logger},
    }

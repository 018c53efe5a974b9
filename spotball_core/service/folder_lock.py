"""Lock a folder for one process. The system releases the lock when the process ends, even if it is killed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from spotball_core.errors import MissingExtraError, OptionError


def locked(path: Path, message: Callable[[], str], *, what: str, extra: str) -> Any:
    """Acquire and return a lock; call its `release` to release it.

    Args:
        path: the lock's file.
        message: returns the error message if another process has the lock.
        what: the feature that needs the lock, for the error about a missing package.
        extra: the extra that installs the package.

    Raises:
        OptionError: if another process has the lock.
        MissingExtraError: if filelock is not installed.
    """
    try:
        from filelock import FileLock, Timeout
    except ImportError as error:
        raise MissingExtraError(what, extra) from error

    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise OptionError(message(), code="in-use") from None
    return lock

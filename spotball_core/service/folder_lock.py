"""One process at a time has a folder, by a lock that the system lets go of when the process ends, however it ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from spotball_core.errors import MissingExtraError, OptionError


def locked(path: Path, message: Callable[[], str], *, what: str, extra: str) -> Any:
    """A lock that is held; `release` lets go of it.

    Args:
        path: the lock's file.
        message: what to say if another process has it.
        what: what needs the lock, as the error about a missing package calls it.
        extra: the extra that brings the package.

    Raises:
        OptionError: if another process has it.
        MissingExtraError: without filelock.
    """
    try:
        from filelock import FileLock, Timeout
    except ImportError as error:
        raise MissingExtraError(what, extra) from error

    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise OptionError(message()) from None
    return lock

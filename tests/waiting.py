"""Wait for a condition in another process or thread, for a limited time."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Return as soon as the condition holds.

    Raises:
        TimeoutError: if it does not hold within this time.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the condition did not hold within {seconds:g} seconds")
        time.sleep(0.005)

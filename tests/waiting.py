"""Wait for a condition in another process or thread, for a limited time."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Return soon after the condition holds.

    The pauses between checks grow with the time waited, from 5 to 30 milliseconds, because checks slow down the other
    process.

    Raises:
        TimeoutError: if it does not hold within this time.
    """
    start = time.monotonic()
    while not condition():
        waited = time.monotonic() - start
        if waited > seconds:
            raise TimeoutError(f"the condition did not hold within {seconds:g} seconds")
        time.sleep(min(max(0.02 * waited, 0.005), 0.03))

"""What goes from one thread to the next: so many at most, in batches."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Stopped(Exception):
    """The engine is to end before its end."""


class Channel(Generic[T]):
    """A queue between threads.

    Args:
        room: who puts more than so many waits.
        stop: once set, whoever waits or puts hears of it by `Stopped`.
        patience: seconds that an unfinished batch waits for more.
    """

    def __init__(self, room: int, stop: threading.Event, *, patience: float = 0.5) -> None:
        self._room, self._stop, self._patience = room, stop, patience
        self._waiting: deque[T] = deque()
        self._changed = threading.Condition()
        self._closed = False

    def put(self, item: T) -> None:
        """Add an item, when there is room."""
        with self._changed:
            self._until(lambda: len(self._waiting) < self._room, None)
            self._waiting.append(item)
            self._changed.notify_all()

    def close(self) -> None:
        """Say that nothing more comes."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def wake(self) -> None:
        """Let those who wait see that the engine is to end."""
        with self._changed:
            self._changed.notify_all()

    def batches(self, size: int) -> Iterator[list[T]]:
        """All there is, in order, in batches of `size` where there are enough in time, until the end."""
        while True:
            with self._changed:
                self._until(lambda: bool(self._waiting) or self._closed, None)
                self._until(lambda: len(self._waiting) >= min(size, self._room) or self._closed, self._patience)
                batch = [self._waiting.popleft() for _ in range(min(size, len(self._waiting)))]
                self._changed.notify_all()
            if not batch:
                return
            yield batch

    def _until(self, ready: Callable[[], bool], patience: float | None) -> None:
        """Wait, with the lock held; no longer than patience has it."""
        end = None if patience is None else time.monotonic() + patience
        while not self._stop.is_set() and not ready():
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return
            self._changed.wait(left)
        if self._stop.is_set():
            raise Stopped

"""A bounded queue between two threads that returns items in batches."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Stopped(Exception):
    """Raised by a channel in the threads that wait for it, if the engine stops before all items are processed."""


class Channel(Generic[T]):
    """A queue between threads, from which a single thread takes batches.

    Args:
        room: maximum number of items. A thread that would add more items waits.
        stop: once this event is set, threads that wait for items or add them raise `Stopped`.
        patience: maximum time in seconds that an incomplete batch waits for more items.
    """

    def __init__(self, room: int, stop: threading.Event, *, patience: float = 0.5) -> None:
        self._room, self._stop, self._patience = room, stop, patience
        self._waiting: deque[T] = deque()
        self._changed = threading.Condition()
        self._closed = False
        # Number of items for which the reading thread waits. Waking it for fewer costs more than many items do.
        self._wanted = 1

    def put(self, item: T) -> None:
        """Add an item, and wait for room if necessary."""
        with self._changed:
            self._until(lambda: len(self._waiting) < self._room, None)
            self._waiting.append(item)
            if len(self._waiting) >= self._wanted:
                self._changed.notify_all()

    def close(self) -> None:
        """State that no more items will be added, so that `batches` ends after the remaining items."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def wake(self) -> None:
        """Wake waiting threads, so that they notice that the engine is stopping."""
        with self._changed:
            self._changed.notify_all()

    def batches(self, size: int) -> Iterator[list[T]]:
        """Yield all items in the order in which they were added, in batches of `size` items.

        A batch has fewer items if no more items arrive within the channel's `patience`, or if no more will be added.
        """
        while True:
            with self._changed:
                self._await_items(1, None)
                self._await_items(min(size, self._room), self._patience)
                batch = [self._waiting.popleft() for _ in range(min(size, len(self._waiting)))]
                self._changed.notify_all()
            if not batch:
                return
            yield batch

    def _await_items(self, wanted: int, patience: float | None) -> None:
        """Wait for this number of items or the end of the channel; see `_until`."""
        self._wanted = wanted
        self._until(lambda: len(self._waiting) >= wanted or self._closed, patience)

    def _until(self, ready: Callable[[], bool], patience: float | None) -> None:
        """Wait until a condition holds, at most `patience` seconds, or without limit if it is None.

        The caller must hold the lock.

        Raises:
            Stopped: if the engine stops.
        """
        end = None if patience is None else time.monotonic() + patience
        while not self._stop.is_set() and not ready():
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return
            self._changed.wait(left)
        if self._stop.is_set():
            raise Stopped

"""Define a thread that processes queued entries in batches, in the order in which they were added."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from queue import SimpleQueue
from typing import Generic, TypeVar

Entry = TypeVar("Entry")


class BatchThread(ABC, Generic[Entry]):
    """A thread that processes queued entries in batches. Subclasses define how a batch is processed.

    Args:
        most: maximum number of entries in a batch; None to process all waiting entries as one batch.
        daemon: whether the program may end without waiting for the thread.
    """

    def __init__(self, name: str, *, most: int | None = None, daemon: bool = False) -> None:
        self._most = most
        self._queue: SimpleQueue[Entry | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=daemon)
        self._thread.start()

    def put(self, entry: Entry) -> None:
        """Add an entry to the queue, without waiting until it is processed."""
        self._queue.put(entry)

    def finish(self) -> None:
        """Let the thread end after it has processed all queued entries, without waiting for it."""
        self._queue.put(None)

    def close(self) -> None:
        """Process all waiting entries, and wait until the thread has ended."""
        self.finish()
        self._thread.join()

    @abstractmethod
    def _do(self, batch: list[Entry]) -> None:
        """Process a batch; called in the thread."""

    def _run(self) -> None:
        closing = False
        while not closing:
            entries = [self._queue.get()]
            while not self._queue.empty() and len(entries) != self._most:
                entries.append(self._queue.get())
            batch = [entry for entry in entries if entry is not None]
            closing = len(batch) < len(entries)
            if batch:
                self._do(batch)

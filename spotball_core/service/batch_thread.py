"""A thread that takes what is put in a queue, in order, in batches of all that wait."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from queue import SimpleQueue
from typing import Generic, TypeVar

Entry = TypeVar("Entry")


class BatchThread(ABC, Generic[Entry]):
    """A thread that starts at once; subclasses say what it does with a batch.

    Args:
        most: entries in a batch, at most; None for all that wait.
        daemon: the program does not wait for the thread when it ends.
    """

    def __init__(self, name: str, *, most: int | None = None, daemon: bool = False) -> None:
        self._most = most
        self._queue: SimpleQueue[Entry | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=daemon)
        self._thread.start()

    def put(self, entry: Entry) -> None:
        """Add an entry; returns at once."""
        self._queue.put(entry)

    def finish(self) -> None:
        """Have the thread do what waits, and end; returns at once."""
        self._queue.put(None)

    def close(self) -> None:
        """Have the thread do what waits, and end; returns when it has ended."""
        self.finish()
        self._thread.join()

    @abstractmethod
    def _do(self, batch: list[Entry]) -> None:
        """Do a batch, in the thread."""

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

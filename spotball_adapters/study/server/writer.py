"""One thread that writes: what has queued up is one transaction, and nobody is answered before it is on disk."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from spotball_core.service.sqlite_file import faults_told

T = TypeVar("T")

AT_ONCE = 256
"""Jobs in one transaction, at most: so that the first of many does not wait for the last."""


class Writer:
    """Does jobs on a connection in the order they are handed over. Nobody else writes to it meanwhile.

    Args:
        connection: to the store.
        path: the store's file, as errors name it.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path
        self._queue: SimpleQueue[tuple[Callable[[sqlite3.Connection], Any], Future[Any]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="spotball-study-writer")
        self._thread.start()

    def do(self, job: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Hand over a job. The future has its result once it is on disk, or why it is not; then nothing of it is."""
        future: Future[T] = Future()
        self._queue.put((job, future))
        return future

    def close(self) -> None:
        """Do what waits, and end."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        closing = False
        while not closing:
            batch = [self._queue.get()]
            while not self._queue.empty() and len(batch) < AT_ONCE:
                batch.append(self._queue.get())
            jobs = [entry for entry in batch if entry is not None]
            closing = len(jobs) < len(batch)
            if jobs:
                self._transaction(jobs)

    def _transaction(self, jobs: list[tuple[Callable[[sqlite3.Connection], Any], Future[Any]]]) -> None:
        done: list[tuple[Future[Any], Any]] = []
        failed: list[tuple[Future[Any], Exception]] = []
        try:
            with faults_told(self._path):
                self._connection.execute("BEGIN IMMEDIATE")
                with self._connection:
                    for job, future in jobs:
                        self._connection.execute("SAVEPOINT job")
                        try:
                            done.append((future, job(self._connection)))
                        except Exception as error:
                            if not self._connection.in_transaction:
                                # SQLite has taken all of it back, as it does on a full disk.
                                raise
                            # It fails alone: the others have nothing to do with it.
                            self._connection.execute("ROLLBACK TO job")
                            failed.append((future, error))
                        self._connection.execute("RELEASE job")
        except Exception as error:
            # Whatever it is, the thread goes on and who waits hears of it.
            told = {future for future, _ in failed}
            failed += [(future, error) for _, future in jobs if future not in told]
            done = []
        # Whoever waits may have gone away with a lost connection.
        for future, result in done:
            if future.set_running_or_notify_cancel():
                future.set_result(result)
        for future, why in failed:
            if future.set_running_or_notify_cancel():
                future.set_exception(why)

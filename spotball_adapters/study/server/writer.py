"""One thread that writes: what has queued up is one transaction, and nobody is answered before it is on disk."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from spotball_adapters.study.databases import Connection, Store
from spotball_core.service.batch_thread import BatchThread

T = TypeVar("T")
Job = Callable[[Connection], Any]

AT_ONCE = 256
"""Jobs in one transaction, at most: so that the first of many does not wait for the last."""


class EventWriter(BatchThread[tuple[Job, "Future[Any]"]]):
    """Does jobs on a store in the order they are handed over."""

    def __init__(self, store: Store) -> None:
        self._store = store
        super().__init__("spotball-study-writer", most=AT_ONCE)

    def do(self, job: Callable[[Connection], T]) -> Future[T]:
        """Hand over a job. The future has its result once it is on disk, or why it is not; then nothing of it is."""
        future: Future[T] = Future()
        self.put((job, future))
        return future

    def _do(self, batch: list[tuple[Job, Future[Any]]]) -> None:
        results: list[tuple[Future[Any], Any]] = []
        failed: list[tuple[Future[Any], Exception]] = []
        try:
            with self._store.transaction() as connection:
                for job, future in batch:
                    connection.execute("SAVEPOINT job")
                    try:
                        results.append((future, job(connection)))
                    except Exception as error:
                        if not connection.in_transaction:
                            # SQLite has taken all of it back, as it does on a full disk.
                            raise
                        # It fails alone: the others have nothing to do with it.
                        connection.execute("ROLLBACK TO job")
                        failed.append((future, error))
                    connection.execute("RELEASE job")
        except Exception as error:
            # Whatever it is, the thread goes on and who waits hears of it.
            alone = {future for future, _ in failed}
            failed += [(future, error) for _, future in batch if future not in alone]
            results = []
        # Whoever waits may have gone away with a lost connection.
        for future, result in results:
            if future.set_running_or_notify_cancel():
                future.set_result(result)
        for future, why in failed:
            if future.set_running_or_notify_cancel():
                future.set_exception(why)

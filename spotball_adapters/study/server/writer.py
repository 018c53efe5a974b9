"""Write to the store in one thread. Waiting jobs share a transaction, and get their results once it is on disk."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from spotball_adapters.study.databases import Connection, Store
from spotball_core.service.batch_thread import BatchThread

T = TypeVar("T")
Job = Callable[[Connection], Any]

AT_ONCE = 256
"""Maximum number of jobs per transaction, which limits how long the first job of a transaction waits."""


class EventWriter(BatchThread[tuple[Job, "Future[Any]"]]):
    """Execute jobs on a store in one thread, in the order in which they are submitted."""

    def __init__(self, store: Store) -> None:
        self._store = store
        super().__init__("spotball-study-writer", most=AT_ONCE)

    def do(self, job: Callable[[Connection], T]) -> Future[T]:
        """Submit a job, and return a future with its result, which is set once the job's changes are on disk. If the
        job fails, the future raises the error, and none of the job's changes are stored.
        """
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
                            # SQLite has rolled back the whole transaction, for example because the disk is full.
                            raise
                        # Only this job fails. The other jobs are independent of it.
                        connection.execute("ROLLBACK TO job")
                        failed.append((future, error))
                    connection.execute("RELEASE job")
        except Exception as error:
            # After any error, the thread continues, and the waiting callers receive the error.
            alone = {future for future, _ in failed}
            failed += [(future, error) for _, future in batch if future not in alone]
            results = []
        # The caller may have ended because its connection was lost.
        for future, result in results:
            if future.set_running_or_notify_cancel():
                future.set_result(result)
        for future, why in failed:
            if future.set_running_or_notify_cancel():
                future.set_exception(why)

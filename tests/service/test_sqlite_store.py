"""Test the features that all SQLite stores share: closing, transactions, and the lock of a folder."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from spotball_core.service.batch_thread import BatchThread
from spotball_core.service.sqlite_file import DamagedStoreError, Schema, StoreError, Table
from spotball_core.service.sqlite_store import SqliteStore
from tests.failures import raises


class Names:
    name: str


SCHEMA = Schema(1, (Table(Names, ("name",)),), start_over="delete it")


class Lock:
    """Count how often the lock is released."""

    released = 0

    def release(self) -> None:
        self.released += 1


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


def _insert_and_raise(store: SqliteStore) -> None:
    with store.transaction() as connection:
        connection.execute("INSERT INTO names VALUES ('a')")
        raise ZeroDivisionError


def test_transaction_that_raises_an_error_stores_no_rows(path: Path) -> None:
    with SqliteStore(path, SCHEMA) as store:
        with pytest.raises(ZeroDivisionError):
            _insert_and_raise(store)
        with store.transaction() as connection:
            connection.execute("INSERT INTO names VALUES ('b')")
    with SqliteStore(path, SCHEMA, read=True) as store:
        assert store.rows("SELECT name FROM names WHERE name > ?", "") == [("b",)]
        assert store.version == 1


def test_sqlite_errors_in_queries_and_transactions_raise_store_error(path: Path) -> None:
    with SqliteStore(path, SCHEMA) as store:
        with raises(StoreError, "unusable-store"):
            store.rows("SELECT * FROM other")
        with raises(StoreError, "unusable-store"), store.transaction() as connection:
            connection.execute("INSERT INTO names VALUES (NULL)")
    with SqliteStore(path, SCHEMA, read=True) as store, raises(StoreError, "unusable-store"):
        store.rows("INSERT INTO names VALUES ('a')")


def test_lock_of_a_store_is_released_when_the_store_closes_or_cannot_be_opened(path: Path) -> None:
    lock = Lock()
    with SqliteStore(path, SCHEMA, lock=lock):
        pass
    assert lock.released == 1
    path.write_bytes(b"")
    with pytest.raises(DamagedStoreError):
        SqliteStore(path, SCHEMA, lock=lock)
    assert lock.released == 2


def test_transactions_of_several_threads_are_all_stored(path: Path) -> None:
    with SqliteStore(path, SCHEMA) as store:

        def add(first: int) -> None:
            for number in range(first, first + 50):
                with store.transaction() as connection:
                    connection.execute("INSERT INTO names VALUES (?)", (str(number),))
                assert (str(number),) in store.rows("SELECT name FROM names")

        threads = [threading.Thread(target=add, args=(first,)) for first in (0, 50, 100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
        assert store.rows("SELECT count(*) FROM names") == [(150,)]


def test_batch_thread_processes_items_in_order_in_batches_of_limited_size() -> None:
    gate, batches = threading.Event(), list[list[int]]()

    class Slow(BatchThread[int]):
        def _do(self, batch: list[int]) -> None:
            gate.wait(10)
            batches.append(batch)

    thread = Slow("slow", most=3)
    for number in range(8):
        thread.put(number)
    gate.set()
    thread.close()
    assert [number for batch in batches for number in batch] == list(range(8))
    assert max(len(batch) for batch in batches) <= 3

"""Test SQLite stores: they are created completely or not at all, checked when opened, and never replaced."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from spotball_core.service.sqlite_file import (
    DamagedStoreError,
    Schema,
    StoreError,
    Table,
    connect,
    open_store,
    read_only,
    sqlite_errors,
)
from tests.damage import DAMAGES, PAGE
from tests.failures import raises


class Texts:
    name: str
    text: str


class Notes:
    note: str | None


SCHEMA = Schema(1, (Table(Texts, ("name",)),), start_over="start over elsewhere")
LATER = Schema(2, (*SCHEMA.tables, Table(Notes, ("note",))), start_over=SCHEMA.start_over)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


@pytest.fixture
def filled(path: Path) -> Path:
    with closing(open_store(path, SCHEMA)) as connection, connection:
        connection.executemany("INSERT INTO texts VALUES (?, ?)", [(str(n), "text " * 100) for n in range(99)])
    assert path.stat().st_size > 5 * PAGE
    return path


def names(connection: sqlite3.Connection) -> list[str]:
    return [name for (name,) in connection.execute("SELECT name FROM texts ORDER BY CAST(name AS INTEGER)")]


def test_open_store_creates_one_durable_private_file_and_for_a_folder_raises_store_error(path: Path) -> None:
    with closing(open_store(path, SCHEMA, mode=0o600)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_nlink == 1
    (path.parent / "folder").mkdir()
    with raises(StoreError, "unusable-store"):
        open_store(path.parent / "folder", SCHEMA)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("use", [open_store, read_only])
def test_opening_a_damaged_file_raises_damaged_store_error_and_leaves_the_file_unchanged(
    filled: Path, damage: str, use: object
) -> None:
    DAMAGES[damage](filled)
    before = filled.read_bytes()
    with raises(DamagedStoreError, "damaged-store") as error:
        use(filled, SCHEMA)  # type: ignore[operator]
    assert error.value.file == str(filled)
    assert SCHEMA.start_over in str(error.value)
    assert filled.read_bytes() == before


def test_opening_an_empty_file_raises_damaged_store_error_and_keeps_the_write_ahead_log(filled: Path) -> None:
    DAMAGES["empty"](filled)
    log = filled.with_name("store.sqlite-wal")
    log.write_bytes(b"what could be recovered")
    for use in (open_store, read_only, connect):
        with raises(DamagedStoreError, "damaged-store"):
            use(filled, SCHEMA)
    assert log.read_bytes() == b"what could be recovered"


def test_open_store_of_a_missing_file_with_a_write_ahead_log_raises_an_error_and_creates_no_file(filled: Path) -> None:
    # After a kill, the last transactions are only in the write-ahead log.
    with closing(open_store(filled, SCHEMA)) as connection, connection:
        connection.execute("INSERT INTO texts VALUES ('new', '')")
        connection.commit()
        log = filled.with_name("store.sqlite-wal").read_bytes()
    filled.unlink()
    filled.with_name("store.sqlite-wal").write_bytes(log)
    with raises(DamagedStoreError, "damaged-store"):
        open_store(filled, SCHEMA)
    assert not filled.exists()


def test_sqlite_errors_raises_damaged_store_error_for_damage_found_by_a_query(filled: Path) -> None:
    with closing(connect(filled, SCHEMA)):
        pass
    DAMAGES["overwritten page"](filled)
    # Later connections do not check the whole file again.
    with (
        closing(connect(filled, SCHEMA)) as connection,
        raises(DamagedStoreError, "damaged-store"),
        sqlite_errors(filled),
    ):
        connection.execute("SELECT sum(length(text)) FROM texts").fetchall()


def test_every_connection_reads_the_rows_and_open_store_adds_the_tables_of_a_later_schema(filled: Path) -> None:
    uses = (open_store, connect, read_only)
    for opened in (*(use(filled, SCHEMA) for use in uses), read_only(filled, LATER)):
        with closing(opened) as connection:
            assert names(connection) == [str(n) for n in range(99)]
    with closing(open_store(filled, LATER)) as connection:
        assert connection.execute("SELECT * FROM notes").fetchall() == []
        assert len(names(connection)) == 99
    for use in uses:
        with raises(StoreError, "newer-version"):
            use(filled, SCHEMA)


@pytest.mark.parametrize("opened", [open_store, read_only])
def test_opening_a_store_rolls_back_a_transaction_interrupted_by_a_kill(
    path: Path, opened: Callable[[Path, Schema], sqlite3.Connection]
) -> None:
    schema = replace(SCHEMA, wal=False)
    open_store(path, schema).close()
    process = multiprocessing.get_context("spawn").Process(target=_write_and_die, args=(path, schema))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert path.with_name(f"{path.name}-journal").stat().st_size
    with closing(opened(path, schema)) as connection:
        assert names(connection) == []


@pytest.mark.parametrize("opened", [open_store, read_only])
def test_opening_a_text_file_raises_damaged_store_error_and_keeps_the_journal_next_to_it(
    path: Path, opened: Callable[[Path, Schema], sqlite3.Connection]
) -> None:
    journal = path.with_name(f"{path.name}-journal")
    path.write_text("text " * 2000)
    journal.write_text("another text")
    with raises(DamagedStoreError, "damaged-store"):
        opened(path, SCHEMA)
    assert (path.read_text(), journal.read_text()) == ("text " * 2000, "another text")


def _write_and_die(path: Path, schema: Schema) -> None:
    connection = connect(path, schema)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO texts VALUES (?, ?)", [(str(n), "text " * 100) for n in range(99)])
    os.kill(os.getpid(), signal.SIGKILL)


def _add(path: Path, number: int) -> None:
    with closing(open_store(path, SCHEMA)) as connection, connection:
        connection.execute("INSERT INTO texts VALUES (?, '')", (str(number),))


@pytest.mark.slow
def test_processes_that_create_a_store_at_the_same_time_share_one_file(path: Path) -> None:
    started = multiprocessing.get_context("spawn")
    processes = [started.Process(target=_add, args=(path, number)) for number in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0, 0]
    with closing(read_only(path, SCHEMA)) as connection:
        assert names(connection) == ["0", "1", "2", "3"]
    assert [file.name for file in path.parent.iterdir() if file.name.startswith(".")] == []

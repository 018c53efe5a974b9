"""SQLite stores: created whole or not at all, checked when opened, and never replaced."""

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
    Column,
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

SCHEMA = Schema(
    1,
    {"texts": Table("Texts.", ("name",), (Column("name", "TEXT", "its name"), Column("text", "TEXT NOT NULL", "it")))},
    start_over="start over in another folder",
)
NOTES = Table("Notes.", ("note",), (Column("note", "TEXT", "what it says"),))
LATER = Schema(2, {**SCHEMA.tables, "notes": NOTES}, start_over=SCHEMA.start_over)


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


def test_what_was_stored_is_read_by_every_kind_of_connection(filled: Path) -> None:
    for opened in (open_store(filled, SCHEMA), connect(filled, SCHEMA), read_only(filled, SCHEMA)):
        with closing(opened) as connection:
            assert names(connection) == [str(n) for n in range(99)]


def test_a_new_store_outlives_a_power_cut_and_leaves_no_other_file(path: Path) -> None:
    with closing(open_store(path, SCHEMA, mode=0o600)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_nlink == 1


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("use", [open_store, read_only])
def test_damage_is_reported_and_the_file_is_left_unchanged(filled: Path, damage: str, use: object) -> None:
    DAMAGES[damage](filled)
    before = filled.read_bytes()
    with pytest.raises(DamagedStoreError) as error:
        use(filled, SCHEMA)  # type: ignore[operator]
    assert str(error.value).startswith(f"{filled}: the file ")
    assert str(error.value).endswith(". Restore it from a backup, or start over in another folder")
    assert filled.read_bytes() == before


def test_an_empty_file_keeps_its_log(filled: Path) -> None:
    DAMAGES["empty"](filled)
    log = filled.with_name("store.sqlite-wal")
    log.write_bytes(b"what could be recovered")
    for use in (open_store, read_only, connect):
        with pytest.raises(DamagedStoreError, match="the file is empty"):
            use(filled, SCHEMA)
    assert log.read_bytes() == b"what could be recovered"


def test_a_lost_file_whose_log_is_there_is_not_begun_again(filled: Path) -> None:
    # As after a kill: the last transactions are in the log alone.
    with closing(open_store(filled, SCHEMA)) as connection, connection:
        connection.execute("INSERT INTO texts VALUES ('new', '')")
        connection.commit()
        log = filled.with_name("store.sqlite-wal").read_bytes()
    filled.unlink()
    filled.with_name("store.sqlite-wal").write_bytes(log)
    with pytest.raises(DamagedStoreError, match=r"the file is missing, but its log store\.sqlite-wal exists"):
        open_store(filled, SCHEMA)
    assert not filled.exists()


def test_damage_found_later_is_reported_too(filled: Path) -> None:
    with closing(connect(filled, SCHEMA)):
        pass
    DAMAGES["overwritten page"](filled)
    # Other threads connect without checking the whole file again.
    with (
        closing(connect(filled, SCHEMA)) as connection,
        pytest.raises(DamagedStoreError, match="Restore it from a backup"),
        sqlite_errors(filled),
    ):
        connection.execute("SELECT sum(length(text)) FROM texts").fetchall()


def test_a_store_of_an_earlier_version_gets_the_tables_that_it_lacks(filled: Path) -> None:
    with closing(read_only(filled, LATER)) as connection:
        assert len(names(connection)) == 99
    with closing(open_store(filled, LATER)) as connection:
        assert connection.execute("SELECT * FROM notes").fetchall() == []
        assert len(names(connection)) == 99
    for use in (open_store, read_only, connect):
        with pytest.raises(
            StoreError,
            match=(
                r"later version of spotball-core wrote this file \(schema 2, expected at most "
                r"1\)"
            ),
        ):
            use(filled, SCHEMA)


@pytest.mark.parametrize("opened", [open_store, read_only])
def test_open_undoes_a_transaction_that_a_kill_interrupted(
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
def test_open_of_a_text_file_keeps_the_file_next_to_it(
    path: Path, opened: Callable[[Path, Schema], sqlite3.Connection]
) -> None:
    journal = path.with_name(f"{path.name}-journal")
    path.write_text("text " * 2000)
    journal.write_text("another text")
    with pytest.raises(DamagedStoreError, match="not a database"):
        opened(path, SCHEMA)
    assert (path.read_text(), journal.read_text()) == ("text " * 2000, "another text")


def _write_and_die(path: Path, schema: Schema) -> None:
    connection = connect(path, schema)
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO texts VALUES (?, ?)", [(str(n), "text " * 100) for n in range(99)])
    os.kill(os.getpid(), signal.SIGKILL)


def test_what_is_not_a_regular_file_is_refused(path: Path) -> None:
    path.mkdir()
    with pytest.raises(StoreError, match="not a regular file"):
        open_store(path, SCHEMA)


def _add(path: Path, number: int) -> None:
    with closing(open_store(path, SCHEMA)) as connection, connection:
        connection.execute("INSERT INTO texts VALUES (?, '')", (str(number),))


@pytest.mark.slow
def test_processes_that_create_it_at_once_share_one_file(path: Path) -> None:
    started = multiprocessing.get_context("spawn")
    processes = [started.Process(target=_add, args=(path, number)) for number in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0, 0]
    with closing(read_only(path, SCHEMA)) as connection:
        assert names(connection) == ["0", "1", "2", "3"]
    assert [file.name for file in path.parent.iterdir() if file.name.startswith(".")] == []

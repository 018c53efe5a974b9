"""SQLite files whose transactions outlive a kill and a power cut (write-ahead log, synchronous=FULL)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from spotball_core.errors import SpotballError


class StoreError(SpotballError):
    """A store that cannot be read or written."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    type: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table. `key` names the columns that make a row one of its own."""

    meaning: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    def sql(self, name: str) -> str:
        """The statement that makes it."""
        columns = ", ".join(f"{column.name} {column.type}" for column in self.columns)
        return f"CREATE TABLE {name} ({columns}, PRIMARY KEY ({', '.join(self.key)}))"


def connect(path: Path, version: int) -> sqlite3.Connection:
    """A connection to a store, made if it is missing; any one thread at a time may use it.

    Args:
        version: of the schema, as it is known here.

    Raises:
        StoreError: if it cannot be opened, or a later version of the package made it.
    """
    with faults_told(path):
        connection = sqlite3.connect(path, timeout=60, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            if (found := version_of(connection)) > version:
                raise StoreError(
                    f"{path}: made by a later version of spotball-core (schema {found}, known is {version})"
                )
        except BaseException:
            connection.close()
            raise
    return connection


def create(connection: sqlite3.Connection, tables: Mapping[str, Table], version: int) -> None:
    """Make the tables, all or none, unless they are there."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        if not version_of(connection):
            for name, table in tables.items():
                connection.execute(table.sql(name))
            connection.execute(f"PRAGMA user_version = {version}")


def version_of(connection: sqlite3.Connection) -> int:
    """The schema's version; 0 of a store in which nothing was made yet."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


@contextmanager
def faults_told(path: Path) -> Iterator[None]:
    """Faults of SQLite as StoreError, with what to do."""
    try:
        yield
    except sqlite3.Error as error:
        said = str(error)
        full = "full" in said or "disk" in said
        advice = ". Make room on the disk and run again: what was stored is safe, and is not done again" if full else ""
        raise StoreError(f"{path}: {said}{advice}") from error


def now() -> str:
    """The time, as ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")

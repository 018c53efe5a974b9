"""Open SQLite files whose transactions survive a kill and a power failure (write-ahead log, synchronous=FULL)."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import NoneType
from typing import get_args, get_type_hints

from spotball_core.error_codes import Code
from spotball_core.errors import SpotballError

_MAGIC = b"SQLite format 3\0"
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class StoreError(SpotballError):
    """Raised for a store that cannot be read or written."""

    code: Code = "unusable-store"


class DamagedStoreError(StoreError):
    """Raised for a store whose file is empty or damaged. The file is left unchanged."""

    code = "damaged-store"


SQLITE_TYPES: Mapping[type, str] = {str: "TEXT", int: "INTEGER", float: "REAL", bytes: "BLOB"}


@dataclass(frozen=True)
class Table:
    """A table of a store.

    Attributes:
        record: a class that annotates each column with its type, and describes it in its docstring. `str | None` allows
            null, and `Annotated` adds constraints in SQL. The table has its name, in lower case.
        key: columns of the primary key.
        unique: columns whose combination of values must be unique, too.
    """

    record: type
    key: tuple[str, ...]
    unique: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the table."""
        return self.record.__name__.lower()

    def columns(self) -> dict[str, tuple[type, tuple[str, ...]]]:
        """Return the type and the constraints of each column, by name."""
        columns = {}
        for name, hint in get_type_hints(self.record, include_extras=True).items():
            constraints: tuple[str, ...] = getattr(hint, "__metadata__", ())
            kind, *null = get_args(hint) or (hint,)
            columns[name] = (kind, (() if NoneType in null else ("NOT NULL",)) + constraints)
        return columns

    def sql(self, types: Mapping[type, str] = SQLITE_TYPES, identity: str = "") -> str:
        """Return the statement that creates the table.

        Args:
            types: the SQL type of each Python type.
            identity: a constraint that numbers the rows; it is added to a primary key of one integer.
        """
        parts = []
        for name, (kind, constraints) in self.columns().items():
            numbered = self.key == (name,) and kind is int
            parts.append(" ".join((name, types[kind], *constraints, identity if numbered else "")))
        parts.append(f"PRIMARY KEY ({', '.join(self.key)})")
        if self.unique:
            parts.append(f"UNIQUE ({', '.join(self.unique)})")
        return f"CREATE TABLE {self.name} ({', '.join(parts)})"


@dataclass(frozen=True, slots=True)
class Schema:
    """The schema of a kind of store (an SQLite file with fixed tables).

    Attributes:
        version: version of the tables, which is stored in the file.
        tables: the tables. Tables that a store of an earlier version lacks are created when it is opened.
        start_over: how a user can start over if a store of this kind is damaged, and what that costs. It completes the
            sentence "Restore it from a backup, or ...".
        indexes: SQL statements that each create an index if it is missing.
        application: number that distinguishes this kind of store from other SQLite files; 0 for none.
        wal: whether to use a write-ahead log, so that other processes can read while one writes.
    """

    version: int
    tables: Sequence[Table]
    start_over: str
    indexes: Sequence[str] = ()
    application: int = 0
    wal: bool = True


def open_store(path: Path, schema: Schema, *, mode: int = 0o666) -> sqlite3.Connection:
    """Check and open a store, or create it if the file is missing; return the connection.

    An existing file is never replaced, because this could lose or repeat paid work. A new store gets its name only
    after its tables were created, so a file without tables is damaged.

    Args:
        mode: permissions of a new file, before the umask.

    Raises:
        DamagedStoreError: if the file is empty, damaged or not a store of this kind, or is missing but has a log.
        StoreError: if the file cannot be opened or created, or was made by a later version of the package.
    """
    with sqlite_errors(path):
        if path.exists():
            # A writable connection would apply the log to a damaged file.
            read_only(path, schema).close()
        else:
            _create(path, schema, mode)
        connection = connect(path, schema)
        try:
            if version_of(connection) < schema.version:
                _upgrade(connection, schema)
            for index in schema.indexes:
                connection.execute(index)
        except BaseException:
            connection.close()
            raise
    return connection


def connect(path: Path, schema: Schema) -> sqlite3.Connection:
    """Return another connection to an existing store; only one thread at a time may use it.

    Raises:
        DamagedStoreError: if the file is empty or not a store of this kind.
        StoreError: if the file cannot be opened, or was made by a later version of the package.
    """
    _check_file(path, schema)
    with sqlite_errors(path):
        connection = sqlite3.connect(path, timeout=60, check_same_thread=False)
        try:
            _check_kind(path, schema, connection)
            if schema.wal:
                connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.close()
            raise
    return connection


def read_only(path: Path, schema: Schema) -> sqlite3.Connection:
    """Return a read-only connection, usable while another process writes; only one thread at a time may use it.

    A transaction that a kill interrupted is undone first.

    Raises:
        DamagedStoreError: if the file is empty, damaged or not a store of this kind.
        StoreError: if the file cannot be opened, or was made by a later version of the package.
    """
    _check_file(path, schema)
    with sqlite_errors(path):
        _roll_back(path, schema)
        uri = f"{path.resolve().as_uri()}?mode=ro"
        connection = sqlite3.connect(uri, uri=True, timeout=60, check_same_thread=False)
        try:
            _check_kind(path, schema, connection)
            _check_content(path, schema, connection)
        except BaseException:
            connection.close()
            raise
    return connection


def version_of(connection: sqlite3.Connection) -> int:
    """Return the version of the file's schema; 0 if the file has none."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Convert SQLite errors to StoreError, with advice for the user."""
    try:
        yield
    except sqlite3.Error as error:
        message = str(error)
        if getattr(error, "sqlite_errorcode", None) in _DAMAGED:
            raise DamagedStoreError(f"the file is damaged ({message}). Restore it from a backup", file=path) from error
        full = "full" in message or "disk" in message
        advice = (
            ". Free space on the disk and run the command again. Stored results are safe and are not repeated"
            if full
            else ""
        )
        raise StoreError(f"{message}{advice}", file=path) from error


def _create(path: Path, schema: Schema, mode: int) -> None:
    """Create a store under a temporary name, then rename it, unless another process has created it meanwhile."""
    if (log := path.with_name(f"{path.name}-wal")).exists() and log.stat().st_size:
        # SQLite would apply the log of the lost file to the new one.
        raise _damaged(path, schema, f"the file is missing, but its log {log.name} exists")
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    try:
        with closing(sqlite3.connect(fresh)) as connection, connection:
            connection.execute("BEGIN")
            for table in schema.tables:
                connection.execute(f"{table.sql()} STRICT")
            connection.execute(f"PRAGMA application_id = {schema.application}")
            connection.execute(f"PRAGMA user_version = {schema.version}")
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass
        except OSError:
            # The file system has no hard links.
            fresh.rename(path)
    finally:
        fresh.unlink(missing_ok=True)


def _roll_back(path: Path, schema: Schema) -> None:
    """Undo the transaction of a process that was killed while it wrote. A read-only connection cannot undo it."""
    if not path.with_name(f"{path.name}-journal").exists():
        return
    with path.open("rb") as file:
        # For a file of another kind, SQLite would delete the neighboring file, which is not a journal then.
        if file.read(len(_MAGIC)) != _MAGIC:
            raise _damaged(path, schema, "the file is damaged (file is not a database)")
    with closing(sqlite3.connect(path, timeout=60)) as connection:
        version_of(connection)


def _check_file(path: Path, schema: Schema) -> None:
    # Check before SQLite opens the file: for an empty file, SQLite deletes the log, which may allow recovery.
    if path.exists() and not path.is_file():
        raise StoreError("not a regular file", file=path)
    if path.exists() and not path.stat().st_size:
        raise _damaged(path, schema, "the file is empty")


def _check_kind(path: Path, schema: Schema, connection: sqlite3.Connection) -> None:
    try:
        version, application = version_of(connection), connection.execute("PRAGMA application_id").fetchone()[0]
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", None) not in _DAMAGED:
            raise
        raise _damaged(path, schema, f"the file is damaged ({error})") from error
    if not version or application != schema.application:
        raise _damaged(path, schema, "the file was written by another program, or by spotball-core for another purpose")
    if version > schema.version:
        raise StoreError(
            f"a later version of spotball-core wrote this file (schema {version}, expected at most "
            f"{schema.version}). Update spotball-core",
            code="newer-version",
            file=path,
        )


def _check_content(path: Path, schema: Schema, connection: sqlite3.Connection) -> None:
    try:
        fault = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        if version_of(connection) == schema.version and (lacking := {table.name for table in schema.tables} - tables):
            fault = f"the table {min(lacking)} is missing"
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", None) not in _DAMAGED:
            raise
        fault = str(error)
    if fault != "ok":
        raise _damaged(path, schema, f"the file is damaged ({' '.join(fault.split())})")


def _upgrade(connection: sqlite3.Connection, schema: Schema) -> None:
    """Create the tables that an earlier version did not have. If creating one of them fails, none is created."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        for table in schema.tables:
            if table.name not in tables:
                connection.execute(f"{table.sql()} STRICT")
        connection.execute(f"PRAGMA user_version = {schema.version}")


def _damaged(path: Path, schema: Schema, fault: str) -> DamagedStoreError:
    return DamagedStoreError(f"{fault}. Restore it from a backup, or {schema.start_over}", file=path)


def now() -> str:
    """Return the current time in UTC, in the format of ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")

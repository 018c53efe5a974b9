"""Define how a study accesses its database, and implement the access to PostgreSQL.

PostgreSQL can replace the SQLite files.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar

from pydantic import StringConstraints, ValidationError

from spotball_core.errors import InputError, MissingExtraError
from spotball_core.schema.faults import problems_of_record
from spotball_core.schema.record import Record
from spotball_core.service.sqlite_file import Schema, StoreError
from spotball_core.service.toml_file import read_toml

STUDY_FILE = "study.toml"
PILOT = "pilot-"
"""Prefix of the names of pilots' folders."""

_TYPES = {int: "BIGINT", float: "DOUBLE PRECISION", bytes: "BYTEA", str: 'TEXT COLLATE "C"'}
"""PostgreSQL type for each Python type. Texts are compared by code point, as in SQLite."""

T = TypeVar("T")


class Connection(Protocol):
    """Interface of a database connection. SQL statements contain `?` as the placeholder of each value."""

    @property
    def in_transaction(self) -> bool:
        """Return whether a transaction is open."""

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Any:
        """Execute a statement, and return a cursor over the resulting rows."""

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> Any:
        """Execute a statement once for each sequence of values in `parameters`."""


class Store(Protocol):
    """Interface of a store of tables: an SQLite file, or a schema of a PostgreSQL database."""

    @property
    def path(self) -> Path | str:
        """Return the store's location, for use in messages."""

    def rows(self, query: str, *values: object) -> list[Any]:
        """Return the rows of a query."""

    def transaction(self) -> Any:
        """Return a context manager that yields a `Connection`. If the block raises an error, no change is stored."""


class DatabaseConfig(Record):
    """A PostgreSQL database, which allows several server processes to serve a study.

    Attributes:
        url: address such as postgresql://study@db.example.org/studies, without a password.
        schema_name: name of the schema with the study's tables. Participants' platform IDs are stored in a second
            schema, whose name ends in _identities.
    """

    url: Annotated[str, StringConstraints(pattern=r"^postgres(ql)?://[^\s]*$")]
    schema_name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,40}$")] = "spotball_study"

    @property
    def has_password(self) -> bool:
        """Return whether the address contains a password."""
        return bool(re.match(r"^[a-z]+://[^/@]*:[^/@]+@|.*[?&]password=", self.url))

    @property
    def place(self) -> str:
        """Return the database's address and the schema's name for messages, without a password."""
        url = re.sub(r"^([a-z]+://)[^/@]*@", r"\1", self.url).partition("?")[0]
        return f"{url}, schema {self.schema_name}"


def database_of(folder: Path) -> DatabaseConfig | None:
    """Return the PostgreSQL database that stores the data of a study's or pilot's folder, or None for SQLite files.

    The table [database] of study.toml names this database.

    Raises:
        InputError: if study.toml cannot be read, or if its table [database] is invalid.
    """
    is_pilot = folder.name.startswith(PILOT) and not (folder / STUDY_FILE).exists()
    path = (folder.parent if is_pilot else folder) / STUDY_FILE
    if not path.is_file() or "database" not in (fields := read_toml(path, "a study")):
        return None
    try:
        config = DatabaseConfig.model_validate(fields["database"])
    except ValidationError as error:
        problems = problems_of_record(error, str(path), model=DatabaseConfig, where="database")
        fix = "Write `url` as postgresql://USER@HOST/DATABASE, and `schema_name` in lower-case letters"
        raise InputError(replace(problem, fix=fix) for problem in problems) from error
    if not is_pilot:
        return config
    return config.model_copy(update={"schema_name": f"{config.schema_name}_{folder.name.replace('-', '_')}"})


class PostgresConnection:
    """A PostgreSQL connection that accepts statements in SQLite's syntax. Database errors are raised as StoreError."""

    def __init__(self, raw: Any, place: str) -> None:
        self.raw, self._place = raw, place

    @property
    def in_transaction(self) -> bool:
        """See `Connection`."""
        # 0 is idle; 4 is unknown because the connection is lost.
        return self.raw.info.transaction_status not in (0, 4)

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Any:
        """See `Connection`."""
        statement = sql.replace("?", "%s") if parameters else sql
        return self._converted(lambda: self.raw.execute(statement, parameters or None))

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> Any:
        """See `Connection`."""
        return self._converted(lambda: self.raw.cursor().executemany(sql.replace("?", "%s"), parameters))

    def _converted(self, action: Callable[[], T]) -> T:
        import psycopg

        try:
            return action()
        except psycopg.Error as error:
            raise StoreError(f"{' '.join(str(error).split())}", file=self._place) from error


class PostgresStore:
    """Read and write tables in a schema of a PostgreSQL database.

    Only one transaction at a time writes to a schema, across all processes, as with an SQLite file. Threads may share
    the store. As a context manager, it disconnects at the end of the block.

    Args:
        config: the database.
        schema: definitions of the tables, which are created if they are missing.
        name: name of the PostgreSQL schema that contains the tables.
        read: whether to open the store for reading only, without waiting for other transactions. The tables must then
            exist.

    Raises:
        StoreError: if the connection fails, if `read` is true and the tables are missing, or if a later version of the
            package created them.
        MissingExtraError: if psycopg is not installed.
    """

    def __init__(self, config: DatabaseConfig, schema: Schema, name: str, *, read: bool = False) -> None:
        self._config, self._schema, self._name, self._read = config, schema, name, read
        self._turn = threading.RLock()
        self.path: str = config.model_copy(update={"schema_name": name}).place
        self._connection = self._connected()
        try:
            if not read:
                self._create()
            if (version := self._version()) is None:
                raise StoreError(
                    "the database does not contain the tables of a study. Check [database] in study.toml",
                    file=self.path,
                )
            if version > schema.version:
                known = f"schema {version}, expected at most {schema.version}"
                raise StoreError(
                    f"a later version of spotball-core made these tables ({known}). Update spotball-core",
                    code="newer-version",
                    file=self.path,
                )
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> PostgresStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Disconnect from the database."""
        self._connection.raw.close()

    def rows(self, query: str, *values: object) -> list[Any]:
        """Return the rows of a query."""
        with self._turn:
            return list(self._alive().execute(query, values).fetchall())

    @contextmanager
    def transaction(self) -> Iterator[PostgresConnection]:
        """Run the block in a transaction. If the block raises an exception, no change is stored."""
        with self._turn:
            connection = self._alive()
            connection.execute("BEGIN")
            try:
                connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", (self._name,))
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def drop(self) -> None:
        """Delete the schema and its contents."""
        with self.transaction() as connection:
            connection.execute(f"DROP SCHEMA {self._name} CASCADE")

    def scrub(self) -> None:
        """Rewrite the tables, so that they no longer contain the bytes of deleted rows. The database's log and backups
        may still contain these data.
        """
        with self._turn:
            for table in self._schema.tables:
                self._alive().execute(f"VACUUM (FULL) {table.name}")

    def _alive(self) -> PostgresConnection:
        if self._connection.raw.closed:
            self._connection = self._connected()
        return self._connection

    def _connected(self) -> PostgresConnection:
        connection = _connect(self._config, self.path)
        connection.execute(f"SET search_path TO {self._name}")
        # Acknowledged transactions must be on disk, independent of the database's default.
        connection.execute("SET synchronous_commit TO on")
        if self._read:
            connection.execute("SET default_transaction_read_only TO on")
        return connection

    def _create(self) -> None:
        with self.transaction() as connection:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {self._name}")
            if self._version() is None:
                for table in self._schema.tables:
                    connection.execute(table.sql(_TYPES, "GENERATED BY DEFAULT AS IDENTITY"))
                connection.execute("CREATE TABLE store_version (version BIGINT PRIMARY KEY)")
                connection.execute("INSERT INTO store_version VALUES (?)", (self._schema.version,))

    def _version(self) -> int | None:
        if not _has_tables(self._alive(), self._name):
            return None
        return int(self.rows("SELECT version FROM store_version")[0][0])


def has_schema(config: DatabaseConfig, name: str) -> bool:
    """Return whether a database has a schema with the tables of a study.

    Raises:
        StoreError: if the connection fails.
        MissingExtraError: if psycopg is not installed.
    """
    connection = _connect(config, config.place)
    try:
        return _has_tables(connection, name)
    finally:
        connection.raw.close()


def _has_tables(connection: PostgresConnection, name: str) -> bool:
    query = "SELECT to_regclass(?) IS NOT NULL"
    return bool(connection.execute(query, (f"{name}.store_version",)).fetchone()[0])


def _connect(config: DatabaseConfig, place: str) -> PostgresConnection:
    try:
        import psycopg
    except ImportError as error:
        raise MissingExtraError("a study in PostgreSQL", "postgres") from error

    try:
        # Prepared statements do not work with connection poolers such as PgBouncer.
        raw = psycopg.connect(config.url, autocommit=True, prepare_threshold=None, connect_timeout=10)
    except psycopg.Error as error:
        raise StoreError(f"cannot connect ({' '.join(str(error).split())})", file=place) from error
    return PostgresConnection(raw, place)

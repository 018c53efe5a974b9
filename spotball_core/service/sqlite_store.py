"""Define stores: objects that keep an SQLite file open and its folder locked. Each kind of store adds its queries."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from spotball_core.errors import MissingExtraError, OptionError
from spotball_core.service.sqlite_file import (
    Schema,
    Table,
    now,
    open_store,
    read_only,
    sqlite_errors,
    version_of,
)


def locked(path: Path, message: Callable[[], str], *, what: str, extra: str) -> Any:
    """Acquire and return a lock; call its `release` to release it.

    Args:
        path: the lock's file.
        message: returns the error message if another process has the lock.
        what: the feature that needs the lock, for the error about a missing package.
        extra: the extra that installs the package.

    Raises:
        OptionError: if another process has the lock.
        MissingExtraError: if filelock is not installed.
    """
    try:
        from filelock import FileLock, Timeout
    except ImportError as error:
        raise MissingExtraError(what, extra) from error

    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise OptionError(message(), code="in-use") from None
    return lock


LOCK = "run.lock"
"""Name of a run's lock file, which is next to its store."""


class SqliteStore:
    """An open SQLite file; a context manager that closes it. Threads may share it, except for `stream`.

    Args:
        mode: permissions of a new file, before the umask.
        lock: the acquired lock of the store's folder. It is released when the store is closed or cannot be opened.
        read: whether to open the file read-only; it must exist, and another process may write to it.

    Raises:
        DamagedStoreError: if the file is empty, damaged or not a store of this kind.
        StoreError: if the file cannot be opened or created, or was made by a later version of the package.
    """

    def __init__(self, path: Path, schema: Schema, *, mode: int = 0o666, lock: Any = None, read: bool = False) -> None:
        self.path = path
        self._lock, self._turn = lock, threading.RLock()
        try:
            self.connection = read_only(path, schema) if read else open_store(path, schema, mode=mode)
        except BaseException:
            self._release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file, then release the lock."""
        with self._turn:
            self.connection.close()
        self._release()

    @property
    def version(self) -> int:
        """The version of the file's schema."""
        with sqlite_errors(self.path):
            return version_of(self.connection)

    def rows(self, query: str, *values: object) -> list[Any]:
        """Return all rows that a query selects."""
        with self._turn:
            return list(self.stream(query, *values))

    def stream(self, query: str, *values: object) -> Iterator[Any]:
        """Yield the rows of a query one by one, to save memory. No other thread may use the store meanwhile."""
        with sqlite_errors(self.path):
            yield from self.connection.execute(query, values)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run the block in a transaction: if it raises, nothing is stored. SQLite errors become StoreError."""
        with self._turn, sqlite_errors(self.path), self.connection:
            self.connection.execute("BEGIN IMMEDIATE")
            yield self.connection

    def _release(self) -> None:
        if self._lock:
            self._lock.release()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunKind:
    """The properties in which the kinds of resumable runs differ.

    Attributes:
        name: name of this kind of run, for the error message if another process uses the run.
        work: the feature that needs the folder's lock, for the error message. `extra` names the extra that installs it.
        content: the table that the run fills. The identity may change only while this table is empty.
        detail: the column of the table `sessions` that only this kind of run has.
        grows: whether later starts may add names to the identity or omit some of its names.
        defaults: values for names that are missing in identities stored by earlier versions.
        conflict: the error message for a changed identity, with the placeholders `{folder}` and `{differences}`.
    """

    name: str
    work: str
    extra: str
    content: str
    detail: str
    grows: bool
    conflict: str
    defaults: Mapping[str, Any] = field(default_factory=dict)


class RunStore(SqliteStore):
    """The store of a resumable run: its identity (table `run`) and its starts (table `sessions`).

    The lock `run.lock` next to the file ensures that only one process at a time uses the run.

    Attributes:
        folder: the run's folder.
        session: number of the current session; 0 before it starts.

    Raises:
        OptionError: if another process uses the run.
        MissingExtraError: if filelock is not installed.
        StoreError: if the file cannot be opened or created, is damaged, or was made by a later version of the package.
    """

    def __init__(self, folder: Path, path: Path, schema: Schema, kind: RunKind) -> None:
        def taken() -> str:
            return f"{folder} is in use by {_holder(path)}. Only one process at a time can use a {kind.name}"

        lock = locked(path.with_name(LOCK), taken, what=kind.work, extra=kind.extra)
        super().__init__(path, schema, lock=lock)
        self.folder, self.session, self._kind = folder, 0, kind

    def identity(self) -> dict[str, Any]:
        """Return the run's identity: the values, by name, that must stay the same.

        It is empty before the first `claim`.
        """
        return {name: json.loads(value) for name, value in self.rows("SELECT name, value FROM run")}

    def claim(self, identity: Mapping[str, Any]) -> None:
        """Set the run's identity if the run has no content yet; otherwise check that it is the same as before.

        Args:
            identity: JSON values by name.

        Raises:
            OptionError: if the run has content, and a value (or, unless the kind of run `grows`, a name) differs from
                the stored identity. The message lists each difference.
        """
        with self.transaction() as connection:
            if not connection.execute(f"SELECT EXISTS (SELECT * FROM {self._kind.content})").fetchone()[0]:
                connection.execute("DELETE FROM run")
            if stored := self.identity():
                stored = {**self._kind.defaults, **stored}
            if self._kind.grows or not stored:
                names = [name for name in identity if name in stored]
            else:
                names = sorted({*stored, *identity})
            changes = {name: (stored.get(name), identity.get(name)) for name in names}
            differing = [
                f"{name}: {_shown(old)} -> {_shown(new)}" for name, (old, new) in changes.items() if not _same(old, new)
            ]
            if differing:
                raise OptionError(
                    self._kind.conflict.format(folder=self.folder, differences="\n  ".join(differing)),
                    code="different-settings",
                )
            rows = [(name, json.dumps(value)) for name, value in identity.items()]
            connection.executemany("INSERT OR IGNORE INTO run VALUES (?, ?)", rows)

    def start_session(self, detail: str | Mapping[str, Any], packages: Mapping[str, str]) -> int:
        """Record the start of a session; return the session's number.

        Args:
            detail: value of the column `detail`; a mapping is stored as JSON.
            packages: versions of the packages that affect results.
        """
        text = detail if isinstance(detail, str) else json.dumps(detail)
        query = f"INSERT INTO sessions (started, host, pid, {self._kind.detail}, packages) VALUES (?, ?, ?, ?, ?)"
        with self.transaction() as connection:
            cursor = connection.execute(query, (now(), platform.node(), os.getpid(), text, json.dumps(packages)))
            self.session = cursor.lastrowid or 0
        return self.session

    def end_session(self, outcome: str) -> None:
        """Record the time and the outcome of the current session's end."""
        with self.transaction() as connection:
            query = "UPDATE sessions SET ended = ?, outcome = ? WHERE session = ?"
            connection.execute(query, (now(), outcome, self.session))


def _holder(path: Path) -> str:
    """Describe the process that started a run's last session; "another process" if the file does not record it."""
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            row = connection.execute("SELECT pid, host, started FROM sessions ORDER BY session DESC").fetchone()
    except sqlite3.Error:
        # The run has only just started, and has created nothing yet.
        row = None
    return f"process {row[0]} on {row[1]}, since {row[2]}" if row else "another process"


class Run:
    """The settings that identify the run. Commands add to it only if these settings are the same.

    Attributes:
        name: the name of a setting, such as `provider` or `run.seed`.
        value: its value as JSON.
    """

    name: str
    value: str


RUN = Table(Run, ("name",))


class RunSessions:
    """The starts of a run: the columns that all kinds of runs have. Each kind adds one.

    Attributes:
        session: number of the start, from 1.
        started: time of the start, UTC.
        ended: time of the end, UTC; null if the process was killed.
        outcome: how it ended.
        host: the machine.
        pid: the process.
        packages: versions of the packages that affect results, as JSON.
    """

    session: int
    started: str
    ended: str | None
    outcome: str | None
    host: str
    pid: int
    packages: str


def _same(old: Any, new: Any) -> bool:
    """Return whether JSON values are equal. Unlike in Python, true does not equal 1."""
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_same(value, new[name]) for name, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_same, old, new))
    return isinstance(old, bool) == isinstance(new, bool) and bool(old == new)


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(part)}" for name, part in value.items())
    return "not set" if value is None else str(value)

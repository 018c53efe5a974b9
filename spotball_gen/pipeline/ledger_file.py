"""The file of a generation's ledger: who has it, what run it is of, and its transactions.

One process at a time has a dataset, by a lock that the system lets go of when the process ends, however it ends.
Threads of that process may share a ledger.
"""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from spotball_core.errors import OptionError
from spotball_core.service.sqlite_file import faults_told, now, open_store
from spotball_gen.pipeline.folder import LEDGER, WORK, check_folder, locked
from spotball_gen.pipeline.ledger_schema import SCHEMA


class LedgerFile:
    """A dataset's ledger without what is in it, held by this process; a context manager that lets go of it.

    Args:
        dataset: the dataset's folder.

    Raises:
        OptionError: if the folder holds something else, or another process has it.
        StoreError: if the ledger cannot be opened or is of a later version.
    """

    def __init__(self, dataset: Path) -> None:
        self.dataset, self.work = dataset, dataset / WORK
        self.path = self.work / LEDGER
        check_folder(dataset)
        self.work.mkdir(parents=True, exist_ok=True)
        self._lock = locked(dataset)
        self._turn = threading.RLock()
        self._session = 0
        try:
            self._connection = open_store(self.path, SCHEMA)
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        with self._turn:
            self._connection.close()
        self._lock.release()

    # The run ------------------------------------------------------------------------------------------------------

    def identity(self) -> dict[str, Any]:
        """What the run is; empty before it was said."""
        return {name: json.loads(value) for name, value in self._rows("SELECT name, value FROM run")}

    def claim(self, identity: Mapping[str, Any]) -> None:
        """Say what the run is, or see that it is the same as before. Before the first video it may become another.

        Raises:
            OptionError: naming each difference.
        """
        with self._writing() as connection:
            if not connection.execute("SELECT EXISTS (SELECT * FROM videos)").fetchone()[0]:
                connection.execute("DELETE FROM run")
            if known := self.identity():
                differing = [
                    f"{name}: {_shown(known.get(name))} -> {_shown(identity.get(name))}"
                    for name in sorted({*known, *identity})
                    if known.get(name) != identity.get(name)
                ]
                if differing:
                    raise OptionError(
                        f"{self.dataset} was begun under another configuration, which is not mixed with this one:\n  "
                        + "\n  ".join(differing)
                        + "\nTake another folder with --out, or the configuration as it was."
                    )
            rows = [(name, json.dumps(value)) for name, value in identity.items()]
            connection.executemany("INSERT OR IGNORE INTO run VALUES (?, ?)", rows)

    def start_session(self, engine: str, packages: Mapping[str, str]) -> None:
        """Note that somebody starts."""
        row = (now(), platform.node(), os.getpid(), engine, json.dumps(packages))
        with self._writing() as connection:
            cursor = connection.execute(
                "INSERT INTO sessions (started, host, pid, engine, packages) VALUES (?, ?, ?, ?, ?)", row
            )
            self._session = cursor.lastrowid or 0

    def end_session(self, why: str) -> None:
        """Note how it ended."""
        with self._writing() as connection:
            connection.execute(
                "UPDATE sessions SET ended = ?, outcome = ? WHERE session = ?", (now(), why, self._session)
            )

    # -----------------------------------------------------------------------------------------------------------------

    def _rows(self, query: str, *values: object) -> list[Any]:
        with self._turn, faults_told(self.path):
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction, all or nothing."""
        with self._turn, faults_told(self.path), self._connection:
            yield self._connection


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(part)}" for name, part in value.items())
    return "not set" if value is None else str(value)

"""A run on disk: every reply as it came, in RUN/run.sqlite, which is the truth from which all else is made.

A reply is there once its transaction is, which outlives a kill and a power cut (write-ahead log, synchronous=FULL).
The key (sport, image, prompt, step, sample) makes a second one impossible. One process at a time has a run, by a lock
that the system lets go of when the process ends, however it ends.
"""

from __future__ import annotations

import json
import os
import platform
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any

from spotball_adapters.providers.protocol import Finish
from spotball_adapters.runs.store_schema import SCHEMA
from spotball_adapters.runs.writer import storable
from spotball_core.errors import OptionError
from spotball_core.service.folder_lock import holder, locked
from spotball_core.service.sqlite_file import faults_told, now, open_store, read_only, version_of

STORE, LOCK, SCENES = "run.sqlite", "run.lock", "scenes.jsonl"

Identity = Mapping[str, Any]
"""What makes answers belong together, by name: provider, model, settings, prompts, data. JSON values."""

Question = tuple[str, str, str]
"""(sport, image, prompt)."""

_REFUSED_SINCE = 2
"""The first version of the schema that has the table `refused`."""

Settled = tuple[str, str, str, int]
"""(sport, image, prompt, sample)."""


class Store:
    """A run's store, held by this process; a context manager that lets go of it.

    Raises:
        OptionError: if the folder holds something else, or another process has the run.
        DamagedStoreError: if the store is empty or damaged.
        StoreError: if the store cannot be opened or is of a later version.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / STORE
        _check_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(folder)
        try:
            self._connection = open_store(self.path, SCHEMA)
        except BaseException:
            self._lock.release()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._connection.close()
        self._lock.release()

    def claim(self, identity: Identity) -> None:
        """Say what the run is, or see that it is the same as before; what it was not asked before may be new.

        Before the first reply there is nothing to mix, and a run may become another.

        Raises:
            OptionError: naming each difference.
        """
        with faults_told(self.path), self._connection:
            if not self._connection.execute("SELECT EXISTS (SELECT * FROM replies)").fetchone()[0]:
                self._connection.execute("DELETE FROM run")
            known = self.identity()
            differing = [
                f"{name}: {_shown(known[name])} -> {_shown(value)}"
                for name, value in identity.items()
                if name in known and known[name] != value
            ]
            if differing:
                raise OptionError(
                    f"{self.folder} holds answers given under other settings, which are not mixed:\n  "
                    + "\n  ".join(differing)
                    + "\nTake another folder with --out, or the same settings."
                )
            rows = [(name, json.dumps(value)) for name, value in identity.items()]
            self._connection.executemany("INSERT OR IGNORE INTO run VALUES (?, ?)", rows)

    def identity(self) -> dict[str, Any]:
        """What the run is; empty before it was said."""
        with faults_told(self.path):
            return {name: json.loads(value) for name, value in self._connection.execute("SELECT name, value FROM run")}

    def start_session(self, options: Mapping[str, Any], packages: Mapping[str, str]) -> int:
        """Note that somebody starts to ask; returns the session's number."""
        row = (now(), platform.node(), os.getpid(), json.dumps(options), json.dumps(packages))
        with faults_told(self.path), self._connection:
            cursor = self._connection.execute(
                "INSERT INTO sessions (started, host, pid, options, packages) VALUES (?, ?, ?, ?, ?)", row
            )
            assert cursor.lastrowid is not None
            return cursor.lastrowid

    def end_session(self, session: int, why: str) -> None:
        """Note how it ended."""
        with faults_told(self.path), self._connection:
            self._connection.execute(
                "UPDATE sessions SET ended = ?, outcome = ? WHERE session = ?", (now(), why, session)
            )

    def done(self) -> dict[tuple[str, str, str, int], int]:
        """What is stored, as `plan.Done` has it."""
        return stored(self._connection, self.path)

    def refused(self) -> dict[Question, str]:
        """The provider's message for each image that it refused to process with a prompt."""
        return _refused(self._connection, self.path)

    def refuse(self, refused: Mapping[Question, str], session: int) -> None:
        """Note the provider's message for each image that it refused to process with a prompt."""
        with faults_told(self.path), self._connection:
            rows = [(*question, session, now(), storable(message)) for question, message in refused.items()]
            self._connection.executemany("INSERT OR REPLACE INTO refused VALUES (?, ?, ?, ?, ?, ?)", rows)

    def texts(self, sport: str, image: str, prompt: str, samples: Iterable[int]) -> dict[tuple[int, int], str]:
        """What was replied to a prompt about an image, by (step, sample)."""
        wanted = list(samples)
        marks = ", ".join("?" * len(wanted))
        query = (
            "SELECT step, sample, text FROM replies "
            f"WHERE sport = ? AND image = ? AND prompt = ? AND sample IN ({marks})"
        )
        with faults_told(self.path):
            rows = self._connection.execute(query, (sport, image, prompt, *wanted))
            return {(step, sample): text for step, sample, text in rows}

    def finals(self, prompt: str, step: int) -> Iterator[tuple[str, str, int, str, Finish]]:
        """Replies to a step of a prompt: sport, image, sample, text, finish; in the order of images' names."""
        query = (
            "SELECT sport, image, sample, text, finish FROM replies WHERE prompt = ? AND step = ? "
            "ORDER BY sport, image, sample"
        )
        with faults_told(self.path):
            yield from self._connection.execute(query, (prompt, step))

    def parsed(self) -> dict[Settled, tuple[str | None, str | None]]:
        """The cell and the problem that were last read from each sample's reply."""
        query = "SELECT sport, image, prompt, sample, cell, problem FROM parsed"
        with faults_told(self.path):
            return {row[:4]: row[4:] for row in self._connection.execute(query)}

    def keep_parsed(self, found: Mapping[Settled, tuple[str | None, str | None]]) -> None:
        """Keep what was read from replies in place of what was."""
        with faults_told(self.path), self._connection:
            rows = [(*key, *read) for key, read in found.items()]
            self._connection.executemany("INSERT OR REPLACE INTO parsed VALUES (?, ?, ?, ?, ?, ?)", rows)

    def pictures(self) -> dict[tuple[str, str], set[str]]:
        """The digests of the pictures that were shown of each image."""
        query = (
            "SELECT DISTINCT sport, image, picture FROM requests JOIN replies USING (request) WHERE picture NOT NULL"
        )
        shown: dict[tuple[str, str], set[str]] = {}
        with faults_told(self.path):
            for sport, image, digest in self._connection.execute(query):
                shown.setdefault((sport, image), set()).add(digest)
        return shown

    def tokens(self) -> tuple[int, int, int]:
        """Requests answered, and the input and output tokens they took, of all sessions."""
        query = "SELECT count(*), coalesce(sum(input_tokens), 0), coalesce(sum(output_tokens), 0) FROM requests"
        with faults_told(self.path):
            row: tuple[int, int, int] = self._connection.execute(query).fetchone()
            return row


def peek(folder: Path) -> tuple[dict[tuple[str, str, str, int], int], dict[Question, str]]:
    """Return `Store.done()` and `Store.refused()` of a run without taking it; both are empty if it does not exist."""
    path = folder / STORE
    _check_folder(folder)
    if not path.exists():
        return {}, {}
    with closing(read_only(path, SCHEMA)) as connection:
        return stored(connection, path), _refused(connection, path)


def stored(connection: sqlite3.Connection, path: Path) -> dict[tuple[str, str, str, int], int]:
    """What is stored, as `plan.Done` has it."""
    done: dict[tuple[str, str, str, int], int] = {}
    with faults_told(path):
        for *key, sample in connection.execute("SELECT sport, image, prompt, step, sample FROM replies"):
            place = (key[0], key[1], key[2], key[3])
            done[place] = done.get(place, 0) | 1 << sample
    return done


def _refused(connection: sqlite3.Connection, path: Path) -> dict[Question, str]:
    with faults_told(path):
        if version_of(connection) < _REFUSED_SINCE:
            return {}
        rows = connection.execute("SELECT sport, image, prompt, message FROM refused ORDER BY sport, image, prompt")
        return {row[:3]: row[3] for row in rows}


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise OptionError(f"{folder} is a file; --out names a folder")
    if not folder.is_dir() or (folder / STORE).exists():
        return
    # A kill may leave a store that was not yet given its name.
    others = {path.name for path in folder.iterdir() if not path.name.startswith(f".{STORE}.")}
    if others - {LOCK, SCENES}:
        raise OptionError(f"{folder} is not empty and holds no run; name another folder with --out")


def _locked(folder: Path) -> Any:
    def taken() -> str:
        return f"{folder} is in use by {holder(folder / STORE)}; one process at a time has a run"

    return locked(folder / LOCK, taken, what="running", extra="adapters")


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(part)}" for name, part in value.items())
    return "not set" if value is None else str(value)

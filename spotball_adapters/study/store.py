"""A study on disk: who takes part and what they did, in STUDY/study.sqlite; platform IDs apart, in identities.sqlite.

Events are never changed. They are there once their transaction is, which outlives a kill and a power cut. One process
at a time has a study; others may look.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from spotball_adapters.study.events import Event, Trial, trials_from_json, trials_to_json
from spotball_core.errors import OptionError
from spotball_core.service.folder_lock import locked
from spotball_core.service.sqlite_file import Schema, faults_told, open_store, read_only

STUDY, IDENTITIES, LOCK = "study.sqlite", "identities.sqlite", ".lock"

SCHEMA_VERSION = 1

_PART = "part "
"""What the keys begin with under which parts of study.toml are kept."""

_START_OVER = "start the study over in another folder; what participants did is then lost"

_STUDY = Schema(
    SCHEMA_VERSION,
    {
        "participants": """
            CREATE TABLE participants (
                id INTEGER PRIMARY KEY,
                participant TEXT UNIQUE NOT NULL,
                token_hash BLOB UNIQUE NOT NULL,
                list TEXT NOT NULL,
                seed INTEGER NOT NULL,
                trials TEXT NOT NULL,
                started_at TEXT NOT NULL,
                seen_at TEXT NOT NULL,
                finished_at TEXT,
                version TEXT NOT NULL
            ) STRICT""",
        "events": """
            CREATE TABLE events (
                participant_id INTEGER NOT NULL REFERENCES participants ON DELETE CASCADE,
                seq INTEGER NOT NULL,
                event TEXT NOT NULL,
                kind TEXT NOT NULL,
                trial INTEGER,
                value TEXT NOT NULL,
                elapsed_ms REAL NOT NULL,
                viewport TEXT NOT NULL,
                received_at TEXT NOT NULL,
                PRIMARY KEY (participant_id, seq),
                UNIQUE (participant_id, event)
            ) STRICT""",
        "meta": "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
    },
    start_over=_START_OVER,
)
_IDENTITIES = Schema(
    SCHEMA_VERSION,
    {
        "identities": """
            CREATE TABLE identities (
                participant TEXT PRIMARY KEY,
                platform TEXT NOT NULL,
                person TEXT NOT NULL,
                study TEXT NOT NULL,
                session TEXT NOT NULL,
                UNIQUE (platform, person)
            ) STRICT"""
    },
    start_over=_START_OVER,
)
_FILES = ((STUDY, _STUDY), (IDENTITIES, _IDENTITIES))


@dataclass(frozen=True, slots=True)
class Participant:
    """Somebody who takes part. Times are ISO 8601 in UTC.

    Attributes:
        participant: a random label, which exports name them by.
        seed: what their order was drawn from.
        seen_at: when their last event came.
        version: of this package, when they began.
    """

    id: int
    participant: str
    list: str
    seed: int
    trials: tuple[Trial, ...]
    started_at: str
    seen_at: str
    finished_at: str | None
    version: str


@dataclass(frozen=True, slots=True)
class Identity:
    """What a platform calls a participant."""

    participant: str
    platform: str
    person: str
    study: str
    session: str


_PARTICIPANT = "SELECT id, participant, list, seed, trials, started_at, seen_at, finished_at, version FROM participants"
_EVENT = "SELECT seq, event, kind, trial, value, elapsed_ms, viewport, received_at FROM events"


class Reader:
    """A study's two files, to read from."""

    def __init__(self, folder: Path, study: sqlite3.Connection, identities: sqlite3.Connection) -> None:
        self.folder, self.study, self.identities_file = folder, study, identities

    @property
    def path(self) -> Path:
        """The file of what participants did."""
        return self.folder / STUDY

    def participants(self) -> list[Participant]:
        """All who began, in the order they did."""
        with faults_told(self.path):
            return [_participant(row) for row in self.study.execute(f"{_PARTICIPANT} ORDER BY id")]

    def id_of(self, token_hash: bytes) -> int | None:
        """Whose token this is."""
        with faults_told(self.path):
            rows = self.study.execute("SELECT id FROM participants WHERE token_hash = ?", (token_hash,))
            return next((identity for (identity,) in rows), None)

    def participant(self, participant_id: int) -> Participant:
        """Somebody who is there."""
        found = self._one("id", participant_id)
        assert found is not None
        return found

    def by_label(self, participant: str) -> Participant | None:
        """Who has this label."""
        return self._one("participant", participant)

    def _one(self, column: str, value: object) -> Participant | None:
        with faults_told(self.path):
            row = self.study.execute(f"{_PARTICIPANT} WHERE {column} = ?", (value,)).fetchone()
        return row and _participant(row)

    def events(self, participant_id: int) -> list[Event]:
        """What somebody did, in order."""
        with faults_told(self.path):
            rows = self.study.execute(f"{_EVENT} WHERE participant_id = ? ORDER BY seq", (participant_id,))
            return [_event(row) for row in rows]

    def identities(self) -> list[Identity]:
        """What platforms call participants."""
        with faults_told(self.folder / IDENTITIES):
            rows = self.identities_file.execute("SELECT participant, platform, person, study, session FROM identities")
            return [Identity(*row) for row in rows]

    def meta(self) -> dict[str, str]:
        """What is kept about the study itself."""
        with faults_told(self.path):
            return dict(self.study.execute("SELECT key, value FROM meta"))

    def changed(self, parts: Mapping[str, Any]) -> list[str]:
        """Which parts of a study are not what they were when the first participant began; see `Store.claim`."""
        with faults_told(self.path):
            if not self.study.execute("SELECT EXISTS (SELECT * FROM participants)").fetchone()[0]:
                return []
        given, known = _as_meta(parts), {key: value for key, value in self.meta().items() if key.startswith(_PART)}
        return [key.removeprefix(_PART) for key in {**known, **given} if known.get(key) != given.get(key)]


class Store(Reader):
    """A study held by this process; a context manager that lets go of it.

    Raises:
        OptionError: if the folder is no study's, or another process has it.
        StoreError: if a file cannot be opened or is of a later version.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise OptionError(f"{folder} is no folder of a study")
        taken = f"{folder} is in use by another process, such as `spotball study serve`; one at a time has a study"
        self._lock = locked(folder / LOCK, lambda: taken, what="the human study", extra="study")
        opened: list[sqlite3.Connection] = []
        try:
            for name, schema in _FILES:
                # For this user alone; SQLite gives its -wal and -shm the same permissions.
                opened.append(open_store(folder / name, schema, mode=0o600))
                opened[-1].execute("PRAGMA foreign_keys = ON")
            super().__init__(folder, *opened)
        except BaseException:
            for connection in opened:
                connection.close()
            self._lock.release()
            raise

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.study.close()
        self.identities_file.close()
        self._lock.release()

    def claim(self, parts: Mapping[str, Any]) -> None:
        """Say what the study is, or see that it is as it was when the first participant began.

        Args:
            parts: by name, what may not change once somebody took part; JSON values.

        Raises:
            OptionError: naming each part that was changed.
        """
        if changed := self.changed(parts):
            raise OptionError(
                f"{self.folder}: changed since somebody took part: {', '.join(changed)}. What participants saw must "
                "stay the same: put it back, or make another study"
            )
        with faults_told(self.path), self.study:
            self.study.execute(f"DELETE FROM meta WHERE key LIKE '{_PART}%'")
            self.study.executemany("INSERT INTO meta VALUES (?, ?)", _as_meta(parts).items())

    def secret(self) -> bytes:
        """The study's own key, from which addresses of images are made; drawn once."""
        with faults_told(self.path), self.study:
            self.study.execute("INSERT OR IGNORE INTO meta VALUES ('secret', ?)", (secrets.token_hex(32),))
        return bytes.fromhex(self.meta()["secret"])


@contextmanager
def reading(folder: Path) -> Iterator[Reader]:
    """A study to look at, also while a server has it.

    Raises:
        OptionError: if nobody took part yet, so that there is nothing.
        StoreError: if a file cannot be opened or is of a later version.
    """
    opened: list[sqlite3.Connection] = []
    try:
        for name, schema in _FILES:
            path = folder / name
            if not path.is_file():
                raise OptionError(f"{folder}: nothing is stored there; a study begins with `spotball study serve`")
            opened.append(read_only(path, schema))
        yield Reader(folder, *opened)
    finally:
        for connection in opened:
            connection.close()


def insert_identity(connection: sqlite3.Connection, identity: Identity) -> None:
    """Store what a platform calls a participant, in place of what was stored; within the caller's transaction."""
    connection.execute(
        "INSERT OR REPLACE INTO identities (participant, platform, person, study, session) VALUES (?, ?, ?, ?, ?)",
        (identity.participant, identity.platform, identity.person, identity.study, identity.session),
    )


def insert_participant(connection: sqlite3.Connection, participant: Participant, token_hash: bytes) -> int:
    """Store who begins, within the caller's transaction; returns the id, whatever the one given."""
    row = (
        participant.participant,
        token_hash,
        participant.list,
        participant.seed,
        trials_to_json(participant.trials),
        participant.started_at,
        participant.seen_at,
        participant.finished_at,
        participant.version,
    )
    cursor = connection.execute(
        "INSERT INTO participants (participant, token_hash, list, seed, trials, started_at, seen_at, finished_at, "
        "version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        row,
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def insert_events(connection: sqlite3.Connection, participant_id: int, events: Iterable[Event]) -> None:
    """Store events, within the caller's transaction."""
    rows = [
        (
            participant_id,
            event.seq,
            event.event,
            event.kind,
            event.trial,
            json.dumps(dict(event.value), separators=(",", ":")),
            event.elapsed_ms,
            json.dumps(list(event.viewport)),
            event.received_at,
        )
        for event in events
    ]
    connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)


def _as_meta(parts: Mapping[str, Any]) -> dict[str, str]:
    return {_PART + name: json.dumps(value, sort_keys=True) for name, value in parts.items()}


def _participant(row: Any) -> Participant:
    identity, participant, list_, seed, trials, *rest = row
    return Participant(identity, participant, list_, seed, trials_from_json(trials), *rest)


def _event(row: Any) -> Event:
    seq, event, kind, trial, value, elapsed_ms, viewport, received_at = row
    width, height, ratio = json.loads(viewport)
    return Event(seq, event, kind, trial, json.loads(value), elapsed_ms, (width, height, ratio), received_at)

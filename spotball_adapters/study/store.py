"""A study on disk: who takes part and what they did, in STUDY/study.sqlite; platform IDs apart, in identities.sqlite.

Events are never changed. They are there once their transaction is, which outlives a kill and a power cut. One process
at a time has a study; others may look. If study.toml names a PostgreSQL database, both are schemas of it instead, and
several processes may serve the study.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spotball_adapters.study.databases import Connection, DatabaseConfig, PostgresStore, Store, database_of, has_schema
from spotball_adapters.study.events import Event, StudyTrial, trials_from_json, trials_to_json
from spotball_adapters.study.tables import FILES, LOCK, STUDY
from spotball_core.errors import OptionError
from spotball_core.service.folder_lock import locked
from spotball_core.service.sqlite_store import SqliteStore

_PART = "part "
"""What the keys begin with under which parts of study.toml are kept."""


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
    trials: tuple[StudyTrial, ...]
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


class StudyReader:
    """A study's two files, or schemas of a database, to read from.

    Attributes:
        shared: other processes may store events meanwhile.
    """

    def __init__(self, folder: Path, study: Store, identities: Store) -> None:
        self.folder, self.study, self.identities_file = folder, study, identities
        self.shared = isinstance(study, PostgresStore)

    @property
    def path(self) -> Path | str:
        """Where it is stored what participants did."""
        return self.study.path

    def participants(self) -> list[Participant]:
        """All who began, in the order they did."""
        return [_participant(row) for row in self.study.rows(f"{_PARTICIPANT} ORDER BY id")]

    def id_of(self, token_hash: bytes) -> int | None:
        """Whose token this is."""
        rows = self.study.rows("SELECT id FROM participants WHERE token_hash = ?", token_hash)
        return next((identity for (identity,) in rows), None)

    def participant(self, participant_id: int) -> Participant:
        """Somebody who is there."""
        participant = self._one("id", participant_id)
        assert participant is not None
        return participant

    def by_label(self, participant: str) -> Participant | None:
        """Who has this label."""
        return self._one("participant", participant)

    def _one(self, column: str, value: object) -> Participant | None:
        rows = self.study.rows(f"{_PARTICIPANT} WHERE {column} = ?", value)
        return next((_participant(row) for row in rows), None)

    def seen(self) -> dict[int, str]:
        """Return when each participant was seen last, by id, in the order they began."""
        return dict(self.study.rows("SELECT id, seen_at FROM participants ORDER BY id"))

    def events(self, participant_id: int, *, after: int = 0) -> list[Event]:
        """Return what a participant did, in order: the events that follow the one of this number."""
        rows = self.study.rows(f"{_EVENT} WHERE participant_id = ? AND seq > ? ORDER BY seq", participant_id, after)
        return [_event(row) for row in rows]

    def last_seq(self, participant_id: int) -> int:
        """Return the number of a participant's last event."""
        ((seq,),) = self.study.rows("SELECT coalesce(max(seq), 0) FROM events WHERE participant_id = ?", participant_id)
        return int(seq)

    def identities(self) -> list[Identity]:
        """What platforms call participants."""
        rows = self.identities_file.rows("SELECT participant, platform, person, study, session FROM identities")
        return [Identity(*row) for row in rows]

    def meta(self) -> dict[str, str]:
        """What is kept about the study itself."""
        return dict(self.study.rows("SELECT key, value FROM meta"))

    def changed(self, parts: Mapping[str, Any]) -> list[str]:
        """Which parts of a study are not what they were when the first participant began; see `StudyStore.claim`."""
        if not self.study.rows("SELECT EXISTS (SELECT * FROM participants)")[0][0]:
            return []
        new, old = _as_meta(parts), {key: value for key, value in self.meta().items() if key.startswith(_PART)}
        return [key.removeprefix(_PART) for key in {**old, **new} if old.get(key) != new.get(key)]


class StudyStore(StudyReader):
    """A study held by this process; a context manager that lets go of it.

    Raises:
        OptionError: if the folder is no study's, or another process has it.
        StoreError: if a file cannot be opened, a database cannot be reached, or one is of a later version.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise OptionError(f"{folder} is not the folder of a study. Name the --out folder of `spotball study init`")
        if (database := database_of(folder)) is not None:
            with ExitStack() as stack:
                super().__init__(folder, *(stack.enter_context(one) for one in _schemas(database)))
                self._opened = stack.pop_all()
            return
        message = f"{folder} is in use by another process, such as `spotball study serve`; one at a time has a study"
        lock = locked(folder / LOCK, lambda: message, what="the human study", extra="study")
        with ExitStack() as stack:
            stack.callback(lock.release)
            # For this user alone; SQLite gives its -wal and -shm the same permissions.
            files = (stack.enter_context(SqliteStore(folder / name, schema, mode=0o600)) for name, schema in FILES)
            super().__init__(folder, *files)
            self._opened = stack.pop_all()

    def __enter__(self) -> StudyStore:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def claim(self, parts: Mapping[str, Any]) -> None:
        """Say what the study is, or see that it is as it was when the first participant began.

        Args:
            parts: by name, what may not change once somebody took part; JSON values.

        Raises:
            OptionError: naming each part that was changed.
        """
        if changed := self.changed(parts):
            raise OptionError(
                f"{self.folder}: changed since the first participant: {', '.join(changed)}. Participants must see the "
                "same study: undo the change, or make a new study"
            )
        with self.study.transaction() as connection:
            connection.execute(f"DELETE FROM meta WHERE substr(key, 1, {len(_PART)}) = ?", (_PART,))
            connection.executemany("INSERT INTO meta VALUES (?, ?)", _as_meta(parts).items())

    def drop(self) -> None:
        """Delete everything that a database stores of the study; files are left to the caller."""
        for store in (self.identities_file, self.study):
            if isinstance(store, PostgresStore):
                store.drop()

    def secret(self) -> bytes:
        """The study's own key, from which addresses of images are made; drawn once."""
        with self.study.transaction() as connection:
            new = secrets.token_hex(32)
            connection.execute("INSERT INTO meta VALUES ('secret', ?) ON CONFLICT DO NOTHING", (new,))
        return bytes.fromhex(self.meta()["secret"])


@contextmanager
def reading(folder: Path) -> Iterator[StudyReader]:
    """A study to look at, also while a server has it.

    Raises:
        OptionError: if nobody took part yet, so that there is nothing.
        StoreError: if a file cannot be opened or is of a later version.
    """
    with ExitStack() as stack:
        if (database := database_of(folder)) is not None:
            if not has_data(folder):
                raise OptionError(
                    f"{folder}: no answers are stored in {database.place}. Start with `spotball study serve {folder}`"
                )
            yield StudyReader(folder, *(stack.enter_context(one) for one in _schemas(database, read=True)))
            return
        files = []
        for name, schema in FILES:
            if not (folder / name).is_file():
                raise OptionError(
                    f"{folder}: no answers are stored. Start the study with `spotball study serve {folder}`"
                )
            files.append(stack.enter_context(SqliteStore(folder / name, schema, read=True)))
        yield StudyReader(folder, *files)


def has_data(folder: Path) -> bool:
    """Return whether anything is stored of a study, or of a pilot whose folder this is."""
    if (database := database_of(folder)) is None:
        return (folder / STUDY).is_file()
    return all(has_schema(database, name) for name in _schema_names(database))


def insert_identity(connection: Connection, identity: Identity) -> None:
    """Store what a platform calls a participant, in place of what was stored; within the caller's transaction."""
    connection.execute(
        "DELETE FROM identities WHERE participant = ? OR (platform = ? AND person = ?)",
        (identity.participant, identity.platform, identity.person),
    )
    connection.execute(
        "INSERT INTO identities (participant, platform, person, study, session) VALUES (?, ?, ?, ?, ?)",
        (identity.participant, identity.platform, identity.person, identity.study, identity.session),
    )


def insert_participant(connection: Connection, participant: Participant, token_hash: bytes) -> int:
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
    ((identity,),) = connection.execute(
        "INSERT INTO participants (participant, token_hash, list, seed, trials, started_at, seen_at, finished_at, "
        "version) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        row,
    ).fetchall()
    return int(identity)


def insert_events(connection: Connection, participant_id: int, events: Iterable[Event]) -> None:
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


def _schema_names(database: DatabaseConfig) -> tuple[str, str]:
    return database.schema_name, f"{database.schema_name}_identities"


def _schemas(database: DatabaseConfig, *, read: bool = False) -> Iterator[PostgresStore]:
    for (_, schema), name in zip(FILES, _schema_names(database), strict=True):
        yield PostgresStore(database, schema, name, read=read)


def _as_meta(parts: Mapping[str, Any]) -> dict[str, str]:
    return {_PART + name: json.dumps(value, sort_keys=True) for name, value in parts.items()}


def _participant(row: Any) -> Participant:
    identity, participant, list_, seed, trials, *rest = row
    return Participant(identity, participant, list_, seed, trials_from_json(trials), *rest)


def _event(row: Any) -> Event:
    seq, event, kind, trial, value, elapsed_ms, viewport, received_at = row
    width, height, ratio = json.loads(viewport)
    return Event(seq, event, kind, trial, json.loads(value), elapsed_ms, (width, height, ratio), received_at)

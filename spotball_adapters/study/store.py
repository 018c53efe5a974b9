"""Store the data of a study: participants and events in STUDY/study.sqlite, and platform IDs in identities.sqlite.

Events are never changed. Committed events are not lost if the process is killed or the power fails. Only one process at
a time can write to a study; other processes may read it. If study.toml names a PostgreSQL database, two schemas replace
the files, and several processes may serve the study.
"""

from __future__ import annotations

import hashlib
import hmac
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
from spotball_core.service.sqlite_store import SqliteStore, locked

_PART = "part "
"""Prefix of the keys under which the fixed parts of a study are stored; see `StudyStore.claim`."""


@dataclass(frozen=True, slots=True)
class Participant:
    """A participant, as stored in the table of participants. Times are ISO 8601 in UTC.

    Attributes:
        id: number of the participant within the store.
        participant: a random label, used in exports.
        seed: seed of the order of the participant's trials.
        seen_at: time of the participant's last event.
        version: version of spotball-core with which the participant began.
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
    """The IDs that a platform such as Prolific assigned to a participant, to the study, and to the participant's
    session.
    """

    participant: str
    platform: str
    person: str
    study: str
    session: str


_PARTICIPANT = "SELECT id, participant, list, seed, trials, started_at, seen_at, finished_at, version FROM participants"
_EVENT = "SELECT seq, event, kind, trial, value, elapsed_ms, viewport, received_at FROM events"


class StudyReader:
    """Read a study's store: two SQLite files, or two schemas of a PostgreSQL database.

    Attributes:
        shared: whether other processes may store events at the same time, as with PostgreSQL.
    """

    def __init__(self, folder: Path, study: Store, identities: Store) -> None:
        self.folder, self.study, self.identities_file = folder, study, identities
        self.shared = isinstance(study, PostgresStore)

    @property
    def path(self) -> Path | str:
        """Return the location of the stored events: a file, or a database and schema."""
        return self.study.path

    def participants(self) -> list[Participant]:
        """Return all participants, in the order in which they began."""
        return [_participant(row) for row in self.study.rows(f"{_PARTICIPANT} ORDER BY id")]

    def id_of(self, token_hash: bytes) -> int | None:
        """Return the id of the participant whose token has this hash, or None if there is none."""
        rows = self.study.rows("SELECT id FROM participants WHERE token_hash = ?", token_hash)
        return next((identity for (identity,) in rows), None)

    def participant(self, participant_id: int) -> Participant:
        """Return the participant with this id, who must exist."""
        participant = self._one("id", participant_id)
        assert participant is not None
        return participant

    def by_label(self, participant: str) -> Participant | None:
        """Return the participant with this label, or None if the label is unknown."""
        return self._one("participant", participant)

    def _one(self, column: str, value: object) -> Participant | None:
        rows = self.study.rows(f"{_PARTICIPANT} WHERE {column} = ?", value)
        return next((_participant(row) for row in rows), None)

    def seen(self) -> dict[int, str]:
        """Return the time of each participant's last event (ISO 8601 in UTC) by participant id, in the order in which
        participants began.
        """
        return dict(self.study.rows("SELECT id, seen_at FROM participants ORDER BY id"))

    def events(self, participant_id: int, *, after: int = 0) -> list[Event]:
        """Return a participant's events with numbers above `after`, in the order of their numbers."""
        rows = self.study.rows(f"{_EVENT} WHERE participant_id = ? AND seq > ? ORDER BY seq", participant_id, after)
        return [_event(row) for row in rows]

    def last_seq(self, participant_id: int) -> int:
        """Return the number of a participant's last event, or 0 if there are no events."""
        ((seq,),) = self.study.rows("SELECT coalesce(max(seq), 0) FROM events WHERE participant_id = ?", participant_id)
        return int(seq)

    def identities(self) -> list[Identity]:
        """Return the platform IDs of all participants who have them."""
        rows = self.identities_file.rows("SELECT participant, platform, person, study, session FROM identities")
        return [Identity(*row) for row in rows]

    def meta(self) -> dict[str, str]:
        """Return the stored properties of the study by name, such as its secret key and its fixed parts."""
        return dict(self.study.rows("SELECT key, value FROM meta"))

    def changed(self, parts: Mapping[str, Any]) -> list[str]:
        """Return the names of fixed parts that changed after the first participant began; see `StudyStore.claim`."""
        if not self.study.rows("SELECT EXISTS (SELECT * FROM participants)")[0][0]:
            return []
        new, old = _as_meta(parts), {key: value for key, value in self.meta().items() if key.startswith(_PART)}
        return [key.removeprefix(_PART) for key in {**old, **new} if old.get(key) != new.get(key)]


class StudyStore(StudyReader):
    """Read and write a study's store, and lock it for this process.

    As a context manager, it releases the lock at the end of the block. Stores in PostgreSQL are not locked.

    Raises:
        OptionError: if the folder does not exist, or if another process holds the lock.
        StoreError: if a file cannot be opened, if the database cannot be reached, or if a later version of the package
            wrote the data.
    """

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise OptionError(
                f"{folder} is not a folder. Give the folder that `spotball study init` wrote", code="wrong-folder"
            )
        if (database := database_of(folder)) is not None:
            with ExitStack() as stack:
                super().__init__(folder, *(stack.enter_context(store) for store in _schemas(database)))
                self._opened = stack.pop_all()
            return
        message = f"{folder} is in use by another process, such as `spotball study serve`. Stop that process first"
        lock = locked(folder / LOCK, lambda: message, what="the human study", extra="study")
        with ExitStack() as stack:
            stack.callback(lock.release)
            # Only this user can read the files. SQLite gives its -wal and -shm files the same permissions.
            files = (stack.enter_context(SqliteStore(folder / name, schema, mode=0o600)) for name, schema in FILES)
            super().__init__(folder, *files)
            self._opened = stack.pop_all()

    def __enter__(self) -> StudyStore:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def claim(self, parts: Mapping[str, Any]) -> None:
        """Store the fixed parts of the study. If a participant has begun, first check that these parts are unchanged.

        Args:
            parts: the parts that may not change after the first participant began, as JSON values by name; see
                `StudyDesign.parts`.

        Raises:
            OptionError: if a participant has begun and parts have changed. The message names the changed parts.
        """
        if changed := self.changed(parts):
            raise OptionError(
                f"these parts changed after the first participant began: {', '.join(changed)}. All "
                "participants must see the same study. Undo the change, or make a new study",
                code="different-settings",
                file=self.folder,
            )
        with self.study.transaction() as connection:
            connection.execute(f"DELETE FROM meta WHERE substr(key, 1, {len(_PART)}) = ?", (_PART,))
            connection.executemany("INSERT INTO meta VALUES (?, ?)", _as_meta(parts).items())

    def drop(self) -> None:
        """Delete the study's data from its PostgreSQL database. This method does not delete SQLite files; the caller
        must.
        """
        for store in (self.identities_file, self.study):
            if isinstance(store, PostgresStore):
                store.drop()

    def secret(self) -> bytes:
        """Return the study's secret key, from which image addresses are derived. The first call generates the key."""
        with self.study.transaction() as connection:
            new = secrets.token_hex(32)
            connection.execute("INSERT INTO meta VALUES ('secret', ?) ON CONFLICT DO NOTHING", (new,))
        return bytes.fromhex(self.meta()["secret"])


def deletion_mark(secret: bytes, value: bytes) -> str:
    """Return the key in the table `meta` that marks a deleted person's platform ID or the hash of their token."""
    return f"deleted {hmac.new(secret, b'deleted ' + value, hashlib.sha256).hexdigest()}"


@contextmanager
def reading(folder: Path) -> Iterator[StudyReader]:
    """Yield a `StudyReader` for a study's folder. A server may use the store at the same time.

    Raises:
        OptionError: if no answers are stored for this folder.
        StoreError: if a file cannot be opened, if the database cannot be reached, or if a later version of the package
            wrote the data.
    """
    with ExitStack() as stack:
        if (database := database_of(folder)) is not None:
            if not has_data(folder):
                raise OptionError(
                    f"no answers are stored in {database.place}. Start the study with `spotball study serve {folder}`",
                    code="wrong-folder",
                    file=folder,
                )
            yield StudyReader(folder, *(stack.enter_context(one) for one in _schemas(database, read=True)))
            return
        files = []
        for name, schema in FILES:
            if not (folder / name).is_file():
                raise OptionError(
                    f"no answers are stored. Start the study with `spotball study serve {folder}`",
                    code="wrong-folder",
                    file=folder,
                )
            files.append(stack.enter_context(SqliteStore(folder / name, schema, read=True)))
        yield StudyReader(folder, *files)


def has_data(folder: Path) -> bool:
    """Return whether data are stored for a study or for the pilot in this folder."""
    if (database := database_of(folder)) is None:
        return (folder / STUDY).is_file()
    return all(has_schema(database, name) for name in _schema_names(database))


def insert_identity(connection: Connection, identity: Identity) -> None:
    """Store a participant's platform IDs within the caller's transaction. Replace earlier platform IDs of the
    participant, and of the same person on the platform.
    """
    connection.execute(
        "DELETE FROM identities WHERE participant = ? OR (platform = ? AND person = ?)",
        (identity.participant, identity.platform, identity.person),
    )
    connection.execute(
        "INSERT INTO identities (participant, platform, person, study, session) VALUES (?, ?, ?, ?, ?)",
        (identity.participant, identity.platform, identity.person, identity.study, identity.session),
    )


def insert_participant(connection: Connection, participant: Participant, token_hash: bytes) -> int:
    """Store a new participant within the caller's transaction, and return the id that the store assigned."""
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
    """Store a participant's events within the caller's transaction."""
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

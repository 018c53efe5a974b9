"""Find participants by token, and store each of their events exactly once, in the order of the events' numbers."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

from spotball_adapters.study.databases import Connection
from spotball_adapters.study.events import Event
from spotball_adapters.study.items import NotAllowedError
from spotball_adapters.study.progress import ParticipantProgress, replay
from spotball_adapters.study.results.exclusion import exclusion_of
from spotball_adapters.study.results.participations import participation
from spotball_adapters.study.server.wire import MalformedRequestError, Start, read_event
from spotball_adapters.study.server.writer import EventWriter
from spotball_adapters.study.setup.assignment import choose_list, seed_of
from spotball_adapters.study.setup.design import StudyDesign
from spotball_adapters.study.store import (
    Identity,
    Participant,
    StudyReader,
    StudyStore,
    deletion_mark,
    insert_events,
    insert_identity,
    insert_participant,
)
from spotball_core.version import version

KEPT = 1000
"""Maximum number of participants kept in memory. Others are read from the store when their next request arrives."""

LABEL = "23456789abcdefghjkmnpqrstuvwxyz"
"""Characters of which participants' labels consist. Characters that look alike, such as 1 and l, are excluded."""

PROLIFIC = "prolific"


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def random_labels(prefix: str) -> Callable[[], str]:
    """Return a function that returns a random label with the given prefix each time it is called."""
    return lambda: prefix + "".join(secrets.choice(LABEL) for _ in range(8))


class TakenPartError(Exception):
    """A person who tries to begin has already taken part in another session."""


class FullError(Exception):
    """No new participant can begin, because every list has reached its quota of participants."""


class NoParticipationError(Exception):
    """A request asks to resume a participation that does not exist."""


class ConflictError(Exception):
    """An event's number or UUID conflicts with the stored events."""


class OutdatedError(Exception):
    """Another server process has stored events of the participant at the same time. Take the session again."""


class Session:
    """The progress of one participant, in memory. A request holds `lock` while it changes the session; at other times,
    the session equals the stored state.

    Attributes:
        participant: the participant's row in the store.
        progress: progress after all events.
        ids: UUIDs of the events, in the order of the events' numbers.
        lock: lock that a request holds while it uses the session.
        stale: whether storing events failed, so that memory and store differ. The next request reads the stored events
            again.
    """

    def __init__(self, participant: Participant, progress: ParticipantProgress, ids: list[str]) -> None:
        self.participant, self.progress, self.ids = participant, progress, ids
        self.lock = asyncio.Lock()
        self.stale = False


@dataclass(frozen=True, slots=True)
class Appended:
    """The result of storing the events of a request.

    Attributes:
        seq: number of the last stored event.
        feedback: feedback on the last practice item that these events answer, or None if they do not answer a practice
            item.
        refused: the error because of which an event was rejected, together with all later events of the request; None
            if all events were stored.
    """

    seq: int
    feedback: dict[str, Any] | None
    refused: Exception | None


class Sessions:
    """Manage the sessions of a study's participants: start or resume them, and store their events.

    Args:
        design: the study's design.
        store: the study's store. All writing takes place in a thread that this class starts.
        reader: a second connection to the store, for reading.
        new_label: function that returns the label of a new participant at each call; None for random labels.
        clock: function that returns the current time.
    """

    def __init__(
        self,
        design: StudyDesign,
        store: StudyStore,
        reader: StudyReader,
        *,
        new_label: Callable[[], str] | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self._draw_label = new_label or random_labels("")
        self._secret = store.secret()
        self._clock = clock
        self._design, self._store, self._reader = design, store, reader
        self._writer = EventWriter(store.study)
        self._sessions: WeakValueDictionary[int, Session] = WeakValueDictionary()
        self._recent: OrderedDict[int, Session] = OrderedDict()
        self._tokens: dict[bytes, int] = {}
        self._exclusion = exclusion_of(design.config.exclusion)
        self._kept: dict[int, bool] = {}
        with store.study.transaction() as connection:
            # Computed before participants arrive, because it takes seconds for many.
            self._places(connection)

    def close(self) -> None:
        """Store the events that are not stored yet, and stop the thread that writes."""
        self._writer.close()

    async def start(self, token: str | None, start: Start, device: Mapping[str, str] | None = None) -> str:
        """Start or resume a participation, and return its token: `token` if it is valid, otherwise a new token.

        Args:
            token: the token in the browser's cookie, or None without a cookie.
            start: the request to start or resume.
            device: device data to store for a new participant, or None to store no device data.

        Raises:
            TakenPartError: if the person has already taken part in another session, or if the person's data was deleted
                and the study refuses such people.
            NoParticipationError: if `start.resume` is true, but there is no participation to resume.
            FullError: if no new participant can begin, because every list has reached its quota.
        """

        def job(connection: Connection) -> str:
            return self._start(connection, token, start, device)

        try:
            return await asyncio.wrap_future(self._writer.do(job))
        finally:
            # The participant may have a new token.
            self._tokens.clear()

    def id_of(self, token: str | None) -> int | None:
        """Return the id of the participant to whom a token belongs, or None if it is unknown."""
        return None if token is None else self._id_of(hashed(token))

    @asynccontextmanager
    async def held(self, token: str | None) -> AsyncIterator[Session | None]:
        """Yield the session of the participant with this token, and hold its lock until the end of the block. Yield
        None if the token is unknown.
        """
        while (session := self._of(token)) is not None:
            async with session.lock:
                if self._reader.shared and self._reader.last_seq(session.participant.id) != len(session.ids):
                    # Another server process has stored events of the participant.
                    session.stale = True
                if not session.stale:
                    yield session
                    return
        yield None

    def _of(self, token: str | None) -> Session | None:
        identity = self.id_of(token)
        if identity is None:
            return None
        session = self._sessions.get(identity)
        if session is None or session.stale:
            participant = self._reader.participant(identity)
            events = self._reader.events(identity)
            progress = replay(participant.trials, events, self._design.item_type, self._design.surveys)
            session = self._sessions[identity] = Session(participant, progress, [event.event for event in events])
        self._recent[identity] = session
        self._recent.move_to_end(identity)
        if len(self._recent) > KEPT:
            self._recent.popitem(last=False)
        return session

    def _id_of(self, token_hash: bytes) -> int | None:
        identity = self._tokens.get(token_hash)
        if identity is None:
            identity = self._reader.id_of(token_hash)
            # Another server process may give the participant a new token.
            if identity is not None and not self._reader.shared:
                self._tokens[token_hash] = identity
        return identity

    async def append(self, session: Session, contents: Sequence[Any]) -> Appended:
        """Store a participant's events until one is rejected. The stored events are on disk when this method returns.

        Args:
            session: the participant's session, with its lock held.
            contents: the events as parsed JSON; see `wire.read_event`.

        Raises:
            OutdatedError: if another server process has stored events of the participant at the same time.
        """
        progress, fresh, feedback = session.progress, list[Event](), None
        refused: Exception | None = None
        received_at = self._now()
        for content in contents:
            try:
                event = read_event(content, received_at)
                if _is_new(event, session.ids):
                    self._check(event)
                    progress.take(event)
                    session.ids.append(event.event)
                    fresh.append(event)
                if event.kind in ("answer", "choice"):
                    feedback = self.feedback(progress, event.trial) or feedback
            except (MalformedRequestError, ConflictError, NotAllowedError) as error:
                refused = error
                break
        if fresh:
            finished_at = progress.ended_at
            identity, before = session.participant.id, fresh[0].seq - 1

            def job(connection: Connection) -> None:
                if self._reader.shared:
                    query = "SELECT coalesce(max(seq), 0) FROM events WHERE participant_id = ?"
                    if connection.execute(query, (identity,)).fetchone()[0] != before:
                        raise OutdatedError
                insert_events(connection, identity, fresh)
                connection.execute(
                    "UPDATE participants SET seen_at = ?, finished_at = ? WHERE id = ?",
                    (received_at, finished_at, identity),
                )

            try:
                await asyncio.wrap_future(self._writer.do(job))
            except BaseException:
                # Memory and store differ now, so the next holder of the lock reads the events again.
                session.stale = True
                raise
        return Appended(progress.seq, feedback, refused)

    def _check(self, event: Event) -> None:
        """Raise NotAllowedError for a new event that settings of study.toml forbid. Stored events are not checked, so a
        change of these settings leaves them valid."""
        least = self._design.config.explanation_letters
        if event.kind == "mouse" and not self._design.config.record.mouse:
            raise NotAllowedError("this study does not record mouse paths")
        if event.kind == "explanation" and sum(map(str.isalnum, event.value["text"])) < least:
            raise NotAllowedError(f"an explanation must have at least {least} letters and digits")

    def feedback(self, progress: ParticipantProgress, trial: int | None) -> dict[str, Any] | None:
        """Return the feedback on a practice item as JSON values, or None if it is unanswered or if the trial is not
        practice.
        """
        answered = progress.answered.get(trial) if trial is not None and trial < 0 else None
        return self._design.item_type.feedback(answered.trial, answered.answer) if answered else None

    def seconds_left(self, participant: Participant) -> float:
        """Return the seconds until a participant who has finished may receive the completion code; 0 if they may."""
        since = self._clock() - datetime.fromisoformat(participant.started_at)
        return max(0.0, self._design.config.completion.min_minutes * 60 - since.total_seconds())

    def _now(self) -> str:
        return self._clock().isoformat(timespec="milliseconds")

    # In the writer's thread ----------------------------------------------------------------------------------

    def _start(self, connection: Connection, token: str | None, start: Start, device: Mapping[str, str] | None) -> str:
        own_label = token and self._label(connection, "token_hash", hashed(token))
        prolific = start.prolific
        known = [candidate for candidate in (token, start.key and self._token_of(start.key)) if candidate]
        self._refuse_deleted(connection, [*map(hashed, known), *([prolific.pid.encode()] if prolific else [])])
        if prolific is None:
            for candidate in known:
                label = self._label(connection, "token_hash", hashed(candidate))
                if label and start.list in (None, self._list_of(connection, label)):
                    return candidate
            return self._begin(connection, self._new_label(connection), start, device)
        query = "SELECT participant, study, session FROM identities WHERE platform = ? AND person = ?"
        identity = next(iter(self._store.identities_file.rows(query, PROLIFIC, prolific.pid)), None)
        label = identity[0] if identity else self._new_label(connection)
        if not identity or not self._label(connection, "participant", label):
            # The person is known in one file only if the process ended between writing the two files.
            return self._begin(connection, label, start, device)
        if identity[1:] != (prolific.study, prolific.session):
            raise TakenPartError
        if label == own_label and token:
            return token
        fresh = new_token()
        connection.execute("UPDATE participants SET token_hash = ? WHERE participant = ?", (hashed(fresh), label))
        return fresh

    def _token_of(self, key: str) -> str:
        """Return the token of the participation that a request with this key begins."""
        mac = hmac.digest(self._secret, f"token {key}".encode(), "sha256")
        return base64.urlsafe_b64encode(mac).rstrip(b"=").decode()

    def _refuse_deleted(self, connection: Connection, values: Sequence[bytes]) -> None:
        """Raise TakenPartError if any of the values belongs to a deleted person and the study refuses such people."""
        if not self._design.config.serve.refuse_deleted:
            return
        for value in values:
            mark = (deletion_mark(self._secret, value),)
            if connection.execute("SELECT 1 FROM meta WHERE key = ?", mark).fetchone():
                raise TakenPartError

    def _label(self, connection: Connection, column: str, value: object) -> str | None:
        rows = connection.execute(f"SELECT participant FROM participants WHERE {column} = ?", (value,))
        return next((label for (label,) in rows), None)

    def _begin(self, connection: Connection, label: str, start: Start, device: Mapping[str, str] | None) -> str:
        if start.resume:
            raise NoParticipationError
        places = self._places(connection) if start.list is None else {start.list: 0}
        if not places:
            raise FullError
        prolific = start.prolific
        if prolific is not None:
            # First, in a separate transaction, so that every participant of the study has an identity.
            with self._store.identities_file.transaction() as identities:
                identity = Identity(label, PROLIFIC, prolific.pid, prolific.study, prolific.session)
                insert_identity(identities, identity)
        config, at = self._design.config, self._now()
        token = self._token_of(start.key) if start.key else new_token()
        if self._label(connection, "token_hash", hashed(token)):
            token = new_token()
        seed = seed_of(config.seed, label)
        list_name = choose_list(places, seed)
        trials = self._design.trials(list_name, seed)
        participant = Participant(0, label, list_name, seed, trials, at, at, None, version())
        value = {"stage": "consent"} if device is None else {"stage": "consent", "device": dict(device)}
        consent = Event(1, str(uuid4()), "stage", None, value, 0.0, start.viewport, at)
        insert_events(connection, insert_participant(connection, participant, hashed(token)), [consent])
        return token

    def _list_of(self, connection: Connection, label: str) -> str:
        (row,) = connection.execute("SELECT list FROM participants WHERE participant = ?", (label,))
        return str(row[0])

    def _new_label(self, connection: Connection) -> str:
        while True:
            label = self._draw_label()
            if not connection.execute("SELECT 1 FROM participants WHERE participant = ?", (label,)).fetchone():
                return label

    def _places(self, connection: Connection) -> dict[str, int]:
        """Return, by list, the number of participants who are active, or who finished and are not excluded. Lists that
        have reached their quota are omitted.

        Before the first answer, a participant is active only briefly. Otherwise, a script that opens forged links would
        hold all places.
        """
        config = self._design.config
        serve, now = config.serve, self._clock()
        since = [
            (now - timedelta(minutes=minutes)).isoformat(timespec="milliseconds")
            for minutes in (min(serve.unanswered_minutes, serve.silent_minutes), serve.silent_minutes)
        ]
        rows = connection.execute(
            "SELECT id, list, finished_at IS NOT NULL FROM participants WHERE finished_at IS NOT NULL OR seen_at > ? "
            "OR (seen_at > ? AND EXISTS (SELECT 1 FROM events WHERE participant_id = id AND kind IN ('answer', "
            "'choice')))",
            since,
        )
        places = dict.fromkeys((study_list.name for study_list in config.lists), 0)
        for identity, list_name, finished in rows.fetchall():
            if list_name in places and (not finished or self._is_kept(identity)):
                places[list_name] += 1
        most = config.quota.per_list
        return {name: n for name, n in places.items() if not most or n < most}

    def _is_kept(self, participant_id: int) -> bool:
        """Return whether a participant finished and no exclusion rule applies. The rule `duplicates` compares
        explanations only with the participant's own explanations here."""
        if participant_id not in self._kept:
            # Read in the writer's transaction, because the participant may have finished in the same one.
            person = participation(self._store.participant(participant_id), self._store, self._design)
            self._kept[participant_id] = person.finished and not self._exclusion.reasons(person)
        return self._kept[participant_id]


def hashed(token: str) -> bytes:
    """Return the SHA-256 hash of a token, which is stored instead of the token."""
    return hashlib.sha256(token.encode()).digest()


def new_token() -> str:
    """Return a new token: 256 random bits as text."""
    return secrets.token_urlsafe(32)


def _is_new(event: Event, ids: Sequence[str]) -> bool:
    """Return True if an event has the next number, and False if the same event is already stored and was sent again.

    Raises:
        ConflictError: if the event has a wrong number, or if its number or its UUID belongs to another stored event.
    """
    last = len(ids)
    if event.seq <= last:
        if ids[event.seq - 1] != event.event:
            raise ConflictError(f"a different event is already stored as number {event.seq}")
        return False
    if event.seq > last + 1:
        raise ConflictError(f"found event {event.seq}, expected event {last + 1}")
    if event.event in ids:
        raise ConflictError(f"this event is already stored as number {ids.index(event.event) + 1}")
    return True

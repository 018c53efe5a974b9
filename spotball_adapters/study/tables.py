"""Define the tables of a study's store, and describe their columns."""

from __future__ import annotations

from typing import Annotated

from spotball_core.service.sqlite_file import Schema, Table

STUDY, IDENTITIES, LOCK = "study.sqlite", "identities.sqlite", ".lock"

_START_OVER = "make a new study in another folder, which then starts without these answers"


class Participants:
    """Participants of the study.

    Attributes:
        id: number of the participant, as in `events`.
        participant: a random label, used in exports.
        token_hash: SHA-256 of the token in the participant's browser.
        list: the list of images that the participant sees.
        seed: the seed of the participant's order of images.
        trials: the participant's trials in order, as JSON: `trial` (negative for practice), `sport`, `image`, `check`,
            `explain`, `options`.
        started_at: time of consent, UTC.
        seen_at: time of the participant's last event, UTC.
        finished_at: time when the participant finished or was screened out, UTC; null until then.
        version: version of spotball-core when the participant began.
    """

    id: int
    participant: Annotated[str, "UNIQUE"]
    token_hash: Annotated[bytes, "UNIQUE"]
    list: str
    seed: int
    trials: str
    started_at: str
    seen_at: str
    finished_at: str | None
    version: str


class Events:
    """Events: the actions of participants.

    Attributes:
        participant_id: the participant.
        seq: number of the participant's event, from 1, without gaps.
        event: the id that the browser assigned; an event that is sent twice is stored once.
        kind: the kind of event (see below).
        trial: number of the trial; null for stages, questionnaires and the quiz.
        value: details of the event, as JSON (see below).
        elapsed_ms: milliseconds since the trial was shown, by the browser's clock.
        viewport: width and height of the window in CSS pixels, and device pixels per CSS pixel, as JSON.
        received_at: time when the server received the event, UTC.
    """

    participant_id: Annotated[int, "REFERENCES participants ON DELETE CASCADE"]
    seq: int
    event: str
    kind: str
    trial: int | None
    value: str
    elapsed_ms: float
    viewport: str
    received_at: str


class Meta:
    """Properties of the study.

    Attributes:
        key: `part ...`: a part of the study (or its digest) that must not change after the first participant began;
            `secret`: the key from which the addresses of images are derived; `deleted ...`: keyed hashes of deleted
            people, if study.toml refuses them.
        value: the property's value.
    """

    key: str
    value: str


class Identities:
    """IDs of the participants on a platform such as Prolific.

    Attributes:
        participant: the participant's label.
        platform: `prolific`.
        person: the platform's ID of the person.
        study: the platform's ID of the study.
        session: the platform's ID of the session.
    """

    participant: str
    platform: str
    person: str
    study: str
    session: str


STUDY_TABLES = Schema(
    version=1,
    tables=(
        Table(Participants, ("id",)),
        Table(Events, ("participant_id", "seq"), unique=("participant_id", "event")),
        Table(Meta, ("key",)),
    ),
    start_over=_START_OVER,
)
IDENTITY_TABLES = Schema(
    version=1,
    tables=(Table(Identities, ("participant",), unique=("platform", "person")),),
    start_over=_START_OVER,
)
FILES = ((STUDY, STUDY_TABLES), (IDENTITIES, IDENTITY_TABLES))

"""Define the tables of a study's store, and describe their columns."""

from __future__ import annotations

from spotball_core.service.sqlite_file import Column, Schema, Table

STUDY, IDENTITIES, LOCK = "study.sqlite", "identities.sqlite", ".lock"

_START_OVER = "make a new study in another folder, which then starts without these answers"

STUDY_TABLES = Schema(
    version=1,
    tables={
        "participants": Table(
            "Participants of the study.",
            ("id",),
            (
                Column("id", "INTEGER", "number of the participant, as in `events`"),
                Column("participant", "TEXT UNIQUE NOT NULL", "a random label, used in exports"),
                Column("token_hash", "BLOB UNIQUE NOT NULL", "SHA-256 of the token in the participant's browser"),
                Column("list", "TEXT NOT NULL", "the list of images that the participant sees"),
                Column("seed", "INTEGER NOT NULL", "the seed of the participant's order of images"),
                Column(
                    "trials",
                    "TEXT NOT NULL",
                    "the participant's trials in order, as JSON: `trial` (negative for practice), `sport`, `image`, "
                    "`check`, `explain`, `options`",
                ),
                Column("started_at", "TEXT NOT NULL", "time of consent, UTC"),
                Column("seen_at", "TEXT NOT NULL", "time of the participant's last event, UTC"),
                Column(
                    "finished_at",
                    "TEXT",
                    "time when the participant finished or was screened out, UTC; null until then",
                ),
                Column("version", "TEXT NOT NULL", "version of spotball-core when the participant began"),
            ),
            strict=True,
        ),
        "events": Table(
            "Events: the actions of participants.",
            ("participant_id", "seq"),
            (
                Column(
                    "participant_id", "INTEGER NOT NULL REFERENCES participants ON DELETE CASCADE", "the participant"
                ),
                Column("seq", "INTEGER NOT NULL", "number of the participant's event, from 1, without gaps"),
                Column(
                    "event",
                    "TEXT NOT NULL",
                    "the id that the browser assigned; an event that is sent twice is stored once",
                ),
                Column("kind", "TEXT NOT NULL", "the kind of event (see below)"),
                Column("trial", "INTEGER", "number of the trial; null for stages, questionnaires and the quiz"),
                Column("value", "TEXT NOT NULL", "details of the event, as JSON (see below)"),
                Column("elapsed_ms", "REAL NOT NULL", "milliseconds since the trial was shown, by the browser's clock"),
                Column(
                    "viewport",
                    "TEXT NOT NULL",
                    "width and height of the window in CSS pixels, and device pixels per CSS pixel, as JSON",
                ),
                Column("received_at", "TEXT NOT NULL", "time when the server received the event, UTC"),
            ),
            unique=("participant_id", "event"),
            strict=True,
        ),
        "meta": Table(
            "Properties of the study.",
            ("key",),
            (
                Column(
                    "key",
                    "TEXT",
                    "`part ...`: a part of the study (or its digest) that must not change after the first participant "
                    "began; `secret`: the key from which the addresses of images are derived; `deleted ...`: keyed "
                    "hashes of deleted people, if study.toml refuses them",
                ),
                Column("value", "TEXT NOT NULL", "the property's value"),
            ),
            strict=True,
        ),
    },
    start_over=_START_OVER,
)
IDENTITY_TABLES = Schema(
    version=1,
    tables={
        "identities": Table(
            "IDs of the participants on a platform such as Prolific.",
            ("participant",),
            (
                Column("participant", "TEXT", "the participant's label"),
                Column("platform", "TEXT NOT NULL", "`prolific`"),
                Column("person", "TEXT NOT NULL", "the platform's ID of the person"),
                Column("study", "TEXT NOT NULL", "the platform's ID of the study"),
                Column("session", "TEXT NOT NULL", "the platform's ID of the session"),
            ),
            unique=("platform", "person"),
            strict=True,
        )
    },
    start_over=_START_OVER,
)
FILES = ((STUDY, STUDY_TABLES), (IDENTITIES, IDENTITY_TABLES))

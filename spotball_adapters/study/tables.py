"""Tables of a study's store, with descriptions of the columns."""

from __future__ import annotations

from spotball_core.service.sqlite_file import Column, Schema, Table

STUDY, IDENTITIES, LOCK = "study.sqlite", "identities.sqlite", ".lock"

_START_OVER = "start the study over in another folder; what participants did is then lost"

STUDY_TABLES = Schema(
    version=1,
    tables={
        "participants": Table(
            "Participants of the study.",
            ("id",),
            (
                Column("id", "INTEGER", "joins with `events`"),
                Column("participant", "TEXT UNIQUE NOT NULL", "a random label, used in exports"),
                Column("token_hash", "BLOB UNIQUE NOT NULL", "SHA-256 of the token in their browser"),
                Column("list", "TEXT NOT NULL", "the list that they see"),
                Column("seed", "INTEGER NOT NULL", "the seed of their order"),
                Column(
                    "trials",
                    "TEXT NOT NULL",
                    "their trials in order, as JSON: `trial` (negative for practice), `sport`, `image`, `check`, "
                    "`explain`, `options`",
                ),
                Column("started_at", "TEXT NOT NULL", "time of consent, UTC"),
                Column("seen_at", "TEXT NOT NULL", "time of their last event, UTC"),
                Column("finished_at", "TEXT", "time at which they finished or were screened out, UTC; null before"),
                Column("version", "TEXT NOT NULL", "version of spotball-core when they began"),
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
                Column("kind", "TEXT NOT NULL", "the kind of event, see below"),
                Column("trial", "INTEGER", "number of its trial; null for a stage"),
                Column("value", "TEXT NOT NULL", "details of the event as JSON, see below"),
                Column("elapsed_ms", "REAL NOT NULL", "milliseconds since the trial was shown, by the browser's clock"),
                Column(
                    "viewport",
                    "TEXT NOT NULL",
                    "width and height of the window in CSS pixels, and device pixels per CSS pixel, as JSON",
                ),
                Column("received_at", "TEXT NOT NULL", "time at which the server received it, UTC"),
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
                    "`part ...`: a part of the study that may not change after the first participant began, or its "
                    "digest; `secret`: the key from which addresses of images are derived",
                ),
                Column("value", "TEXT NOT NULL", "its value"),
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
            "A platform's IDs of each participant.",
            ("participant",),
            (
                Column("participant", "TEXT", "the label"),
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

"""Tables of a study's store, with descriptions of the columns."""

from __future__ import annotations

from spotball_core.service.sqlite_file import Column, Schema, Table

STUDY, IDENTITIES, LOCK = "study.sqlite", "identities.sqlite", ".lock"

_START_OVER = "start the study over in another folder; what participants did is then lost"

STUDY_TABLES = Schema(
    version=1,
    tables={
        "participants": Table(
            "Each person who takes part.",
            ("id",),
            (
                Column("id", "INTEGER", "joins with `events`"),
                Column("participant", "TEXT UNIQUE NOT NULL", "a random label, by which exports name them"),
                Column("token_hash", "BLOB UNIQUE NOT NULL", "SHA-256 of the token that their browser has"),
                Column("list", "TEXT NOT NULL", "the list they see"),
                Column("seed", "INTEGER NOT NULL", "from which their order was drawn"),
                Column(
                    "trials",
                    "TEXT NOT NULL",
                    "JSON: what they see, in order: `trial` (negative for practice), `sport`, `image`, `check`, "
                    "`explain`, `options`",
                ),
                Column("started_at", "TEXT NOT NULL", "consent, UTC"),
                Column("seen_at", "TEXT NOT NULL", "their last event, UTC"),
                Column("finished_at", "TEXT", "when they finished or were screened out, UTC; null before"),
                Column("version", "TEXT NOT NULL", "of spotball-core, when they began"),
            ),
            strict=True,
        ),
        "events": Table(
            "What participants did.",
            ("participant_id", "seq"),
            (
                Column("participant_id", "INTEGER NOT NULL REFERENCES participants ON DELETE CASCADE", "whose it is"),
                Column("seq", "INTEGER NOT NULL", "counts a participant's events from 1, without gaps"),
                Column(
                    "event",
                    "TEXT NOT NULL",
                    "the id that the browser gave it: the same event sent twice is stored once",
                ),
                Column("kind", "TEXT NOT NULL", "see below"),
                Column("trial", "INTEGER", "which trial it belongs to; null for a stage"),
                Column("value", "TEXT NOT NULL", "JSON, see below"),
                Column("elapsed_ms", "REAL NOT NULL", "milliseconds since the trial was shown, by the browser's clock"),
                Column(
                    "viewport",
                    "TEXT NOT NULL",
                    "JSON: width and height of the window in CSS pixels, and device pixels per CSS pixel",
                ),
                Column("received_at", "TEXT NOT NULL", "when the server had it, UTC"),
            ),
            unique=("participant_id", "event"),
            strict=True,
        ),
        "meta": Table(
            "Facts about the study itself.",
            ("key",),
            (
                Column(
                    "key",
                    "TEXT",
                    "`part ...`: what may not change once somebody took part, or a digest of it; `secret`: from which "
                    "addresses of images are made",
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
            "What a platform calls each participant.",
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

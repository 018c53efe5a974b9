"""The tables of a generation's ledger, and what their columns mean: said once, for SQLite and for the documentation."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from spotball_core.service.sqlite_file import Column, Schema, Table

SCHEMA_VERSION = 1

TABLES: Mapping[str, Table] = MappingProxyType(
    {
        "run": Table(
            "What makes the items belong together. A run goes on only under the same.",
            ("name",),
            (
                Column("name", "TEXT NOT NULL", "such as `inpaint.kind`, `run.seed`, `sources`"),
                Column("value", "TEXT NOT NULL", "as JSON"),
            ),
        ),
        "sessions": Table(
            "Each start of `spotball gen run`.",
            ("session",),
            (
                Column("session", "INTEGER NOT NULL", "number of the start, from 1"),
                Column("started", "TEXT NOT NULL", "when, UTC"),
                Column("ended", "TEXT", "when; null if it was killed"),
                Column("outcome", "TEXT", "how it ended"),
                Column("host", "TEXT NOT NULL", "the machine"),
                Column("pid", "INTEGER NOT NULL", "the process"),
                Column("engine", "TEXT NOT NULL", "what ran the stages"),
                Column("packages", "TEXT NOT NULL", "versions of the packages that results depend on, as JSON"),
            ),
        ),
        "videos": Table(
            "Each video, in the order in which its frames count: of two alike, the first stays.",
            ("video",),
            (
                Column("video", "TEXT NOT NULL", "its id: file name and start of the digest"),
                Column("position", "INTEGER NOT NULL UNIQUE", "its place in that order, from 0"),
                Column("sport", "TEXT NOT NULL", "what is played"),
                Column("path", "TEXT NOT NULL", "the file when it was last seen; below the work folder from there on"),
                Column("license", "TEXT NOT NULL", "as the configuration or the place it is from says"),
                Column("origin", "TEXT NOT NULL", "a file as the configuration names it, or an address"),
                Column("sha256", "TEXT NOT NULL", "digest of the file"),
                Column("size", "INTEGER NOT NULL", "its size in bytes"),
                Column("modified", "INTEGER NOT NULL", "when it was last changed, ns since 1970"),
                Column("state", "TEXT NOT NULL", "waiting, done, or failed"),
                Column("detail", "TEXT", "what is wrong with it"),
                Column("frames", "INTEGER NOT NULL", "how many of its frames are items so far"),
            ),
        ),
        "items": Table(
            "Each frame that was taken, as it was after the last stage that it passed.",
            ("item",),
            (
                Column("item", "TEXT NOT NULL", "its id: the video's and the time stamp in ms"),
                Column("video", "TEXT NOT NULL", "the video it is from"),
                Column("ms", "INTEGER NOT NULL", "its time stamp in milliseconds"),
                Column("frame", "INTEGER NOT NULL", "number of the frame within the video, in the order of decoding"),
                Column("shot", "INTEGER NOT NULL", "number of the shot within the video, from 0"),
                Column("hash", "BLOB", "its perceptual hash, by which near duplicates are found"),
                Column("stage", "TEXT NOT NULL", "the last stage that it passed, or that decided on it"),
                Column("state", "TEXT NOT NULL", "going, passed (all stages), rejected, or failed"),
                Column("record", "TEXT NOT NULL", "times, scores, boxes, pictures, seeds, versions, as JSON"),
            ),
        ),
        "results": Table(
            "What each stage said of each item.",
            ("item", "stage"),
            (
                Column("item", "TEXT NOT NULL", "the item's id; the video's, where that cannot be read"),
                Column("stage", "TEXT NOT NULL", "which stage"),
                Column("outcome", "TEXT NOT NULL", "kept, rejected, or failed"),
                Column("reason", "TEXT", "of a reject, the same for all such; of a failure, the error"),
                Column("detail", "TEXT", "what is particular to this one"),
                Column("scores", "TEXT NOT NULL", "what a reject was decided by, as JSON"),
                Column("session", "INTEGER NOT NULL", "the start that it fell in"),
                Column("at", "TEXT NOT NULL", "when, UTC"),
            ),
        ),
        "settled": Table(
            "Stages that look at all items before they decide, and have.",
            ("stage",),
            (
                Column("stage", "TEXT NOT NULL", "which stage"),
                Column("at", "TEXT NOT NULL", "when, UTC"),
            ),
        ),
    }
)

INDEXES = (
    "CREATE INDEX IF NOT EXISTS items_of_video ON items (video, ms)",
    "CREATE INDEX IF NOT EXISTS items_of_state ON items (state, stage, item)",
)
"""For looking up how far a video was read, and what is left for a stage."""

SCHEMA = Schema(
    SCHEMA_VERSION,
    {name: table.sql(name) for name, table in TABLES.items()},
    start_over="generate into another folder with --out",
    indexes=INDEXES,
)

"""Tables and columns of a generation's ledger, with the descriptions that SQLite and the documentation use."""

from __future__ import annotations

from spotball_core.service.sqlite_file import Column, Schema, Table
from spotball_core.service.sqlite_store import run_tables

INDEXES = (
    "CREATE INDEX IF NOT EXISTS items_of_video ON items (video, ms)",
    "CREATE INDEX IF NOT EXISTS items_of_state ON items (state, stage, item)",
)
"""Indexes to look up the last frame of a video, and the remaining items of a stage."""

SCHEMA = Schema(
    version=1,
    tables={
        **run_tables(
            "items",
            "`inpaint.kind`, `run.seed`, `sources`",
            "`spotball gen run`",
            Column("engine", "TEXT NOT NULL", "what ran the stages"),
            "results depend on",
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
    },
    start_over="generate into another folder with --out",
    indexes=INDEXES,
)

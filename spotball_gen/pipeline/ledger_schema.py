"""Define the tables and columns of a generation's ledger, with descriptions for SQLite and the documentation."""

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
            Column("engine", "TEXT NOT NULL", "the engine that ran the stages"),
            "results depend on",
        ),
        "videos": Table(
            "Videos, in the order in which their frames are read. Of two near-duplicate frames, the first is kept.",
            ("video",),
            (
                Column("video", "TEXT NOT NULL", "id of the video: file name and start of the digest"),
                Column("position", "INTEGER NOT NULL UNIQUE", "position of the video in this order, from 0"),
                Column("sport", "TEXT NOT NULL", "the sport"),
                Column(
                    "path", "TEXT NOT NULL", "last known path of the file; relative if it is inside the work folder"
                ),
                Column("license", "TEXT NOT NULL", "license according to the configuration or the origin"),
                Column("origin", "TEXT NOT NULL", "file name from the configuration, or web address"),
                Column("sha256", "TEXT NOT NULL", "digest of the file"),
                Column("size", "INTEGER NOT NULL", "size of the file in bytes"),
                Column("modified", "INTEGER NOT NULL", "time of the last change, in ns since 1970"),
                Column("state", "TEXT NOT NULL", "waiting, done, or failed"),
                Column("detail", "TEXT", "problem with the video"),
                Column("frames", "INTEGER NOT NULL", "number of frames that have become items so far"),
            ),
        ),
        "items": Table(
            "Items, each in its state after the last stage that it passed.",
            ("item",),
            (
                Column("item", "TEXT NOT NULL", "id: the video's id and the time stamp in ms"),
                Column("video", "TEXT NOT NULL", "id of the item's video"),
                Column("ms", "INTEGER NOT NULL", "time stamp in milliseconds"),
                Column("frame", "INTEGER NOT NULL", "number of the frame in the video, in decoding order"),
                Column("shot", "INTEGER NOT NULL", "number of the shot in the video, from 0"),
                Column("hash", "BLOB", "perceptual hash, to detect near duplicates"),
                Column(
                    "stage", "TEXT NOT NULL", "the last stage that the item passed, or the stage that removed the item"
                ),
                Column(
                    "state",
                    "TEXT NOT NULL",
                    "going, held (until a stage decides on all items together), passed (all stages), rejected, or "
                    "failed",
                ),
                Column("record", "TEXT NOT NULL", "times, scores, boxes, pictures, seeds, versions, as JSON"),
            ),
        ),
        "results": Table(
            "Results of the stages for each item.",
            ("item", "stage"),
            (
                Column("item", "TEXT NOT NULL", "the item's id, or the video's id if the video cannot be read"),
                Column("stage", "TEXT NOT NULL", "the stage"),
                Column("outcome", "TEXT NOT NULL", "kept, rejected, or failed"),
                Column(
                    "reason", "TEXT", "why the item was rejected, in the same words for all similar items, or the error"
                ),
                Column("detail", "TEXT", "details of the decision on this item"),
                Column("scores", "TEXT NOT NULL", "measurements that led to a rejection, as JSON"),
                Column("session", "INTEGER NOT NULL", "number of the session"),
                Column("at", "TEXT NOT NULL", "time of the result, UTC"),
            ),
        ),
        "settled": Table(
            "Stages that have decided on all items together.",
            ("stage",),
            (
                Column("stage", "TEXT NOT NULL", "the stage"),
                Column("at", "TEXT NOT NULL", "time of the decision, UTC"),
            ),
        ),
    },
    start_over="generate a new dataset in another folder with --out",
    indexes=INDEXES,
)

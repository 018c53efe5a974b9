"""Tables and columns of a run's store, with the descriptions that SQLite and the documentation use."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from spotball_core.service.sqlite_file import Column, Schema, Table
from spotball_core.service.sqlite_store import run_tables

PROMPT = "prompt "
"""Prefix of the prompts' names in a run's identity."""

LATER_SETTINGS: Mapping[str, None] = MappingProxyType({"reasoning_effort": None, "extra_body": None})
"""Settings that the identities of older runs lack, because they did not exist."""

_SAMPLE = (
    Column("sport", "TEXT NOT NULL", "the image's sport; `gaze` in runs about gaze, `judge` in a judge's"),
    Column("image", "TEXT NOT NULL", "the image's id; the stimulus in runs about gaze, the trial in a judge's"),
    Column("prompt", "TEXT NOT NULL", "the prompt's name"),
)

SCHEMA = Schema(
    version=2,
    tables={
        **run_tables(
            "answers",
            "`provider`, `model`, `temperature`, `prompt base`, `scenes`",
            "`spotball run` or `spotball gaze ask`",
            Column("options", "TEXT NOT NULL", "what may differ from start to start, as JSON"),
            "asking depends on",
        ),
        "requests": Table(
            "Each request that was answered. Its tokens are for all of its replies together.",
            ("request",),
            (
                Column("request", "INTEGER NOT NULL", "number, in the order in which the answers came"),
                Column("session", "INTEGER NOT NULL", "the start that made it"),
                Column("at", "TEXT NOT NULL", "when the answer came, UTC"),
                Column("latency", "REAL NOT NULL", "seconds from asking to the answer, of the attempt that succeeded"),
                Column("attempt", "INTEGER NOT NULL", "which attempt succeeded, from 1"),
                Column("model", "TEXT", "the model's version as the provider reported it"),
                Column("input_tokens", "INTEGER", "as the provider counted"),
                Column("output_tokens", "INTEGER", "as the provider counted"),
                Column("picture", "TEXT", "SHA-256 of the picture that was shown"),
            ),
        ),
        "replies": Table(
            "Each reply as it came.",
            ("sport", "image", "prompt", "step", "sample"),
            (
                *_SAMPLE,
                Column("step", "INTEGER NOT NULL", "the prompt's question from 0; after the last one, the answer"),
                Column("sample", "INTEGER NOT NULL", "from 1"),
                Column("request", "INTEGER NOT NULL", "the request it answers"),
                Column("text", "TEXT NOT NULL", "what was said"),
                Column("finish", "TEXT NOT NULL", "why it ended: stop, length, filtered, refused, other"),
                Column("finish_said", "TEXT NOT NULL", "the same in the provider's word"),
            ),
        ),
        "refused": Table(
            "Each image that the provider refused to process with a prompt, twice. A later answer removes it.",
            ("sport", "image", "prompt"),
            (
                *_SAMPLE,
                Column("session", "INTEGER NOT NULL", "the start in which it was refused last"),
                Column("at", "TEXT NOT NULL", "when, UTC"),
                Column("message", "TEXT NOT NULL", "the provider's"),
            ),
        ),
        "parsed": Table(
            "What was last read from each sample's reply; `spotball reparse` writes it anew.",
            ("sport", "image", "prompt", "sample"),
            (
                *_SAMPLE,
                Column("sample", "INTEGER NOT NULL", "from 1"),
                Column("cell", "TEXT", "the cell's label; null if unparsed"),
                Column("problem", "TEXT", "why it is unparsed"),
            ),
        ),
    },
    start_over="start over in another folder with --out: each request is then sent, and paid for, again",
)

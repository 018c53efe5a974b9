"""Tables and columns of a run's store, with the descriptions that SQLite and the documentation use."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from spotball_core.service.sqlite_file import Column, Schema, Table
from spotball_core.service.sqlite_store import run_tables

PROMPT = "prompt "
"""Prefix of the keys for prompts in a run's identity, such as "prompt base"."""

LATER_SETTINGS: Mapping[str, None] = MappingProxyType({"reasoning_effort": None, "extra_body": None})
"""Settings that the identities of older runs lack, with the values to assume for these runs."""

_SAMPLE = (
    Column(
        "sport", "TEXT NOT NULL", "the image's sport; `gaze` in runs of `spotball gaze ask`, `judge` in runs of a judge"
    ),
    Column(
        "image",
        "TEXT NOT NULL",
        "the image's id; the stimulus in runs of `spotball gaze ask`, the trial in runs of a judge",
    ),
    Column("prompt", "TEXT NOT NULL", "the prompt's name"),
)

SCHEMA = Schema(
    version=2,
    tables={
        **run_tables(
            "answers",
            "`provider`, `model`, `temperature`, `prompt base`, `scenes`",
            "`spotball run` or `spotball gaze ask`",
            Column("options", "TEXT NOT NULL", "options that may differ between sessions, as JSON"),
            "requests depend on",
        ),
        "requests": Table(
            "Answered requests. The token counts of a request cover all its replies.",
            ("request",),
            (
                Column("request", "INTEGER NOT NULL", "number of the request, in the order of the answers"),
                Column("session", "INTEGER NOT NULL", "the session that sent it"),
                Column("at", "TEXT NOT NULL", "time of the answer, UTC"),
                Column("latency", "REAL NOT NULL", "seconds from request to answer, for the successful attempt"),
                Column("attempt", "INTEGER NOT NULL", "number of the successful attempt, from 1"),
                Column("model", "TEXT", "the model's version, as reported by the provider"),
                Column("input_tokens", "INTEGER", "input tokens, as reported by the provider"),
                Column("output_tokens", "INTEGER", "output tokens, as reported by the provider"),
                Column("picture", "TEXT", "SHA-256 of the image that was sent"),
            ),
        ),
        "replies": Table(
            "The unchanged replies.",
            ("sport", "image", "prompt", "step", "sample"),
            (
                *_SAMPLE,
                Column(
                    "step",
                    "INTEGER NOT NULL",
                    "index of the message from 0; the last message of a prompt asks for the answer",
                ),
                Column("sample", "INTEGER NOT NULL", "from 1"),
                Column("request", "INTEGER NOT NULL", "number of the request"),
                Column("text", "TEXT NOT NULL", "the unchanged text"),
                Column("finish", "TEXT NOT NULL", "why the reply ended: stop, length, filtered, refused, other"),
                Column("finish_said", "TEXT NOT NULL", "the reason in the provider's words"),
            ),
        ),
        "refused": Table(
            "Images and prompts that the provider refused twice. A later answer deletes the entry.",
            ("sport", "image", "prompt"),
            (
                *_SAMPLE,
                Column("session", "INTEGER NOT NULL", "the session of the last refusal"),
                Column("at", "TEXT NOT NULL", "time of the last refusal, UTC"),
                Column("message", "TEXT NOT NULL", "the provider's message"),
            ),
        ),
        "parsed": Table(
            "The last parsed result of each sample's reply. `spotball parse` replaces it.",
            ("sport", "image", "prompt", "sample"),
            (
                *_SAMPLE,
                Column("sample", "INTEGER NOT NULL", "from 1"),
                Column("cell", "TEXT", "the cell's label; null if unparsed"),
                Column("problem", "TEXT", "why the reply is unparsed"),
            ),
        ),
    },
    start_over="name another folder with --out; all requests are then sent and paid for again",
)

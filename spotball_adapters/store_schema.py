"""The tables of a run's store, and what their columns mean: said once, for SQLite and for the documentation."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    type: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table. `key` names the columns that make a row one of its own."""

    meaning: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    def sql(self, name: str) -> str:
        """The statement that makes it."""
        columns = ", ".join(f"{column.name} {column.type}" for column in self.columns)
        return f"CREATE TABLE {name} ({columns}, PRIMARY KEY ({', '.join(self.key)}))"


_SAMPLE = (
    Column("sport", "TEXT NOT NULL", "the image's sport"),
    Column("image", "TEXT NOT NULL", "the image's id"),
    Column("prompt", "TEXT NOT NULL", "the prompt's name"),
)

TABLES: Mapping[str, Table] = MappingProxyType(
    {
        "run": Table(
            "What makes the answers belong together. A run goes on only under the same.",
            ("name",),
            (
                Column("name", "TEXT NOT NULL", "such as `provider`, `model`, `temperature`, `prompt base`, `scenes`"),
                Column("value", "TEXT NOT NULL", "as JSON"),
            ),
        ),
        "sessions": Table(
            "Each start of `spotball run`.",
            ("session",),
            (
                Column("session", "INTEGER NOT NULL", "number of the start, from 1"),
                Column("started", "TEXT NOT NULL", "when, UTC"),
                Column("ended", "TEXT", "when; null if it was killed"),
                Column("outcome", "TEXT", "how it ended"),
                Column("host", "TEXT NOT NULL", "the machine"),
                Column("pid", "INTEGER NOT NULL", "the process"),
                Column("options", "TEXT NOT NULL", "what may differ from start to start, as JSON"),
                Column("packages", "TEXT NOT NULL", "versions of the packages that asking depends on, as JSON"),
            ),
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
                Column("step", "INTEGER NOT NULL", "the prompt's question from 0; after the last one, the cell"),
                Column("sample", "INTEGER NOT NULL", "from 1"),
                Column("request", "INTEGER NOT NULL", "the request it answers"),
                Column("text", "TEXT NOT NULL", "what was said"),
                Column("finish", "TEXT NOT NULL", "why it ended: stop, length, filtered, refused, other"),
                Column("finish_said", "TEXT NOT NULL", "the same in the provider's word"),
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
    }
)


def create(connection: sqlite3.Connection) -> None:
    """Make the tables, all or none, unless they are there."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        if not connection.execute("PRAGMA user_version").fetchone()[0]:
            for name, table in TABLES.items():
                connection.execute(table.sql(name))
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

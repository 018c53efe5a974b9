"""Damage SQLite files in ways that can happen in practice."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

PAGE = 4096
"""Size of an SQLite page in bytes."""


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _zeros(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def _text(path: Path) -> None:
    path.write_text("not a database, and long enough to be looked at " * 200)


def _truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // PAGE // 2 * PAGE])


def _overwritten(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: 2 * PAGE] + b"\xff" * (len(content) - 2 * PAGE))


def _other_program(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE mine (a)")


def _without_a_table(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        (name,) = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' LIMIT 1").fetchone()
        connection.execute(f"DROP TABLE {name}")


DAMAGES: Mapping[str, Callable[[Path], None]] = {
    "empty": _empty,
    "zeros": _zeros,
    "text": _text,
    "truncated": _truncated,
    "overwritten page": _overwritten,
    "other program": _other_program,
    "without a table": _without_a_table,
}
"""Functions that damage a closed store, by name. SQLite opens an empty file without an error."""

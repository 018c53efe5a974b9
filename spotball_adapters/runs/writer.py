"""Writing replies to the store beside the asking: one thread, and one transaction for all that wait."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from spotball_adapters.providers.protocol import Answer
from spotball_adapters.runs.plan import Ask
from spotball_adapters.runs.store_schema import SCHEMA
from spotball_core.service.sqlite_file import connect, faults_told


@dataclass(frozen=True, slots=True)
class Record:
    """An answer as it is to be stored: its replies are for the first samples of what was asked."""

    ask: Ask[Any]
    answer: Answer
    at: str
    latency: float
    attempt: int
    picture: str | None


Stored = Callable[[Sequence[Record], BaseException | None], object]
"""Told, in the writer's thread, of records that are stored, or of why they are not."""


class Writer:
    """Stores records in the order they are put; once one fails, none after it is stored.

    Args:
        ended: is called in the writer's thread once it has stored all and ends.
    """

    def __init__(self, path: Path, session: int, stored: Stored, ended: Callable[[], object] = lambda: None) -> None:
        self._path, self._session, self._stored, self._ended = path, session, stored, ended
        self._queue: SimpleQueue[Record | None] = SimpleQueue()
        # A daemon, so that a program that cannot close it, such as one without memory, ends all the same.
        self._thread = threading.Thread(target=self._run, name="spotball-store", daemon=True)
        self._thread.start()

    def put(self, record: Record) -> None:
        """Hand over a record; returns at once."""
        self._queue.put(record)

    def finish(self) -> None:
        """Let it store what waits, and end; returns at once."""
        self._queue.put(None)

    def close(self) -> None:
        """Store what waits, and end."""
        self.finish()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._store_all()
        except BaseException as error:
            # Such as no memory: the thread that asks must not wait for a thread that has ended.
            self._stored((), error)
        finally:
            self._ended()

    def _store_all(self) -> None:
        failure: BaseException | None = None
        connection: sqlite3.Connection | None = None
        closing = False
        while not closing:
            batch = [self._queue.get()]
            while not self._queue.empty():
                batch.append(self._queue.get())
            records = [record for record in batch if record is not None]
            closing = len(records) < len(batch)
            if not records:
                continue
            if failure is None:
                try:
                    connection = connection or connect(self._path, SCHEMA)
                    with faults_told(self._path), connection:
                        for record in records:
                            self._insert(connection, record)
                except Exception as error:
                    # Whatever it is, the thread that asks must hear of it: nothing more can be kept.
                    failure = error
            self._stored(records, failure)
        if connection:
            connection.close()

    def _insert(self, connection: sqlite3.Connection, record: Record) -> None:
        ask, answer = record.ask, record.answer
        cursor = connection.execute(
            "INSERT INTO requests (session, at, latency, attempt, model, input_tokens, output_tokens, picture) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._session,
                record.at,
                record.latency,
                record.attempt,
                answer.model and storable(answer.model),
                answer.input_tokens,
                answer.output_tokens,
                record.picture,
            ),
        )
        sport, image = ask.item.key
        connection.execute(
            "DELETE FROM refused WHERE sport = ? AND image = ? AND prompt = ?", (sport, image, ask.prompt.name)
        )
        # Fewer replies than samples are for the first of them.
        pairs = zip(ask.samples, answer.replies, strict=False)
        key = (*ask.item.key, ask.prompt.name, ask.step)
        connection.executemany(
            "INSERT INTO replies (sport, image, prompt, step, sample, request, text, finish, finish_said) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (*key, sample, cursor.lastrowid, storable(reply.text), reply.finish, storable(reply.finish_said))
                for sample, reply in pairs
            ],
        )


def storable(text: str) -> str:
    """Text with halves of surrogate pairs, which JSON allows and UTF-8 does not, joined or replaced by U+FFFD.

    Examples:
        >>> storable("D5 \\ud83d\\udc4d \\ud800") == "D5 \\U0001f44d \\ufffd"
        True
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text

"""Store replies in a background thread, with one transaction for all waiting replies."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spotball_adapters.providers.protocol import Answer
from spotball_adapters.runs.plan import Ask
from spotball_adapters.runs.store_schema import SCHEMA
from spotball_core.service.batch_thread import BatchThread
from spotball_core.service.sqlite_file import connect, sqlite_errors


@dataclass(frozen=True, slots=True)
class AnswerRecord:
    """An answer to store. If it has fewer replies than samples were requested, they belong to the first samples."""

    ask: Ask[Any]
    answer: Answer
    at: str
    latency: float
    attempt: int
    picture: str | None


OnStored = Callable[[Sequence[AnswerRecord], BaseException | None], object]
"""A function that is called with records and None if they were stored, or the error if they were not."""


class ReplyWriter(BatchThread[AnswerRecord]):
    """Store records in the order in which they are added. After a failure, no further record is stored.

    Args:
        on_stored: called in the writer's thread with stored records, or with failed records and the error.
        on_end: called in the writer's thread when it has stored all records and ends.
    """

    def __init__(
        self, path: Path, session: int, on_stored: OnStored, on_end: Callable[[], object] = lambda: None
    ) -> None:
        self._path, self._session, self._on_stored, self._on_end = path, session, on_stored, on_end
        self._failure: BaseException | None = None
        self._connection: sqlite3.Connection | None = None
        # A daemon thread, so that a program that cannot close it (for example without memory) still ends.
        super().__init__("spotball-store", daemon=True)

    def _run(self) -> None:
        try:
            super()._run()
            if self._connection:
                self._connection.close()
        except BaseException as error:
            # For example, no memory: the main thread must not wait for a thread that has ended.
            self._on_stored((), error)
        finally:
            self._on_end()

    def _do(self, batch: list[AnswerRecord]) -> None:
        if self._failure is None:
            try:
                self._connection = self._connection or connect(self._path, SCHEMA)
                with sqlite_errors(self._path), self._connection as connection:
                    for record in batch:
                        self._insert(connection, record)
            except Exception as error:
                # Any error must reach the main thread, because nothing more can be stored.
                self._failure = error
        self._on_stored(batch, self._failure)

    def _insert(self, connection: sqlite3.Connection, record: AnswerRecord) -> None:
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
        # If there are fewer replies than samples, they belong to the first samples.
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
    """Return the text with surrogate pairs joined and lone surrogates replaced by U+FFFD, so that UTF-8 can encode it.

    Examples:
        >>> storable("D5 \\ud83d\\udc4d \\ud800") == "D5 \\U0001f44d \\ufffd"
        True
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text

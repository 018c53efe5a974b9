"""Writing replies to the store beside the asking: one thread, and one transaction for all that wait."""

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
    """An answer as it is to be stored: its replies are for the first samples of what was asked."""

    ask: Ask[Any]
    answer: Answer
    at: str
    latency: float
    attempt: int
    picture: str | None


OnStored = Callable[[Sequence[AnswerRecord], BaseException | None], object]
"""Called with records that are stored, or with records that are not and why."""


class ReplyWriter(BatchThread[AnswerRecord]):
    """Stores records in the order they are put; once one fails, none after it is stored.

    Args:
        on_stored: called in the writer's thread with records that are stored, or with why they are not.
        on_end: called in the writer's thread once it has stored all and ends.
    """

    def __init__(
        self, path: Path, session: int, on_stored: OnStored, on_end: Callable[[], object] = lambda: None
    ) -> None:
        self._path, self._session, self._on_stored, self._on_end = path, session, on_stored, on_end
        self._failure: BaseException | None = None
        self._connection: sqlite3.Connection | None = None
        # A daemon, so that a program that cannot close it, such as one without memory, ends all the same.
        super().__init__("spotball-store", daemon=True)

    def _run(self) -> None:
        try:
            super()._run()
            if self._connection:
                self._connection.close()
        except BaseException as error:
            # Such as no memory: the thread that asks must not wait for a thread that has ended.
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
                # Whatever it is, the thread that asks must hear of it: nothing more can be kept.
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

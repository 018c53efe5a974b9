"""Read files of replies, one line per request, in this package's format or in the format of OpenAI's Batch API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError, model_validator

from spotball_adapters.providers.chat_completions import HostFailedError, MalformedReplyError, chat_answer
from spotball_adapters.providers.protocol import Answer, Finish, Reply
from spotball_adapters.providers.server_messages import error_of, shortened, writable
from spotball_core.errors import InputError, Problem, unreadable_text
from spotball_core.schema.faults import problems_of_record
from spotball_core.schema.record import Name, Record
from spotball_core.service.json_file import RepeatedKeyError, parse_json


class Said(Record):
    """One reply: its unchanged text (empty if the model returned no text), and why it ended."""

    text: str
    finish: Finish = "stop"


class ReplyLine(Record):
    """A line in this package's format. It has exactly one of the keys `text`, `replies` and `error`.

    Attributes:
        custom_id: the ID of the request.
        text: the text of the reply, if one reply was requested.
        finish: why the reply ended; by default it was complete.
        replies: the replies in the order of the request's samples, if several replies were requested.
        error: why the reply is missing. The next exported batch requests it again.
        model: the model version that the service reports.
    """

    custom_id: Name
    text: str | None = None
    finish: Finish | None = None
    replies: tuple[Said, ...] | None = None
    error: str | None = None
    model: str | None = None

    @model_validator(mode="after")
    def _one_of_three(self) -> ReplyLine:
        filled = [name for name in ("text", "replies", "error") if getattr(self, name) is not None]
        if len(filled) != 1:
            actual = " and ".join(f"`{name}`" for name in filled) or "none"
            raise ValueError(f"expected exactly one of the keys `text`, `replies` and `error`, but found {actual}")
        if self.replies == ():
            raise ValueError("expected at least one reply in `replies`")
        if self.finish is not None and self.text is None:
            raise ValueError("expected `finish` only with `text`. With `replies`, write `finish` in each reply")
        return self


@dataclass(frozen=True, slots=True)
class Received:
    """The result of one request: an answer, or the reason why the answer is missing."""

    file: str
    line: int
    custom_id: str
    answer: Answer | None
    error: str | None


def read_received(path: Path) -> Iterator[Received | Problem]:
    """Yield the contents of each line in a file of replies, or the problem with the line. Empty lines are skipped.

    Raises:
        InputError: if the file is missing, unreadable or not UTF-8.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([unreadable_text(str(path), error)]) from error
    # Not splitlines, because a JSON string may contain other line separators, such as U+2028.
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _read(str(path), number, line)


def _read(file: str, number: int, line: str) -> Received | Problem:
    try:
        record = parse_json(line)
    except RepeatedKeyError as error:
        return Problem("duplicate", file, number, "line", str(error), "each key once")
    except ValueError:
        return Problem("invalid-json", file, number, "line", shortened(line, 40), "a JSON object")
    if not isinstance(record, dict):
        return Problem("invalid-json", file, number, "line", shortened(line, 40), "a JSON object")
    if "response" in record:
        return _of_openai(file, number, record)
    try:
        reply_line = ReplyLine.model_validate(record)
    except ValidationError as error:
        return problems_of_record(error, file, number, model=ReplyLine)[0]
    if reply_line.error is not None:
        return Received(file, number, reply_line.custom_id, None, shortened(reply_line.error))
    line_replies = reply_line.replies or (Said(text=reply_line.text or "", finish=reply_line.finish or "stop"),)
    replies = tuple(Reply(writable(reply.text), reply.finish, reply.finish) for reply in line_replies)
    return Received(file, number, reply_line.custom_id, Answer(replies, reply_line.model, None, None), None)


def _of_openai(file: str, number: int, record: Mapping[str, Any]) -> Received | Problem:
    name, response = record.get("custom_id"), record["response"]
    if not isinstance(name, str) or not name:
        return Problem(
            "invalid-value", file, number, "custom_id", json.dumps(name), "text: the `custom_id` of a request"
        )
    body = response.get("body") if isinstance(response, dict) else None
    failure = record.get("error") or (body.get("error") if isinstance(body, dict) else None)
    if failure or response is None or (isinstance(response, dict) and response.get("status_code") != 200):
        status = response.get("status_code") if isinstance(response, dict) else None
        message = error_of({"error": failure})[0] or "no error message"
        return Received(file, number, name, None, shortened(f"HTTP {status}: {message}" if status else message))
    try:
        return Received(file, number, name, chat_answer(body if isinstance(body, dict) else {}), None)
    except MalformedReplyError as error:
        return Problem("invalid-value", file, number, "response.body", str(error), "a chat completion")
    except HostFailedError as error:
        return Received(file, number, name, None, str(error))

"""Define the replies of the simulated model of a loopback server, and the interface of a protocol."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from spotball_adapters.providers.protocol import Finish
from spotball_core.grid import Grid

INPUT_TOKENS = 400
OUTPUT_TOKENS = 20
"""Tokens per request and per reply, as each protocol reports them."""

Picture = tuple[str, bytes]
"""The media type and the bytes of an image."""

_LABELS = Grid.standard().labels
_DATA_URL = re.compile(r"data:(image/(?:png|jpeg|webp|gif));base64,(.+)", re.DOTALL)


class BadRequest(Exception):
    """Raised for a request that the protocol does not allow."""

    def __init__(self, message: str, *, status: int = 400, code: str = "", field: str | None = None) -> None:
        super().__init__(message)
        self.status, self.code, self.field = status, code, field


@dataclass(frozen=True)
class ReceivedRequest:
    """A parsed request.

    Attributes:
        turns: (role, text) of each message, in order.
        pictures: (media type, bytes) of each picture.
        settings: temperature and other settings, by the protocol's names.
        n: the number of requested samples.
        key: the API key that was sent; None if there was none.
    """

    model: str
    turns: tuple[tuple[str, str], ...]
    pictures: tuple[Picture, ...]
    settings: Mapping[str, Any]
    n: int
    key: str | None

    @property
    def question(self) -> str:
        """Return a hash of the request that ignores the number of samples, the seed and the key."""
        pictures = [[kind, hashlib.sha256(data).hexdigest()] for kind, data in self.pictures]
        settings = {name: value for name, value in self.settings.items() if name != "seed"}
        identity = json.dumps([self.model, self.turns, pictures, settings], sort_keys=True)
        return hashlib.sha256(identity.encode()).hexdigest()[:12]


def cell_of(question: str, number: int) -> str:
    """Return the cell in the model's reply to a question; replies are numbered from 0."""
    digest = hashlib.sha256(f"0/{question}/{number}".encode()).digest()
    return _LABELS[int.from_bytes(digest[:8], "big") % len(_LABELS)]


def text_of(question: str, number: int) -> str:
    """Return the text of a reply, which contains the question and the number, so that every reply differs."""
    return f"Reasoning: reply {number} to question {question}.\nCell: {cell_of(question, number)}"


Ends = Mapping[str, tuple[Finish, str, str | None]]
"""For each style of answer: the finish reason, the protocol's name for it, and the text if it is known."""


class Speaks(Protocol):
    """A protocol, which parses requests and writes answers and errors.

    `read` raises BadRequest for anything that the protocol does not allow.
    """

    def read(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> ReceivedRequest: ...
    def write(self, asked: ReceivedRequest, texts: list[str], style: str) -> dict[str, Any]: ...
    def error(self, status: int, message: str, code: str | None, field: str | None) -> dict[str, Any]: ...


def need(condition: bool, message: str, **details: Any) -> None:
    if not condition:
        raise BadRequest(message, **details)


def known(given: Mapping[str, Any], names: set[str], where: str) -> None:
    """Raise BadRequest if there is a field with another name than these."""
    need(isinstance(given, dict), f"{where} is no object")
    for name in given:
        need(name in names, f"unrecognized field {name!r} in {where}", field=name)


def number_in(given: Mapping[str, Any], name: str, low: float, high: float, *, whole: bool = False) -> None:
    """Raise BadRequest if the field is present and is not a number in the range."""
    if name in given:
        value = given[name]
        kinds = (int,) if whole else (int, float)
        fits = isinstance(value, kinds) and not isinstance(value, bool) and low <= value <= high
        need(fits, f"{name} is {value!r}, expected {low} to {high}", field=name)


def parsed(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except ValueError as error:
        raise BadRequest(f"the body is no JSON: {error}") from error
    need(isinstance(found, dict), "the body is no object")
    return found


def decoded(text: object) -> bytes:
    try:
        return base64.b64decode(str(text), validate=True)
    except binascii.Error as error:
        raise BadRequest("the image is no base64") from error


def data_url(url: str) -> Picture:
    match = _DATA_URL.fullmatch(url)
    if match is None:
        raise BadRequest("the image is no data URL")
    return match[1], decoded(match[2])


def check_post(method: str, path: str, headers: Mapping[str, str], expected: str) -> None:
    """Raise BadRequest unless the request posts JSON to the expected path."""
    need(path == expected, f"unknown path {path}", status=404)
    need(method == "POST", f"no {method} here", status=405)
    need(headers.get("content-type") == "application/json", "the content type is not application/json", status=415)


def turns_of(
    messages: object,
    field: str,
    picture_of: Callable[[dict[str, Any]], Picture],
    *,
    roles: Collection[str] = ("system", "user", "assistant"),
    text: str = "text",
) -> tuple[tuple[tuple[str, str], ...], tuple[Picture, ...]]:
    """Return (role, text) of each message, and the pictures.

    Args:
        picture_of: parses a part that is not of the type `text`.
    """
    need(isinstance(messages, list) and bool(messages), f"{field} is missing", field=field)
    assert isinstance(messages, list)
    turns, pictures = [], []
    for message in messages:
        known(message, {"role", "content"}, "a message")
        need(message.get("role") in roles, "an unknown role", field=field)
        content = message.get("content")
        if isinstance(content, list):
            words = ""
            for part in content:
                if part.get("type") == text:
                    known(part, {"type", "text"}, "a text part")
                    words += part["text"]
                else:
                    pictures.append(picture_of(part))
            content = words
        need(isinstance(content, str), "a message without content", field=field)
        turns.append((message["role"], content))
    return tuple(turns), tuple(pictures)

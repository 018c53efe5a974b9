"""What a loopback server's model says, and what a protocol is to the server."""

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
"""What a request and a reply cost, in each protocol's usage."""

Picture = tuple[str, bytes]
"""A media type and the bytes."""

_LABELS = Grid.standard().labels
_DATA_URL = re.compile(r"data:(image/(?:png|jpeg|webp|gif));base64,(.+)", re.DOTALL)


class BadRequest(Exception):
    """A request that the protocol does not know."""

    def __init__(self, message: str, *, status: int = 400, code: str = "", field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.field = field


@dataclass(frozen=True)
class ReceivedRequest:
    """A request as the server understood it.

    Attributes:
        model: the model's name.
        turns: (role, text) of each message, in order.
        pictures: (media type, bytes) of each.
        settings: temperature and the like, by the protocol's names.
        n: samples asked for.
        key: as it was sent; None where there was none.
    """

    model: str
    turns: tuple[tuple[str, str], ...]
    pictures: tuple[Picture, ...]
    settings: Mapping[str, Any]
    n: int
    key: str | None

    @property
    def question(self) -> str:
        """The same for requests that differ in nothing but samples, seed and key."""
        pictures = [[kind, hashlib.sha256(data).hexdigest()] for kind, data in self.pictures]
        settings = {name: value for name, value in self.settings.items() if name != "seed"}
        identity = json.dumps([self.model, self.turns, pictures, settings], sort_keys=True)
        return hashlib.sha256(identity.encode()).hexdigest()[:12]


def cell_of(question: str, number: int, seed: int = 0) -> str:
    """The cell that the model names in its reply of this number, from 0, to a question."""
    digest = hashlib.sha256(f"{seed}/{question}/{number}".encode()).digest()
    return _LABELS[int.from_bytes(digest[:8], "big") % len(_LABELS)]


def text_of(question: str, number: int, seed: int = 0) -> str:
    """What the model says in its reply of this number; question and number are in it, to tell each reply apart."""
    return f"Reasoning: reply {number} to question {question}.\nCell: {cell_of(question, number, seed)}"


Ends = Mapping[str, tuple[Finish, str, str | None]]
"""Of styles of answers: why such a reply ended, the same in the protocol's own word, and its text if that is known."""


class Speaks(Protocol):
    """A protocol: how requests are read, and answers and errors written."""

    def read(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> ReceivedRequest:
        """What is asked; BadRequest for anything that the protocol does not know."""
        ...

    def write(self, asked: ReceivedRequest, texts: list[str], style: str) -> dict[str, Any]:
        """The body of an answer with these replies."""
        ...

    def error(self, status: int, message: str, code: str | None, field: str | None) -> dict[str, Any]:
        """The body of an error."""
        ...


def need(condition: bool, message: str, **details: Any) -> None:
    if not condition:
        raise BadRequest(message, **details)


def known(given: Mapping[str, Any], names: set[str], where: str) -> None:
    """No fields but these."""
    need(isinstance(given, dict), f"{where} is no object")
    for name in given:
        need(name in names, f"unrecognized field {name!r} in {where}", field=name)


def number_in(given: Mapping[str, Any], name: str, low: float, high: float, *, whole: bool = False) -> None:
    """If the field is there, it is a number in the range."""
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
    """A request that posts JSON to the expected path."""
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
    """(role, text) of each message, and the pictures.

    Args:
        messages: what the field holds.
        field: its name.
        picture_of: reads a part that is no text.
        roles: those that the protocol has.
        text: the type of parts that are text.
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

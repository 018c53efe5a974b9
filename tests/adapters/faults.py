"""Define faults that the loopback servers simulate."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Connection = Literal["drop", "reset", "drop-after-headers", "truncated", "hang", "slow", "raw", "endless"]
Kind = Literal["status", "body", "reply", "redirect"] | Connection


@dataclass(frozen=True)
class Fault:
    """A fault that the server simulates for one request.

    Attributes:
        kind: The kind of fault. `status`: an error in the format of the protocol. `body`: `text`, unchanged.
            `drop`, `reset`: the connection is closed or reset without a response. `raw`: the server sends `text`,
            which is not HTTP, and closes the connection. `drop-after-headers`, `truncated`: the connection is closed
            before or within the body.
            `slow`: a valid response after `seconds`. `hang`: no response. `reply`: a valid response in the style
            `style`. `redirect`: a redirect to `text`. `endless`: spaces without end, `seconds` between chunks.
        content: The body of the kind `body` as bytes, used instead of `text`.
        code: The error code in the format of the protocol.
        style: The style of the reply: `refusal`, `filtered`, `empty`, `cut-off`, `blocked` or `strange`.
    """

    kind: Kind
    status: int = 200
    text: str = ""
    content: bytes = b""
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    style: str = ""


def _with_dashes(headers: Mapping[str, str]) -> Mapping[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def status(number: int, message: str = "scripted", *, code: str | None = None, **headers: str) -> Fault:
    """Return an error in the format of the protocol; the names of `headers` contain _ instead of -."""
    return Fault("status", status=number, text=message, code=code, headers=_with_dashes(headers))


def body(text: str) -> Fault:
    return Fault("body", text=text)


def content(data: bytes, number: int = 200, **headers: str) -> Fault:
    """Return a response with a body of bytes; the names of `headers` contain _ instead of -."""
    return Fault("body", status=number, content=data, headers=_with_dashes(headers))


def answer(said: Any) -> Fault:
    return content(json.dumps(said).encode())


def reply(style: str) -> Fault:
    return Fault("reply", style=style)


def slow(seconds: float) -> Fault:
    return Fault("slow", seconds=seconds)


ENDLESS = Fault("endless")
DRIP = Fault("endless", seconds=0.02)
DROP = Fault("drop")
RESET = Fault("reset")
DROP_AFTER_HEADERS = Fault("drop-after-headers")
TRUNCATED = Fault("truncated")
HANG = Fault("hang")
BROKEN_JSON = body('{"choices": [{"mess')
HTML = body("<html><body>Bad gateway</body></html>")
STORM = status(500, "internal error")
OVERLOADED = status(503, "overloaded")

NAMED: Mapping[str, Fault] = {
    "500": STORM,
    "503": OVERLOADED,
    "429": status(429, "too many requests", code="rate_limit_exceeded", retry_after="0.05"),
    "401": status(401, "no such key"),
    **{kind: Fault(kind) for kind in ("drop", "reset", "drop-after-headers", "truncated", "hang")},
    "broken-json": BROKEN_JSON,
    "html": HTML,
    **{style: reply(style) for style in ("refusal", "filtered", "empty", "cut-off")},
}
"""Faults by the names that `python -m tests.adapters.server --fault` accepts."""

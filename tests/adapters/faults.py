"""What can go wrong with a server, and how often: faults that the loopback servers act out."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal[
    "status",
    "body",
    "drop",
    "reset",
    "drop-after-headers",
    "truncated",
    "slow",
    "hang",
    "raw",
    "reply",
    "redirect",
    "endless",
]


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong with one request.

    Attributes:
        kind: `status`: an error in the protocol's form. `body`: `text` as it is. `drop`, `reset`: the connection
            closed, or reset, with no answer. `raw`: closed after `text`, which is no HTTP. `drop-after-headers`,
            `truncated`: closed before the body, or in the middle of it. `slow`: the right answer after `seconds`.
            `hang`: none. `reply`: a right answer in which the model did as `style` says. `redirect`: to `text`.
            `endless`: spaces that never end, with `seconds` between chunks.
        content: the body of `body`, in place of `text`.
        code: of an error, in the protocol's words.
        style: `refusal`, `filtered`, `empty`, `cut-off`, `blocked`, `strange`.
    """

    kind: Kind
    status: int = 200
    text: str = ""
    content: bytes = b""
    code: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    style: str = ""


def status(number: int, message: str = "scripted", *, code: str | None = None, **headers: str) -> Fault:
    """An error of the protocol; headers with _ for -."""
    return Fault(
        "status", status=number, text=message, code=code, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


def body(text: str) -> Fault:
    return Fault("body", text=text)


def content(data: bytes, number: int = 200, **headers: str) -> Fault:
    """A body of bytes; headers with _ for -."""
    return Fault("body", status=number, content=data, headers={k.replace("_", "-"): v for k, v in headers.items()})


def answer(said: Any) -> Fault:
    """A body of JSON."""
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
    "drop": DROP,
    "reset": RESET,
    "drop-after-headers": DROP_AFTER_HEADERS,
    "truncated": TRUNCATED,
    "broken-json": BROKEN_JSON,
    "html": HTML,
    "hang": HANG,
    "refusal": reply("refusal"),
    "filtered": reply("filtered"),
    "empty": reply("empty"),
    "cut-off": reply("cut-off"),
}
"""Faults by the names that the command of the server takes."""


class TokenBucket:
    """A rate limit: `burst` requests at once, `rate` a second from then on."""

    def __init__(self, rate: float, burst: int) -> None:
        self.rate = rate
        self.burst = burst
        self._tokens = float(burst)
        self._at = time.monotonic()

    def wait(self) -> float:
        """Take a token: 0 if there was one, else the seconds until there is."""
        now = time.monotonic()
        self._tokens = min(self.burst, self._tokens + (now - self._at) * self.rate)
        self._at = now
        if self._tokens >= 1:
            self._tokens -= 1
            return 0.0
        return (1 - self._tokens) / self.rate

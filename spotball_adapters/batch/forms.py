"""Write requests as lines of JSON, in this package's format or in OpenAI's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spotball_adapters.batch.folder import FormName
from spotball_adapters.providers.chat_completions import chat_body
from spotball_adapters.providers.protocol import Request

AT_ONCE: dict[FormName, int] = {"messages": 1, "openai": 128}
"""Default maximum number of replies per request, by format. Not every service can return several replies per
request."""

MOST_LINES, MOST_BYTES = 50_000, 200_000_000
"""OpenAI's limits per file of requests: number of lines and number of bytes."""


def line(form: FormName, custom_id: str, model: str | None, request: Request, picture: str) -> str:
    """Return a request as a line of JSON.

    Args:
        model: the model's name at the service, or None if it is chosen when the requests are sent.
        picture: path of the image, relative to the run's folder.
    """
    if form == "openai":
        assert model is not None
        body = chat_body(model, request, length="max_completion_tokens")
        entry: dict[str, Any] = {"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body}
    else:
        settings = request.settings.given()
        if "seed" in settings:
            # Requests for further samples of the same question must not return the same replies.
            settings["seed"] += request.samples[0] - 1
        entry = {"custom_id": custom_id, **({"model": model} if model else {})}
        entry["messages"] = [
            {"role": message.role, **({"image": picture} if message.picture else {}), "text": message.text}
            for message in request.messages
        ]
        entry |= {"settings": settings, "n": len(request.samples)}
    # ASCII, because text may contain Unicode line separators at which some readers would split.
    return json.dumps(entry) + "\n"


class Parts:
    """Write lines to `requests.jsonl`, or to `requests-001.jsonl` and so on if one file would be too large.

    Args:
        folder: the folder to write to.
        lines: maximum lines per file.
        size: maximum bytes per file.
    """

    def __init__(self, folder: Path, *, lines: int = MOST_LINES, size: int = MOST_BYTES) -> None:
        self._folder, self._most_lines, self._most_bytes = folder, lines, size
        self._names: list[str] = []
        self._lines = self._bytes = 0
        self._close: Callable[[], None] = lambda: None

    def write(self, text: str) -> None:
        """Write a line. If the current file would become too large, start the next one."""
        data = text.encode()
        if not self._names or self._lines == self._most_lines or self._bytes + len(data) > self._most_bytes:
            self._next()
        self._file.write(data)
        self._lines += 1
        self._bytes += len(data)

    def close(self) -> tuple[str, ...]:
        """Close the last file, and return the names of all files."""
        self._close()
        if len(self._names) == 1:
            (self._folder / self._names[0]).rename(self._folder / "requests.jsonl")
            return ("requests.jsonl",)
        return tuple(self._names)

    def _next(self) -> None:
        self._close()
        self._names.append(f"requests-{len(self._names) + 1:03}.jsonl")
        self._file = (self._folder / self._names[-1]).open("wb")
        self._close = self._file.close
        self._lines = self._bytes = 0

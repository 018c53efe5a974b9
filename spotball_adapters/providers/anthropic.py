"""Provider `anthropic`: Anthropic's Messages API. The API key is read from ANTHROPIC_API_KEY."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from spotball_adapters.providers.http import Server
from spotball_adapters.providers.image_tokens import anthropic_tokens
from spotball_adapters.providers.protocol import (
    Access,
    Answer,
    Finish,
    Message,
    Picture,
    Provider,
    Reply,
    Request,
    Settings,
    check_ranges,
    key_from,
    missing,
    refuse,
)
from spotball_adapters.providers.server_messages import count, word, writable

HOME = "https://api.anthropic.com"
KEY = "ANTHROPIC_API_KEY"
VERSION = "2023-06-01"
"""The API version to send in the header `anthropic-version`."""

MAX_OUTPUT_TOKENS = 4096
"""The `max_tokens` that is sent if the user sets no limit. The API requires the field; all Claude models accept this
value.
"""

_FINISH: Mapping[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}
_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class Anthropic:
    """Send requests to one Claude model. The API returns one reply per request and does not support a seed.

    Raises:
        OptionError: if the address is invalid.
        PermanentError: if the key contains a character that an HTTP header cannot hold.
    """

    name = "anthropic"

    def __init__(self, access: Access) -> None:
        key = key_from(KEY)
        self.model = access.model
        self.max_samples = 1
        self._keyless = key is None
        headers = {"x-api-key": key or "", "anthropic-version": VERSION}
        self._server = Server(access, home=HOME, key=key, headers=headers)

    def check(self, settings: Settings) -> None:
        """Raise OptionError for settings that the API does not support, such as a seed, and for values out of range."""
        refuse(settings, "seed", why="Anthropic's Messages API does not support a seed")
        check_ranges(settings, self.name, max_temperature=1.0)

    def image_tokens(self, width: int, height: int) -> int | None:
        """Return the image's number of tokens by Anthropic's published rule, or None if the API may downscale it."""
        return anthropic_tokens(width, height)

    def versions(self) -> Mapping[str, str]:
        """Return the versions of the HTTP client and of the API."""
        return {**self._server.versions(), "anthropic-version": VERSION}

    def ready(self) -> None:
        """Check that the API key is set."""
        if self._keyless:
            raise missing(KEY, self.name)

    async def ask(self, request: Request) -> Answer:
        """Send one request for one sample, and return the answer."""
        self.ready()
        body = await self._server.post("/v1/messages", self._body(request))
        text = self._text(body.get("content"))
        stop_reason = word(body.get("stop_reason"))
        usage = body.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        inputs = [tokens for name in _INPUT if (tokens := count(usage.get(name))) is not None]
        model = body.get("model")
        return Answer(
            (Reply(writable(text), _FINISH.get(stop_reason, "other"), stop_reason),),
            model=model if isinstance(model, str) and model else None,
            input_tokens=sum(inputs) if inputs else None,
            output_tokens=count(usage.get("output_tokens")),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._server.close()

    def _text(self, blocks: object) -> str:
        if not isinstance(blocks, list):
            raise self._server.malformed("no content")
        texts = []
        for block in blocks:
            if isinstance(block, dict) and block.get("type") == "text":
                if not isinstance(text := block.get("text"), str):
                    raise self._server.malformed("a text block without text")
                texts.append(text)
        return "".join(texts)

    def _body(self, request: Request) -> dict[str, Any]:
        settings = request.settings.given()
        body: dict[str, Any] = {
            "model": self.model,
            "max_tokens": settings.pop("max_output_tokens", MAX_OUTPUT_TOKENS),
            "messages": [_message(turn, request.picture) for turn in request.messages if turn.role != "system"],
        }
        if system := "\n\n".join(turn.text for turn in request.messages if turn.role == "system"):
            body["system"] = system
        return body | settings


def provider(access: Access) -> Provider:
    """Create the provider. The entry point `anthropic` refers to this function."""
    return Anthropic(access)


def _message(message: Message, picture: Picture) -> dict[str, Any]:
    if not message.picture:
        return {"role": message.role, "content": message.text}
    source = {"type": "base64", "media_type": picture.media_type, "data": base64.b64encode(picture.data).decode()}
    blocks = [{"type": "image", "source": source}, {"type": "text", "text": message.text}]
    return {"role": message.role, "content": blocks}

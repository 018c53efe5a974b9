"""Fake of the Anthropic Messages API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tests.adapters import speech
from tests.adapters.speech import BadRequest, Ends, ReceivedRequest, check_post, known, need, number_in, parsed

_FIELDS = {"model", "messages", "max_tokens", "system", "temperature", "top_p", "top_k", "stop_sequences"}
_MEDIA = {"image/png", "image/jpeg", "image/webp", "image/gif"}


class AnthropicProtocol:
    """Implement the Messages API; `keys` are the accepted API keys, or None for any key."""

    ends: ClassVar[Ends] = {
        "": ("stop", "end_turn", None),
        "refusal": ("refused", "refusal", ""),
        "empty": ("stop", "end_turn", ""),
        "cut-off": ("length", "max_tokens", "Reasoning:"),
        "strange": ("other", "pause_turn", None),
    }

    def __init__(self, *, keys: set[str] | None = None) -> None:
        self.keys = keys

    def read(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> ReceivedRequest:
        check_post(method, path, headers, "/v1/messages")
        need(headers.get("anthropic-version") == "2023-06-01", "anthropic-version: header is required")
        key = headers.get("x-api-key")
        if not key or (self.keys is not None and key not in self.keys):
            raise BadRequest(f"invalid x-api-key: {key}", status=401, code="authentication_error")
        given = parsed(body)
        known(given, _FIELDS, "the request")
        need(isinstance(given.get("model"), str), "model: Field required")
        need("max_tokens" in given, "max_tokens: Field required")
        number_in(given, "max_tokens", 1, 200_000, whole=True)
        number_in(given, "temperature", 0, 1)
        number_in(given, "top_p", 0, 1)
        turns, pictures = speech.turns_of(given.get("messages"), "messages", _picture, roles=("user", "assistant"))
        need(all(text for _, text in turns), "messages: text content blocks must be non-empty")
        if "system" in given:
            need(isinstance(given["system"], str), "system: no text")
            turns = (("system", given["system"]), *turns)
        settings = {name: given[name] for name in given if name not in ("model", "messages", "system")}
        return ReceivedRequest(given["model"], turns, pictures, settings, 1, key)

    def write(self, asked: ReceivedRequest, texts: list[str], style: str) -> dict[str, Any]:
        (text,) = texts
        # The text is split into two blocks around a thinking block. Clients must join only the text blocks.
        content: list[dict[str, Any]] = [
            {"type": "text", "text": text[:5]},
            {"type": "thinking", "thinking": "Cell: F10", "signature": ""},
            {"type": "text", "text": text[5:]},
        ]
        others = {"refusal": [], "empty": [], "cut-off": [{"type": "text", "text": text[:10]}]}
        _, stop, _ = self.ends.get(style, self.ends[""])
        usage = {"input_tokens": speech.INPUT_TOKENS - 100, "output_tokens": speech.OUTPUT_TOKENS}
        usage |= {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 100}
        answer = {"id": "msg_1", "type": "message", "role": "assistant", "model": f"{asked.model}-20250514"}
        answer |= {"content": others.get(style, content), "stop_reason": stop, "stop_sequence": None}
        return answer | {"usage": usage}

    def error(self, status: int, message: str, code: str | None, field: str | None) -> dict[str, Any]:
        kinds = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error", 529: "overloaded_error"}
        kind = code or kinds.get(status, "api_error" if status >= 500 else "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def _picture(block: dict[str, Any]) -> speech.Picture:
    need(block.get("type") == "image", "messages: unexpected block")
    known(block, {"type", "source"}, "an image block")
    known(block["source"], {"type", "media_type", "data"}, "a source")
    need(block["source"].get("type") == "base64", "messages: unexpected source")
    need(block["source"].get("media_type") in _MEDIA, "messages: unexpected media type")
    return block["source"]["media_type"], speech.decoded(block["source"]["data"])

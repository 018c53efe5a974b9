"""The Responses API, as OpenAI and its likes speak it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from tests.adapters.speech import (
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    BadRequest,
    Ends,
    ReceivedRequest,
    decoded,
    known,
    need,
    number_in,
    parsed,
)

_FIELDS = {
    *("model", "input", "temperature", "top_p", "max_output_tokens", "reasoning", "store", "stream"),
    # Not OpenAI's, but that of vLLM.
    "top_k",
}
_DATA_URL = re.compile(r"data:(image/(?:png|jpeg|webp|gif));base64,(.+)", re.DOTALL)


class ResponsesProtocol:
    """The Responses API, which gives one reply per request.

    Args:
        keys: those that are taken; None takes any, or none at all, as a server of one's own does.
    """

    ends: ClassVar[Ends] = {
        "": ("stop", "completed", None),
        "refusal": ("refused", "completed", "I can't help with that."),
        "filtered": ("filtered", "content_filter", ""),
        "empty": ("stop", "completed", ""),
        "cut-off": ("length", "max_output_tokens", "Reasoning:"),
        "all-reasoning": ("length", "max_output_tokens", ""),
        "strange": ("other", "cancelled", None),
    }

    def __init__(self, *, keys: set[str] | None = None) -> None:
        self.keys = keys

    def read(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> ReceivedRequest:
        need(path == "/v1/responses", f"unknown path {path}", status=404)
        need(method == "POST", f"no {method} here", status=405)
        need(headers.get("content-type") == "application/json", "the content type is not application/json", status=415)
        key = headers.get("authorization", "").removeprefix("Bearer ") or None
        if self.keys is not None and key not in self.keys:
            raise BadRequest(f"Incorrect API key provided: {key}", status=401, code="invalid_api_key")
        given = parsed(body)
        known(given, _FIELDS, "the request")
        need(isinstance(given.get("model"), str), "model is missing", field="model")
        need(given.get("store") is False, "the reply is to be stored", field="store")
        need(given.get("stream") is False, "the reply is to be streamed", field="stream")
        number_in(given, "temperature", 0, 2)
        number_in(given, "top_p", 0, 1)
        number_in(given, "max_output_tokens", 16, 2**31, whole=True)
        turns, pictures = _input(given.get("input"))
        settings = {
            name: given[name] for name in given if name not in ("model", "input", "store", "stream", "reasoning")
        }
        if "reasoning" in given:
            known(given["reasoning"], {"effort"}, "reasoning")
            settings["reasoning_effort"] = given["reasoning"]["effort"]
        return ReceivedRequest(given["model"], turns, pictures, settings, 1, key)

    def write(self, asked: ReceivedRequest, texts: list[str], style: str) -> dict[str, Any]:
        (text,) = texts
        status, reason = "completed", None
        parts: list[dict[str, Any]] = [{"type": "output_text", "text": text[:5], "annotations": []}]
        parts.append({**parts[0], "text": text[5:]})
        if style == "refusal":
            parts = [{"type": "refusal", "refusal": "I can't help with that."}]
        elif style == "empty":
            parts = [{**parts[0], "text": ""}]
        elif style == "filtered":
            parts, status, reason = [], "incomplete", "content_filter"
        elif style == "cut-off":
            parts, status, reason = [{**parts[0], "text": text[:10]}], "incomplete", "max_output_tokens"
        elif style == "all-reasoning":
            status, reason = "incomplete", "max_output_tokens"
        elif style == "strange":
            status = "cancelled"
        output: list[dict[str, Any]] = [{"type": "reasoning", "id": "rs_1", "summary": []}]
        if style != "all-reasoning":
            output.append({"type": "message", "id": "msg_1", "role": "assistant", "status": status, "content": parts})
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 0,
            "status": status,
            "error": None,
            "incomplete_details": {"reason": reason} if reason else None,
            "model": f"{asked.model}-2025-04-14",
            "output": output,
            "usage": {
                "input_tokens": INPUT_TOKENS,
                "output_tokens": OUTPUT_TOKENS,
                "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
            },
        }

    def error(self, status: int, message: str, code: str | None, field: str | None) -> dict[str, Any]:
        return {"error": {"message": message, "type": "error", "param": field, "code": code}}


def _input(items: object) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, bytes], ...]]:
    need(isinstance(items, list) and bool(items), "input is missing", field="input")
    assert isinstance(items, list)
    turns, pictures = [], []
    for item in items:
        known(item, {"role", "content"}, "an item")
        need(item.get("role") in ("system", "user", "assistant"), "an unknown role", field="input")
        content = item.get("content")
        if isinstance(content, list):
            text = ""
            for part in content:
                if part.get("type") == "input_text":
                    known(part, {"type", "text"}, "a text part")
                    text += part["text"]
                else:
                    need(part.get("type") == "input_image", f"an unknown part {part.get('type')!r}", field="input")
                    known(part, {"type", "image_url", "detail"}, "an image part")
                    match = _DATA_URL.fullmatch(part["image_url"])
                    if match is None:
                        raise BadRequest("the image is no data URL")
                    pictures.append((match[1], decoded(match[2])))
            content = text
        need(isinstance(content, str), "an item without content", field="input")
        turns.append((item["role"], content))
    return tuple(turns), tuple(pictures)

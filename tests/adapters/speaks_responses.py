"""Fake of the Responses API of OpenAI and compatible servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from tests.adapters import speech
from tests.adapters.speaks_openai import OpenAIServer
from tests.adapters.speech import Ends, ReceivedRequest, check_post, known, need, number_in, parsed

_FIELDS = {
    *("model", "input", "temperature", "top_p", "max_output_tokens", "reasoning", "store", "stream"),
    # OpenAI does not have this field, but vLLM does.
    "top_k",
}


class ResponsesProtocol(OpenAIServer):
    """Implement the Responses API, which returns one reply per request."""

    ends: ClassVar[Ends] = {
        "": ("stop", "completed", None),
        "refusal": ("refused", "completed", "I can't help with that."),
        "filtered": ("filtered", "content_filter", ""),
        "empty": ("stop", "completed", ""),
        "cut-off": ("length", "max_output_tokens", "Reasoning:"),
        "all-reasoning": ("length", "max_output_tokens", ""),
        "strange": ("other", "cancelled", None),
    }

    def read(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> ReceivedRequest:
        check_post(method, path, headers, "/v1/responses")
        key = self.key_in(headers)
        given = parsed(body)
        known(given, _FIELDS, "the request")
        need(isinstance(given.get("model"), str), "model is missing", field="model")
        need(given.get("store") is False, "the reply is to be stored", field="store")
        need(given.get("stream") is False, "the reply is to be streamed", field="stream")
        number_in(given, "temperature", 0, 2)
        number_in(given, "top_p", 0, 1)
        number_in(given, "max_output_tokens", 16, 2**31, whole=True)
        turns, pictures = speech.turns_of(given.get("input"), "input", _picture, text="input_text")
        others = ("model", "input", "store", "stream", "reasoning")
        settings = {name: given[name] for name in given if name not in others}
        if "reasoning" in given:
            known(given["reasoning"], {"effort"}, "reasoning")
            settings["reasoning_effort"] = given["reasoning"]["effort"]
        return ReceivedRequest(given["model"], turns, pictures, settings, 1, key)

    def write(self, asked: ReceivedRequest, texts: list[str], style: str) -> dict[str, Any]:
        (text,) = texts
        part = {"type": "output_text", "text": text, "annotations": []}
        parts: dict[str, list[dict[str, Any]]] = {
            "refusal": [{"type": "refusal", "refusal": "I can't help with that."}],
            "empty": [{**part, "text": ""}],
            "filtered": [],
            "cut-off": [{**part, "text": text[:10]}],
        }
        content = parts.get(style, [{**part, "text": text[:5]}, {**part, "text": text[5:]}])
        _, end, _ = self.ends.get(style, self.ends[""])
        status = end if end in ("completed", "cancelled") else "incomplete"
        output: list[dict[str, Any]] = [{"type": "reasoning", "id": "rs_1", "summary": []}]
        if style != "all-reasoning":
            output.append({"type": "message", "id": "msg_1", "role": "assistant", "status": status, "content": content})
        answer = {"id": "resp_1", "object": "response", "created_at": 0, "status": status, "error": None}
        answer |= {"incomplete_details": {"reason": end} if status == "incomplete" else None, "output": output}
        usage = {"input_tokens": speech.INPUT_TOKENS, "output_tokens": speech.OUTPUT_TOKENS}
        usage["total_tokens"] = sum(usage.values())
        return answer | {"model": f"{asked.model}-2025-04-14", "usage": usage}


def _picture(part: dict[str, Any]) -> speech.Picture:
    need(part.get("type") == "input_image", f"an unknown part {part.get('type')!r}", field="input")
    known(part, {"type", "image_url", "detail"}, "an image part")
    return speech.data_url(part["image_url"])

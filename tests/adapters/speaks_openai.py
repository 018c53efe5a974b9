"""Fake of the chat completions API of OpenAI and compatible servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tests.adapters import speech
from tests.adapters.speech import BadRequest, Ends, ReceivedRequest, check_post, known, need, number_in, parsed

_FIELDS = {
    *("model", "messages", "n", "temperature", "top_p", "seed", "max_tokens", "max_completion_tokens"),
    "reasoning_effort",
    # OpenAI does not have this field, but vLLM, SGLang and llama.cpp do.
    "top_k",
}


@dataclass(kw_only=True, eq=False)
class OpenAIServer:
    """Base class of the OpenAI protocols.

    Attributes:
        keys: the accepted API keys; None accepts any key, or no key, like a self-hosted server.
    """

    keys: set[str] | None = None

    def key_in(self, headers: Mapping[str, str]) -> str | None:
        """Return the key; raise BadRequest if it is not accepted."""
        key = headers.get("authorization", "").removeprefix("Bearer ") or None
        if self.keys is not None and key not in self.keys:
            # Some servers repeat the key in the error message.
            raise BadRequest(f"Incorrect API key provided: {key}", status=401, code="invalid_api_key")
        return key

    def error(self, status: int, message: str, code: str | None, field: str | None) -> dict[str, Any]:
        return {"error": {"message": message, "type": "error", "param": field, "code": code}}


@dataclass(kw_only=True, eq=False)
class OpenAIProtocol(OpenAIServer):
    """Implement the chat completions API.

    Attributes:
        most: the most choices per request; more is an error about `n`.
        give: the most choices that are returned, even if more are requested: Ollama and LM Studio return one.
        models: the known model names; None accepts any name.
    """

    ends: ClassVar[Ends] = {
        "": ("stop", "stop", None),
        "refusal": ("refused", "stop", "I can't help with that."),
        "filtered": ("filtered", "content_filter", ""),
        "empty": ("stop", "stop", ""),
        "cut-off": ("length", "length", "Reasoning:"),
        "strange": ("other", "tool_calls", None),
    }

    most: int = 128
    give: int = 128
    models: set[str] | None = None

    def read(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> ReceivedRequest:
        check_post(method, path, headers, "/v1/chat/completions")
        key = self.key_in(headers)
        given = parsed(body)
        known(given, _FIELDS, "the request")
        need(isinstance(given.get("model"), str), "model is missing", field="model")
        if self.models is not None and given["model"] not in self.models:
            raise BadRequest(f"The model `{given['model']}` does not exist", status=404, code="model_not_found")
        number_in(given, "n", 1, 128, whole=True)
        number_in(given, "temperature", 0, 2)
        number_in(given, "top_p", 0, 1)
        number_in(given, "seed", -(2**63), 2**63 - 1, whole=True)
        for name in ("max_tokens", "max_completion_tokens"):
            number_in(given, name, 1, 2**31, whole=True)
        n = given.get("n", 1)
        if n > self.most:
            raise BadRequest(f"n is {n}, at most {self.most} is supported", field="n")
        turns, pictures = speech.turns_of(given.get("messages"), "messages", _picture)
        settings = {name: given[name] for name in given if name not in ("model", "messages", "n")}
        return ReceivedRequest(given["model"], turns, pictures, settings, min(n, self.give), key)

    def write(self, asked: ReceivedRequest, texts: list[str], style: str) -> dict[str, Any]:
        _, finish, _ = self.ends.get(style, self.ends[""])
        refusal = "I can't help with that." if style == "refusal" else None
        choices = []
        for index, text in enumerate(texts):
            content = {"refusal": None, "filtered": "", "empty": "", "cut-off": text[:10]}.get(style, text)
            message = {"role": "assistant", "content": content, "refusal": refusal}
            choices.append({"index": index, "message": message, "finish_reason": finish, "logprobs": None})
        usage = {"prompt_tokens": speech.INPUT_TOKENS, "completion_tokens": speech.OUTPUT_TOKENS * len(texts)}
        usage["total_tokens"] = sum(usage.values())
        answer = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": f"{asked.model}-2025-04-14"}
        # Reverse the order, because the protocol does not guarantee one.
        return answer | {"choices": choices[::-1], "usage": usage}


def _picture(part: dict[str, Any]) -> speech.Picture:
    need(part.get("type") == "image_url", f"an unknown part {part.get('type')!r}", field="messages")
    known(part, {"type", "image_url"}, "an image part")
    known(part["image_url"], {"url", "detail"}, "an image")
    return speech.data_url(part["image_url"].get("url", ""))

"""Fake of the Gemini REST API for both Google SDKs; the SDK of the paper requests enums as numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit

from tests.adapters import speech
from tests.adapters.speech import BadRequest, Ends, ReceivedRequest, known, need, number_in, parsed

_PATH = re.compile(r"/v1beta/models/([\w.-]+):generateContent")
_MEDIA = {"image/png", "image/jpeg", "image/webp"}
# Enum numbers of the protocol definition, which google-generativeai requests. Neither SDK knows the reason 99:
# google-generativeai has no such number, and google-genai no such name.
FINISH_NUMBERS = {"STOP": 1, "MAX_TOKENS": 2, "SAFETY": 3, "RECITATION": 4, "99": 99}
BLOCK_NUMBERS = {"SAFETY": 1}

AS_NUMBERS = {"$alt": ["json;enum-encoding=int"]}


def start(
    method: str, path: str, headers: Mapping[str, str], expected: re.Pattern[str], keys: set[str] | None
) -> tuple[str, str, bool]:
    """Return the model, the key, and whether enums are requested as numbers; raise BadRequest unless all are valid."""
    parts = urlsplit(path)
    match = expected.fullmatch(parts.path)
    need(match is not None, f"unknown path {parts.path}", status=404)
    assert match is not None
    need(method == "POST", f"no {method} here", status=405)
    query = parse_qs(parts.query)
    need(query in (AS_NUMBERS, {}), f"unexpected query {parts.query}")
    key = headers.get("x-goog-api-key")
    if not key or (keys is not None and key not in keys):
        raise BadRequest(f"API key not valid: {key}. Please pass a valid API key.", code="INVALID_ARGUMENT")
    return match[1], key, query == AS_NUMBERS


@dataclass(kw_only=True, eq=False)
class GeminiProtocol:
    """Implement the method `generateContent`.

    Attributes:
        keys: the accepted API keys; None accepts any key.
        most: the most candidates per request; more is an error that does not name a field.
        give: the most candidates that are returned, even if more are requested.
    """

    ends: ClassVar[Ends] = {
        "": ("stop", "STOP", None),
        "filtered": ("filtered", "SAFETY", ""),
        "refusal": ("filtered", "RECITATION", ""),
        "empty": ("stop", "STOP", ""),
        "cut-off": ("length", "MAX_TOKENS", "Reasoning:"),
        "strange": ("other", "99", None),
    }

    keys: set[str] | None = None
    most: int = 8
    give: int = 8
    _as_numbers: bool = field(default=False, init=False)

    def read(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> ReceivedRequest:
        model, key, self._as_numbers = start(method, path, headers, _PATH, self.keys)
        need(headers.get("content-type") == "application/json", "the content type is not application/json")
        given = parsed(body)
        known(given, {"contents", "generationConfig", "systemInstruction"}, "the request")
        settings = given.get("generationConfig", {})
        of_one_sdk = set() if self._as_numbers else {"seed"}
        known(settings, {"candidateCount", "temperature", "topP", "maxOutputTokens"} | of_one_sdk, "generationConfig")
        number_in(settings, "temperature", 0, 2)
        number_in(settings, "topP", 0, 1)
        number_in(settings, "maxOutputTokens", 1, 2**31, whole=True)
        number_in(settings, "candidateCount", 1, 8, whole=True)
        n = settings.get("candidateCount", 1)
        if n > self.most:
            raise BadRequest("Multiple candidates is not enabled for this model", code="INVALID_ARGUMENT")
        turns, pictures = _contents(given.get("contents"))
        if "systemInstruction" in given:
            known(given["systemInstruction"], {"parts", "role"}, "systemInstruction")
            turns = (("system", _texts(given["systemInstruction"]["parts"])[0]), *turns)
        kept = {name: value for name, value in settings.items() if name != "candidateCount"}
        return ReceivedRequest(model, turns, pictures, kept, min(n, self.give), key)

    def write(self, asked: ReceivedRequest, texts: list[str], style: str) -> dict[str, Any]:
        output = speech.OUTPUT_TOKENS * len(texts)
        # The SDK does not define `thoughtsTokenCount`, but the total includes it.
        usage = {"promptTokenCount": speech.INPUT_TOKENS, "candidatesTokenCount": output - 5, "thoughtsTokenCount": 5}
        usage["totalTokenCount"] = sum(usage.values())
        answer: dict[str, Any] = {"usageMetadata": usage, "modelVersion": f"{asked.model}-exact", "responseId": "1"}
        if style == "blocked":
            return answer | {"promptFeedback": {"blockReason": self._said("SAFETY", BLOCK_NUMBERS)}}
        _, finish, _ = self.ends.get(style, self.ends[""])
        candidates = []
        for index, text in enumerate(texts):
            said = text[:10] if style == "cut-off" else text
            # The text is split into two parts, and clients must join them.
            parts = [{"text": said[:5]}, {"text": said[5:]}]
            one: dict[str, Any] = {"index": index, "finishReason": self._said(finish, FINISH_NUMBERS)}
            if style not in ("filtered", "refusal", "empty"):
                one["content"] = {"parts": parts, "role": "model"}
            candidates.append(one)
        return answer | {"candidates": candidates[::-1]}

    def _said(self, name: str, numbers: Mapping[str, int]) -> str | int:
        return numbers[name] if self._as_numbers else name

    def error(self, status: int, message: str, code: str | None, field: str | None) -> dict[str, Any]:
        error: dict[str, Any] = {"code": status, "message": message, "status": code or "UNKNOWN"}
        if status == 429:
            error["details"] = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]
        return {"error": error}


def _contents(contents: object) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, bytes], ...]]:
    need(isinstance(contents, list) and bool(contents), "contents is not specified")
    assert isinstance(contents, list)
    turns, pictures = [], []
    for content in contents:
        known(content, {"role", "parts"}, "contents")
        need(content.get("role") in ("user", "model"), "Please use a valid role: user, model.")
        text, found = _texts(content.get("parts"))
        turns.append(("assistant" if content["role"] == "model" else "user", text))
        pictures += found
    return tuple(turns), tuple(pictures)


def _texts(parts: Any) -> tuple[str, list[tuple[str, bytes]]]:
    text = ""
    pictures = []
    for part in parts:
        known(part, {"text", "inlineData"}, "a part")
        if "inlineData" in part:
            # The JSON form of Protocol Buffers accepts both spellings of a name, and google-genai mixes them.
            data = {"mimeType" if name == "mime_type" else name: value for name, value in part["inlineData"].items()}
            known(data, {"mimeType", "data"}, "inlineData")
            need(data.get("mimeType") in _MEDIA, "Unsupported MIME type")
            # The JSON form also accepts both base64 alphabets.
            pictures.append((data["mimeType"], speech.decoded(data["data"].replace("-", "+").replace("_", "/"))))
        text += part.get("text", "")
    return text, pictures

"""Fakes of the embedding endpoints of OpenAI-compatible servers and of the Gemini REST API."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.adapters.speaks_gemini import start
from tests.adapters.speaks_openai import OpenAIServer
from tests.adapters.speech import BadRequest, ReceivedRequest, check_post, known, need, parsed

DIMENSION = 8

# Enum numbers of the protocol definition: google-generativeai sends these instead of the names.
TASKS = {"semantic_similarity": 3, "classification": 4}

_PATH = re.compile(r"/v1beta/models/([\w.-]+):batchEmbedContents")


def vector_of(text: str, dimension: int = DIMENSION) -> list[float]:
    """Return the vector that every server returns for a text; its values are exact as 32-bit floats."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return [float(number) for number in np.random.default_rng(seed).normal(size=dimension).astype(np.float32)]


def _vectors(texts: list[str], style: str, dimension: int) -> list[list[float]]:
    vectors = [vector_of(text, dimension) for text in texts]
    if style == "fewer":
        return vectors[:-1]
    if style == "ragged":
        vectors[-1] = vectors[-1][:-1]
    if style == "nan":
        vectors[-1][0] = float("nan")
    if style == "none":
        return [[] for _ in vectors]
    return vectors


@dataclass(kw_only=True, eq=False)
class OpenAIEmbeddings(OpenAIServer):
    """Implement the endpoint `/embeddings`.

    Attributes:
        most: the most texts per request; more is an error.
        longest: the most characters per text; more is an error.
        dimension: the length of a vector.
        indexed: whether each vector contains the index of its text.
    """

    most: int = 2048
    longest: int = 100_000
    dimension: int = DIMENSION
    indexed: bool = True

    def read(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> ReceivedRequest:
        check_post(method, path, headers, "/v1/embeddings")
        key = self.key_in(headers)
        given = parsed(body)
        known(given, {"model", "input", "encoding_format"}, "the request")
        need(given.get("encoding_format") == "float", "encoding_format is not float")
        texts = given.get("input")
        need(isinstance(texts, list) and bool(texts), "input is missing", field="input")
        assert isinstance(texts, list)
        need(all(isinstance(text, str) and text for text in texts), "an input is empty", field="input")
        if len(texts) > self.most:
            raise BadRequest(f"batch size {len(texts)} > maximum allowed batch size {self.most}", status=413)
        need(all(len(text) <= self.longest for text in texts), "maximum context length exceeded", field="input")
        return ReceivedRequest(given["model"], tuple(("input", text) for text in texts), (), {}, len(texts), key)

    def write(self, asked: ReceivedRequest, texts: list[str], style: str) -> dict[str, Any]:
        inputs = [text for _, text in asked.turns]
        vectors = _vectors(inputs, style, self.dimension)
        data: list[dict[str, Any]] = [{"object": "embedding", "embedding": vector} for vector in vectors]
        if self.indexed:
            for index, one in enumerate(data):
                one["index"] = index
            # Reverse the order, because the protocol does not guarantee one.
            data.reverse()
        if style == "same-index":
            for one in data:
                one["index"] = 0
        if style == "no-list":
            return {"object": "list", "model": asked.model}
        return {"object": "list", "model": asked.model, "data": data, "usage": {"prompt_tokens": 5, "total_tokens": 5}}


class GeminiEmbeddings:
    """Implement the method `batchEmbedContents`."""

    def __init__(self, *, keys: set[str] | None = None) -> None:
        self.keys = keys

    def read(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> ReceivedRequest:
        model, key, _ = start(method, path, headers, _PATH, self.keys)
        given = parsed(body)
        known(given, {"requests"}, "the request")
        need(0 < len(given["requests"]) <= 100, "at most 100 requests can be in one batch")
        texts: list[str] = []
        tasks: set[int | str | None] = set()
        for request in given["requests"]:
            known(request, {"model", "content", "taskType"}, "a request")
            need(request["model"] == f"models/{model}", "the models differ")
            known(request["content"], {"parts", "role"}, "a content")
            (part,) = request["content"]["parts"]
            known(part, {"text"}, "a part")
            need(bool(part.get("text")), "a content is empty")
            texts.append(part["text"])
            tasks.add(request.get("taskType"))
        need(len(tasks) == 1, "the task types differ")
        task = tasks.pop()
        settings = {} if task is None else {"taskType": task}
        return ReceivedRequest(model, tuple(("input", text) for text in texts), (), settings, len(texts), key)

    def write(self, asked: ReceivedRequest, texts: list[str], style: str) -> dict[str, Any]:
        vectors = _vectors([text for _, text in asked.turns], style, DIMENSION)
        return {"embeddings": [{"values": vector} for vector in vectors]}

    def error(self, status: int, message: str, code: str | None, field: str | None) -> dict[str, Any]:
        return {"error": {"code": status, "message": message, "status": code or "UNKNOWN"}}

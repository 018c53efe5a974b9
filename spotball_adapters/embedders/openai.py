"""Embedder `openai`: embedding models of OpenAI and compatible servers.

The API key is read from OPENAI_API_KEY for all servers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from spotball_adapters.embedders.protocol import Batch, Embedder, EmbedderAccess, NoVectorsError, vectors_of
from spotball_adapters.providers.http import Server
from spotball_adapters.providers.openai import HOME, KEY, authorization
from spotball_adapters.providers.protocol import key_from, missing
from spotball_adapters.providers.responses import RejectedError
from spotball_core.errors import OptionError

MODEL = "text-embedding-3-small"
"""The default model."""

MAX_BATCH = 32
"""Maximum number of texts per request. Self-hosted servers accept this many, and 32 texts of the default maximum length
stay below OpenAI's limit of 300,000 tokens per request.
"""

# Statuses with which servers reject too many texts.
_TOO_MANY = frozenset({400, 413, 422})


class OpenAIEmbedder:
    """Embed texts with one model behind an OpenAI-compatible server.

    If a server rejects a batch because it is too large, the batch is sent in two halves, and later batches have at most
    as many texts as a half.

    Raises:
        OptionError: if the address is invalid, or if a task type is given, which the protocol does not support.
        PermanentError: if the key contains a character that an HTTP header cannot hold.
    """

    name = "openai"
    paid = True

    def __init__(self, access: EmbedderAccess) -> None:
        if access.task_type is not None:
            raise OptionError(
                "the embedder openai does not support task types. Remove --task-type",
                code="unsupported-option",
                field="--task-type",
            )
        key = key_from(KEY)
        self._keyless = key is None and not access.base_url
        self.model = access.model or MODEL
        headers = authorization(access.base_url, key)
        self._server = Server(access.server(self.model), home=HOME, key=key, headers=headers)
        self.identity: Mapping[str, str] = {"base_url": str(self._server.url)}
        self.max_batch = MAX_BATCH

    def versions(self) -> Mapping[str, str]:
        """Return the version of the HTTP client."""
        return self._server.versions()

    async def embed(self, texts: Sequence[str]) -> Batch:
        """Return the vectors of the texts, with one request, or with several if the server rejects the batch's size."""
        if self._keyless:
            raise missing(KEY, self.name)
        try:
            body = await self._server.post(
                "/embeddings", {"model": self.model, "input": list(texts), "encoding_format": "float"}
            )
        except RejectedError as error:
            if len(texts) == 1 or not _too_many(error):
                raise
            half = len(texts) // 2
            self.max_batch = min(self.max_batch, half)
            first, second = await self.embed(texts[:half]), await self.embed(texts[half:])
            return Batch(np.concatenate([first.vectors, second.vectors]), np.concatenate([first.cut, second.cut]))
        try:
            vectors = vectors_of(_rows(body), len(texts))
        except NoVectorsError as error:
            raise self._server.malformed(str(error)) from None
        return Batch(vectors, np.zeros(len(texts), dtype=bool))

    async def close(self) -> None:
        """Close the connections."""
        await self._server.close()


def embedder(access: EmbedderAccess) -> Embedder:
    """Create the embedder. The entry point `openai` refers to this function."""
    return OpenAIEmbedder(access)


def _rows(body: Mapping[str, Any]) -> list[Any]:
    """Return the embeddings in a response, in the order of the texts."""
    data = body.get("data")
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise NoVectorsError("the embeddings are not a list")
    # Some servers omit the index and keep the order.
    numbers = [row.get("index", place) for place, row in enumerate(data)]
    if not all(type(number) is int for number in numbers) or sorted(numbers) != list(range(len(data))):
        raise NoVectorsError("the indices of the embeddings do not match the texts")
    rows: list[Any] = [None] * len(data)
    for number, row in zip(numbers, data, strict=True):
        rows[number] = row.get("embedding")
    return rows


def _too_many(error: RejectedError) -> bool:
    """Return whether a request was rejected for the number or the total length of its texts."""
    message = str(error).lower()
    return error.status == 413 or (
        error.status in _TOO_MANY and ("batch" in message or "tokens per request" in message)
    )

"""Embedder `gemini`: Google's embedding models, through either Google SDK. The API key is read from GEMINI_API_KEY.

The default model `models/embedding-001` is the model of the paper. Google has shut it down, so name a newer model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from spotball_adapters.embedders.protocol import Batch, Embedder, EmbedderAccess, NoVectorsError, vectors_of
from spotball_adapters.providers.gemini_sdk import open_sdk
from spotball_adapters.providers.protocol import TransientError
from spotball_core.errors import OptionError, unknown_name

MODEL = "models/embedding-001"
"""The default model, which the paper used."""

MAX_BATCH = 100
"""Maximum number of texts per request."""

TASK_TYPES = (
    "retrieval_query",
    "retrieval_document",
    "semantic_similarity",
    "classification",
    "clustering",
    "question_answering",
    "fact_verification",
)
"""Accepted task types (purposes of the vectors), with the names that the SDK of the paper uses."""


class GeminiEmbedder:
    """Embed texts with one of Google's embedding models, over REST.

    A task type is sent only if it is set. The server silently cuts off texts that are longer than the model's limit.

    Raises:
        OptionError: if the address is invalid or the task type is unknown.
        PermanentError: if the key contains a character that an HTTP header cannot hold.
        MissingExtraError: if no SDK is installed.
    """

    name = "gemini"
    paid = True

    def __init__(self, access: EmbedderAccess) -> None:
        if access.task_type is not None and access.task_type.lower() not in TASK_TYPES:
            raise OptionError(
                unknown_name("task type", access.task_type, TASK_TYPES), code="unknown-name", field="--task-type"
            )
        name = access.model or MODEL
        self.model = name if "/" in name else f"models/{name}"
        self._sdk = open_sdk(access.server(self.model))
        self._task_type = access.task_type.lower() if access.task_type else None
        self.identity: Mapping[str, str] = {"base_url": self._sdk.endpoint or "", "task_type": self._task_type or ""}
        self.max_batch = MAX_BATCH

    def versions(self) -> Mapping[str, str]:
        """Return the version of the SDK."""
        return self._sdk.versions()

    async def embed(self, texts: Sequence[str]) -> Batch:
        """Send one request for all texts, and return their vectors."""
        embeddings = await self._sdk.embed(self.model, texts, self._task_type)
        try:
            vectors = vectors_of(embeddings, len(texts))
        except NoVectorsError as error:
            raise TransientError(f"gemini: the response is malformed: {error}") from None
        return Batch(vectors, np.zeros(len(texts), dtype=bool))

    async def close(self) -> None:
        """Close the connections."""
        await self._sdk.close()


def embedder(access: EmbedderAccess) -> Embedder:
    """Create the embedder. The entry point `gemini` refers to this function."""
    return GeminiEmbedder(access)

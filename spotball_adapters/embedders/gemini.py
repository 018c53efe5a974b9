"""`gemini`: embeddings of Google's models, through either SDK. The key is GEMINI_API_KEY.

`models/embedding-001` is what the paper used, and so the default; Google has shut it down since. Name a newer one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from spotball_adapters.embedders.protocol import Batch, Embedder, EmbedderAccess
from spotball_adapters.embedders.vectors import NoVectorsError, vectors_of
from spotball_adapters.providers.gemini_sdk import open_sdk
from spotball_adapters.providers.protocol import TransientError
from spotball_core.errors import OptionError, unknown_name

MODEL = "models/embedding-001"
"""The model of the paper."""

MAX_BATCH = 100
"""The most texts that one request holds."""

TASK_TYPES = (
    "retrieval_query",
    "retrieval_document",
    "semantic_similarity",
    "classification",
    "clustering",
    "question_answering",
    "fact_verification",
)
"""What vectors can be made for, by the names of the SDK of the paper."""


class GeminiEmbedder:
    """One of Google's models of embeddings, over REST.

    Without a task type none is sent. A text of more tokens than the model reads is cut off by the server, which does
    not say so.

    Raises:
        OptionError: for an address that cannot be used, or an unknown task type.
        PermanentError: for a key that no header can hold.
        MissingExtraError: without an SDK.
    """

    name = "gemini"
    paid = True

    def __init__(self, access: EmbedderAccess) -> None:
        if access.task_type is not None and access.task_type.lower() not in TASK_TYPES:
            raise OptionError(f"--task-type: {unknown_name('task type', access.task_type, TASK_TYPES)}")
        name = access.model or MODEL
        self.model = name if "/" in name else f"models/{name}"
        self._sdk = open_sdk(access.server(self.model))
        self._task_type = access.task_type.lower() if access.task_type else None
        self.identity: Mapping[str, str] = {"base_url": self._sdk.endpoint or "", "task_type": self._task_type or ""}
        self.max_batch = MAX_BATCH

    def versions(self) -> Mapping[str, str]:
        """The SDK's."""
        return self._sdk.versions()

    async def embed(self, texts: Sequence[str]) -> Batch:
        """The vectors of some texts, in one request."""
        found = await self._sdk.embed(self.model, texts, self._task_type)
        try:
            vectors = vectors_of(found, len(texts))
        except NoVectorsError as error:
            raise TransientError(f"gemini: the answer is malformed: {error}") from None
        return Batch(vectors, np.zeros(len(texts), dtype=bool))

    async def close(self) -> None:
        """Close the connections."""
        await self._sdk.close()


def embedder(access: EmbedderAccess) -> Embedder:
    """The entry point."""
    return GeminiEmbedder(access)

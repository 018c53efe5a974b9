"""Embed texts in a test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spotball_adapters.embedders.cache import Cache
from spotball_adapters.embedders.embed import Embedded, EmbedOptions, embed_texts
from spotball_adapters.embedders.protocol import Batch, Embedder
from tests.adapters.speaks_embeddings import DIMENSION, vector_of

QUICK = EmbedOptions(attempts=3, first_wait=0.001, longest_wait=0.002)

Fault = Callable[[Sequence[str], int], None]
"""Function that is called with a batch and the number of earlier batches; it raises an error to make the batch fail."""


class Tiny:
    """Fake embedder in this process. Its vectors depend only on the texts, and `fault` can make batches fail."""

    name, model, paid = "tiny", "tiny-1", False

    def __init__(self, *, max_batch: int = 2, dimension: int = DIMENSION, **identity: str) -> None:
        self.max_batch, self.dimension = max_batch, dimension
        self.identity: Mapping[str, str] = identity
        self.batches: list[tuple[str, ...]] = []
        self.under_way = self.most_under_way = 0
        self.fault: Fault = lambda texts, before: None

    @property
    def texts(self) -> list[str]:
        return sorted(text for batch in self.batches for text in batch)

    def versions(self) -> Mapping[str, str]:
        return {"tiny": "1.0"}

    async def embed(self, texts: Sequence[str]) -> Batch:
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            await asyncio.sleep(0)
            self.batches.append(tuple(texts))
            self.fault(texts, len(self.batches) - 1)
        finally:
            self.under_way -= 1
        vectors = np.array([vector_of(text, self.dimension) for text in texts], dtype=np.float32)
        return Batch(vectors, np.array([len(text) > 50 for text in texts]))

    async def close(self) -> None:
        """Do nothing, because there is nothing to close."""


def embed(texts: Sequence[str], embedder: Embedder, path: Path, options: EmbedOptions = QUICK, **more: Any) -> Embedded:
    with Cache(path, embedder) as cache:
        return asyncio.run(embed_texts(texts, embedder, cache, options, **more))


def batch(embedder: Embedder, *texts: str) -> Batch:
    """Embed the texts as one batch, close the embedder, and return the vectors."""

    async def run() -> Batch:
        try:
            return await embedder.embed(texts)
        finally:
            await embedder.close()

    return asyncio.run(run())

"""Embed rationales and templates, and analyze which templates the rationales resemble."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from spotball_adapters.embedders.cache import Cache
from spotball_adapters.embedders.embed import Embedded, EmbedOptions, OnEmbedded, Outlook, embed_texts, outlook
from spotball_adapters.embedders.protocol import Embedder
from spotball_core.reasoning.analysis import analyze
from spotball_core.reasoning.rationales import Rationales
from spotball_core.reasoning.records import ReasoningReport
from spotball_core.reasoning.templates import Templates
from spotball_core.schema.scene import Scene
from spotball_core.typing import IntArray


@dataclass(frozen=True)
class ReasoningJob:
    """Inputs of a reasoning analysis.

    Attributes:
        rationales: responses with their texts.
        scenes: the scenes of the responses. Texts about controls (scenes with a visible ball) are not embedded, because
            the analysis excludes them.
        cache: the file that stores the vectors.
    """

    rationales: Rationales
    scenes: tuple[Scene, ...]
    templates: Templates
    embedder: Embedder
    cache: Path
    options: EmbedOptions

    @cached_property
    def used(self) -> IntArray:
        """Return the indices of the rationales to embed, ascending: those about scenes that are not controls."""
        controls = {scene.key for scene in self.scenes if scene.control}
        rows = self.rationales.rows.select("sport", "image", "text").drop_nulls("text").unique()
        places = {text for sport, image, text in rows.iter_rows() if (sport, image) not in controls}
        return np.array(sorted(places), dtype=np.int64)

    @property
    def texts(self) -> list[str]:
        """Return the texts to embed: the rationales with the indices `used`, then the templates."""
        return [*(self.rationales.texts[place] for place in self.used), *self.templates.texts]

    def outlook(self) -> Outlook:
        """Return how many texts and bytes embedding would send."""
        return outlook(self.texts, self.embedder, self.cache, longest=self.options.longest)

    def run(
        self, *, bootstrap: int, seed: int, on_progress: OnEmbedded, tell: Callable[[str], None]
    ) -> ReasoningReport:
        """Embed the texts that are not cached, and analyze all texts.

        Args:
            bootstrap: number of bootstrap resamples of the images.
            seed: random seed.
            on_progress: called with the progress of the embedding.
            tell: called with a line of text about each long wait.

        Raises:
            TransientError: if a batch failed on every attempt.
            PermanentError: if a batch failed and a retry would not help.
            StoreError: if the cache cannot be read or written.
            OptionError: if no rationale can be analyzed, or if a template's vector is zero or not finite.
        """
        embedded = asyncio.run(self._embed(on_progress, tell))
        n = len(self.used)
        vectors, truncated = embedded.vectors[:n], embedded.cut[:n]
        if n < len(self.rationales.texts):
            every = np.zeros((len(self.rationales.texts), vectors.shape[1]), dtype=np.float32)
            every[self.used] = vectors
            was_cut = np.zeros(len(every), dtype=bool)
            was_cut[self.used] = truncated
            vectors, truncated = every, was_cut
        return analyze(
            self.rationales,
            self.scenes,
            self.templates,
            vectors,
            embedded.vectors[n:],
            embedder=self.embedder.name,
            model=self.embedder.model,
            truncated=truncated,
            bootstrap=bootstrap,
            seed=seed,
        )

    async def _embed(self, on_progress: OnEmbedded, tell: Callable[[str], None]) -> Embedded:
        try:
            with Cache(self.cache, self.embedder) as cache:
                return await embed_texts(self.texts, self.embedder, cache, self.options, on_progress, tell)
        finally:
            await self.embedder.close()

"""From responses with words to a report of what they speak of: embeds them and the templates, then analyzes."""

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
    """What is compared with what, by whose embeddings.

    Attributes:
        rationales: responses and their words.
        scenes: those they answer to. Words about controls are not embedded: the analysis leaves them out.
        cache: the file that vectors are kept in.
    """

    rationales: Rationales
    scenes: tuple[Scene, ...]
    templates: Templates
    embedder: Embedder
    cache: Path
    options: EmbedOptions

    @cached_property
    def used(self) -> IntArray:
        """The places of the texts that are said of images that are no controls, in ascending order."""
        controls = {scene.key for scene in self.scenes if scene.control}
        rows = self.rationales.rows.select("sport", "image", "text").drop_nulls("text").unique()
        places = {text for sport, image, text in rows.iter_rows() if (sport, image) not in controls}
        return np.array(sorted(places), dtype=np.int64)

    @property
    def texts(self) -> list[str]:
        """What is embedded: the used texts, then the templates'."""
        return [*(self.rationales.texts[place] for place in self.used), *self.templates.texts]

    def outlook(self) -> Outlook:
        """What embedding would take."""
        return outlook(self.texts, self.embedder, self.cache, longest=self.options.longest)

    def run(
        self, *, bootstrap: int, labelings: int, seed: int, on_progress: OnEmbedded, tell: Callable[[str], None]
    ) -> ReasoningReport:
        """Embed what the cache lacks, and analyze.

        Args:
            bootstrap: how many resamples of the images.
            labelings: how many random labelings of the templates.
            seed: of all that is drawn.
            on_progress: called with how far the embedding is.
            tell: called with a line about each long wait.

        Raises:
            TransientError: if a batch failed on every attempt.
            PermanentError: for what trying again would not mend.
            StoreError: if the cache cannot be read or written.
            OptionError: if there is nothing to analyze.
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
            labelings=labelings,
            seed=seed,
        )

    async def _embed(self, on_progress: OnEmbedded, tell: Callable[[str], None]) -> Embedded:
        try:
            with Cache(self.cache, self.embedder) as cache:
                return await embed_texts(self.texts, self.embedder, cache, self.options, on_progress, tell)
        finally:
            await self.embedder.close()

"""Embed many texts in batches. Repeated texts are embedded once, and each batch is cached when it arrives."""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spotball_adapters.embedders.cache import Cache, peek
from spotball_adapters.embedders.protocol import Batch, Embedder, Vectors
from spotball_adapters.providers.protocol import TransientError
from spotball_adapters.runs.limits import RateLimiter, RetryPolicy, Waits
from spotball_adapters.runs.writer import storable
from spotball_core.service.progress import progress_display
from spotball_core.typing import BoolArray

LONGEST = 8000
"""The default maximum length of a text in bytes: about 1,300 English words.

A byte-level tokenizer splits 8,000 bytes into at most 8,000 tokens. OpenAI's models read up to 8,192 tokens.
"""


@dataclass(frozen=True, slots=True)
class PreparedText:
    """A text in the form in which it is sent to the embedder.

    Attributes:
        text: the text without surrounding blanks; empty if nothing is left to send.
        cut: whether the original text was too long, so that `text` contains only its first part.
    """

    text: str
    cut: bool

    @property
    def key(self) -> bytes:
        """Return the SHA-256 of the text."""
        return hashlib.sha256(self.text.encode()).digest()


def as_sent(text: str, longest: int = LONGEST) -> PreparedText:
    """Return a text in the form that is sent: with invalid characters replaced, and cut off if it is too long.

    Lone surrogates become U+FFFD, and NUL becomes a blank. Long texts are cut off after a whole word, or after a whole
    character if the first word is too long.

    Args:
        longest: maximum length in bytes of UTF-8; at least 4, the length of the longest character.

    Examples:
        >>> as_sent(" He looks up.\\x00")
        PreparedText(text='He looks up.', cut=False)
        >>> as_sent("He looks up.", longest=9)
        PreparedText(text='He looks', cut=True)
        >>> as_sent("⚽⚽⚽", longest=7)
        PreparedText(text='⚽⚽', cut=True)
    """
    cleaned = storable(text).replace("\x00", " ").strip()
    encoded = cleaned.encode()
    if len(encoded) <= longest:
        return PreparedText(cleaned, False)
    start = encoded[:longest].decode(errors="ignore")
    if not (start[-1].isspace() or cleaned[len(start)].isspace()):
        words = start.rsplit(maxsplit=1)
        start = words[0] if len(words) > 1 else start
    return PreparedText(start.rstrip(), True)


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedOptions(RetryPolicy):
    """Settings for embedding and for retries.

    Attributes:
        longest: maximum length of a text in bytes. Longer texts are cut off and counted.
        concurrency: maximum number of simultaneous batches.
        requests_per_minute: maximum request rate, or None for no limit.
    """

    longest: int = LONGEST
    concurrency: int = 4
    requests_per_minute: float | None = None


@dataclass(frozen=True)
class Embedded:
    """The vectors of n texts.

    Attributes:
        vectors: shape (n, d); zeros for texts that are empty after cleaning.
        cut: shape (n,); True for texts that are too long, so that only their first part was embedded.
        n_different: number of different texts.
        n_new: number of different texts that were not in the cache.
    """

    vectors: Vectors
    cut: BoolArray
    n_different: int
    n_new: int


@dataclass(frozen=True)
class Outlook:
    """Forecast of what an embedding job would send.

    Attributes:
        n_different: number of different texts.
        n_cached: number of different texts that are already in the cache.
        n_cut: number of texts that would be cut off.
        n_bytes: bytes to send for the texts that are not in the cache.
    """

    n_different: int
    n_cached: int
    n_cut: int
    n_bytes: int


OnEmbedded = Callable[[int, int, int], None]
"""Called with the number of finished texts, the number of all texts, and the number of failed attempts."""


def outlook(texts: Sequence[str], embedder: Embedder, cache: Path, *, longest: int = LONGEST) -> Outlook:
    """Return how many texts and bytes embedding would send. Nothing is embedded or written.

    Raises:
        StoreError: if the cache cannot be read, is damaged, or is not a cache.
    """
    sent = [as_sent(text, longest) for text in texts]
    different = _different(sent)
    cached = peek(cache, embedder, list(different))
    new = [text for text, is_cached in zip(different.values(), cached, strict=True) if not is_cached]
    return Outlook(
        n_different=len(different),
        n_cached=len(different) - len(new),
        n_cut=sum(text.cut for text in sent),
        n_bytes=sum(len(text.text.encode()) for text in new),
    )


async def embed_texts(
    texts: Sequence[str],
    embedder: Embedder,
    cache: Cache,
    options: EmbedOptions,
    on_progress: OnEmbedded = lambda done, total, faults: None,
    tell: Callable[[str], None] = lambda line: None,
) -> Embedded:
    """Return the vectors of the texts. Texts that are not in the cache are embedded and cached batch by batch.

    Args:
        texts: n texts in any order. Texts may repeat.
        on_progress: called with the counts after each batch and each failed attempt.
        tell: called with a line of text about each long wait.

    Raises:
        TransientError: if a batch failed on every attempt. Vectors of earlier batches stay in the cache.
        PermanentError: if a batch failed and a retry would not help.
        StoreError: if vectors cannot be read or stored.
    """
    sent = [as_sent(text, options.longest) for text in texts]
    different = _different(sent)
    keys = list(different)
    cached, batch = cache.get(keys)
    new = [key for key, is_cached in zip(keys, cached, strict=True) if not is_cached]
    if new:
        await _Embedding(embedder, cache, options, on_progress, Waits(tell)).run(
            [(key, different[key].text) for key in new]
        )
        cached, batch = cache.get(keys)
    cut = np.array([text.cut for text in sent], dtype=bool)
    if len(keys) == len(sent):
        return Embedded(batch.vectors, cut | batch.cut, len(keys), len(new))
    place = {key: number for number, key in enumerate(keys)}
    rows = np.array([place[text.key] if text.text else -1 for text in sent], dtype=np.int64)
    vectors = np.zeros((len(sent), batch.vectors.shape[1]), dtype=np.float32)
    vectors[rows >= 0] = batch.vectors[rows[rows >= 0]]
    cut[rows >= 0] |= batch.cut[rows[rows >= 0]]
    return Embedded(vectors, cut, len(keys), len(new))


def _different(sent: Sequence[PreparedText]) -> dict[bytes, PreparedText]:
    """Return the distinct texts by key, without empty texts."""
    return {text.key: text for text in sent if text.text}


class _Embedding:
    def __init__(
        self, embedder: Embedder, cache: Cache, options: EmbedOptions, on_progress: OnEmbedded, waits: Waits
    ) -> None:
        self._embedder, self._cache, self._options, self._on_progress = embedder, cache, options, on_progress
        self._waits = waits
        self._limiter = RateLimiter(requests_per_minute=options.requests_per_minute, waits=waits)
        self._done = self._faults = self._total = 0

    async def run(self, texts: Sequence[tuple[bytes, str]]) -> None:
        # Texts are sorted by length, because a local model pads the shorter texts of a batch.
        self._left = deque(sorted(texts, key=lambda keyed_text: len(keyed_text[1])))
        self._total = len(texts)
        self._on_progress(0, self._total, 0)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._options.concurrency):
                    group.create_task(self._work())
        except BaseExceptionGroup as errors:
            # The first error canceled the other tasks.
            raise errors.exceptions[0] from None

    async def _work(self) -> None:
        while self._left:
            batch = [self._left.popleft() for _ in range(min(self._embedder.max_batch, len(self._left)))]
            keys, texts = [key for key, _ in batch], [text for _, text in batch]
            self._cache.put(keys, await self._embed(texts))
            self._done += len(batch)
            self._on_progress(self._done, self._total, self._faults)

    async def _embed(self, texts: Sequence[str]) -> Batch:
        async for attempt in self._options.tries(self._may_pass):
            with attempt:
                await self._limiter.enter()
                try:
                    return await self._embedder.embed(texts)
                except TransientError as error:
                    self._heed(error, attempt.num)
                    raise
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _may_pass(self, error: Exception) -> bool:
        return isinstance(error, TransientError) and (error.retry_after or 0) <= self._options.longest_pause

    def _heed(self, error: TransientError, attempt: int) -> None:
        self._faults += 1
        self._on_progress(self._done, self._total, self._faults)
        if not self._may_pass(error):
            return
        if attempt < self._options.attempts:
            why = f"attempt {attempt + 1} of {self._options.attempts} follows; the last error: {error}"
            self._waits.announce(self._options.wait_after(attempt), why)
        if error.retry_after is not None:
            self._limiter.pause(error.retry_after, f"the server requested a pause: {error}")


@dataclass(slots=True)
class EmbeddingProgress:
    """Numbers of embedded texts and failed attempts in an embedding job.

    Attributes:
        done: number of texts that are embedded and stored.
        total: number of texts to embed.
        faults: number of failed attempts.
    """

    done: int = 0
    total: int = 0
    faults: int = 0

    def __str__(self) -> str:
        failed = f", {self.faults:,} {'attempt' if self.faults == 1 else 'attempts'} failed" if self.faults else ""
        return f"{self.done:,} of {self.total:,} texts embedded{failed}"


@contextmanager
def embedding_progress(progress: EmbeddingProgress, *, quiet: bool) -> Iterator[OnEmbedded]:
    """Yield a callback that stores its counts in `progress` and displays them."""
    with progress_display(lambda: str(progress), quiet=quiet, last=True) as show_progress:

        def on_progress(done: int, total: int, faults: int) -> None:
            progress.done, progress.total, progress.faults = done, total, faults
            show_progress(done, total)

        yield on_progress

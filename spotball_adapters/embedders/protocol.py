"""The embedder interface: an embedder returns one vector per text.

An embedder embeds single batches and reports their results. The module `embedders.embed` decides what to embed, to
retry and to store. Embedders raise the same errors as providers: `TransientError` and `PermanentError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from spotball_adapters.providers.protocol import Access
from spotball_core.service.plugins import make_registered, registered_names
from spotball_core.typing import BoolArray

ENTRY_POINTS = "spotball.embedders"
"""The entry point group in which packages register embedders. Each entry maps a name to an `EmbedderFactory`."""

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Batch:
    """The result of one batch of n texts.

    Attributes:
        vectors: shape (n, d), unchanged from the model.
        cut: shape (n,); True for texts that are longer than the model's limit, so that the model read only their first
            part. All False if the embedder cannot tell.
    """

    vectors: Vectors
    cut: BoolArray


class Embedder(Protocol):
    """A connection to one embedding model.

    Attributes:
        name: the embedder's name for `--embedder`.
        model: the model's name.
        identity: other settings that affect vectors, such as a task type. Vectors with different settings are cached
            separately.
        paid: whether embedding costs money.
        max_batch: maximum number of texts per call. It may decrease during a job.
    """

    name: str
    model: str
    identity: Mapping[str, str]
    paid: bool
    max_batch: int

    def versions(self) -> Mapping[str, str]:
        """Return the versions of the packages that embedding depends on, by package name."""
        ...

    async def embed(self, texts: Sequence[str]) -> Batch:
        """Return the vectors of at most `max_batch` texts, none of which is empty.

        Raises:
            TransientError: if a retry may succeed.
            PermanentError: if every further batch would fail as well.
        """
        ...

    async def close(self) -> None:
        """Close connections and free memory."""
        ...


@dataclass(frozen=True, slots=True)
class EmbedderAccess:
    """What an embedder needs to reach a model: the model's name, the server's address, and settings.

    Attributes:
        model: the model's name, or None for the embedder's default.
        base_url: the server's address, or None for the embedder's default.
        task_type: the purpose of the vectors, as a name that the model accepts, or None for the model's default. Only
            some models distinguish purposes.
        concurrency: maximum number of simultaneous batches.
        timeout: maximum duration of one batch in seconds.
    """

    model: str | None = None
    base_url: str | None = None
    task_type: str | None = None
    concurrency: int = 4
    timeout: float = 120.0

    def server(self, model: str) -> Access:
        """Return the `Access` from which server connections are opened, with the given model and the same address and
        limits."""
        return Access(model, base_url=self.base_url, concurrency=self.concurrency, timeout=self.timeout)


EmbedderFactory = Callable[[EmbedderAccess], Embedder]


class NoVectorsError(ValueError):
    """The response does not hold one vector per text."""


def vectors_of(rows: Any, n: int) -> Vectors:
    """Convert lists of numbers to an array with one vector per row.

    Returns:
        The vectors, shape (n, d).

    Raises:
        NoVectorsError: if `rows` does not consist of n lists of equal length with finite numbers.

    Examples:
        >>> vectors_of([[1, 0.5]], 1).tolist()
        [[1.0, 0.5]]
    """
    try:
        vectors = np.asarray(rows, dtype=np.float32)
    except (TypeError, ValueError, OverflowError):
        raise NoVectorsError("the embeddings are not lists of numbers of equal length") from None
    if vectors.ndim != 2 or len(vectors) != n or not vectors.size:
        raise NoVectorsError(f"the embeddings have shape {vectors.shape}, but the number of texts is {n}")
    if not np.isfinite(vectors).all():
        raise NoVectorsError("the embeddings contain numbers that are not finite")
    return vectors


def names() -> tuple[str, ...]:
    """Return the names of all installed embedders, sorted.

    Examples:
        >>> "openai" in names()
        True
    """
    return registered_names(ENTRY_POINTS)


def find(name: str, access: EmbedderAccess) -> Embedder:
    """Return the embedder with this name, for the model in `access`.

    Raises:
        OptionError: if the name is unknown, if two packages define it, or if the embedder cannot be loaded or created.
        MissingExtraError: if the embedder needs packages from an extra that is not installed.
    """
    embedder: Embedder = make_registered(ENTRY_POINTS, "embedder", name, access)
    return embedder

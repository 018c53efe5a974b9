"""What an embedder is: something that is given texts and returns a vector for each.

An embedder embeds one batch and says what came of it. What to embed, whether to try again and what to keep is
`embedders.embed`'s. Its errors are those of providers, `TransientError` and `PermanentError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from spotball_adapters.providers.protocol import Access
from spotball_core.typing import BoolArray

ENTRY_POINTS = "spotball.embedders"
"""The entry point group in which embedders are found: a name, and an `EmbedderFactory`."""

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Batch:
    """What came of one batch of n texts.

    Attributes:
        vectors: shape (n, d), as the model gives them.
        cut: which texts are longer than what the model reads, so that it read their beginning alone, shape (n,). All
            False where the embedder does not know.
    """

    vectors: Vectors
    cut: BoolArray


class Embedder(Protocol):
    """A way to reach one model of embeddings.

    Attributes:
        name: as `--embedder` names it.
        model: the model's name.
        identity: what else vectors depend on, such as a task type: vectors made under another one are others.
        paid: whether somebody is paid by the text.
        max_batch: how many texts one call may hold. It may fall while they are embedded.
    """

    name: str
    model: str
    identity: Mapping[str, str]
    paid: bool
    max_batch: int

    def versions(self) -> Mapping[str, str]:
        """The packages that embedding depends on, and their versions."""
        ...

    async def embed(self, texts: Sequence[str]) -> Batch:
        """The vectors of at most `max_batch` texts, none of which is empty.

        Raises:
            TransientError: for a fault that may be over when tried again.
            PermanentError: for one that every further batch would meet as well.
        """
        ...

    async def close(self) -> None:
        """Let go of connections and memory."""
        ...


@dataclass(frozen=True, slots=True)
class EmbedderAccess:
    """How an embedder is to be reached.

    Attributes:
        model: the model's name; None for the embedder's default.
        base_url: where its server is; None for the embedder's own.
        task_type: what the vectors are for, as models that make different ones call it; None for the model's default.
        concurrency: how many batches may be under way at a time.
        timeout: seconds that one batch may take.
    """

    model: str | None = None
    base_url: str | None = None
    task_type: str | None = None
    concurrency: int = 4
    timeout: float = 120.0

    def server(self, model: str) -> Access:
        """The same, for what reaches servers."""
        return Access(model, base_url=self.base_url, concurrency=self.concurrency, timeout=self.timeout)


EmbedderFactory = Callable[[EmbedderAccess], Embedder]

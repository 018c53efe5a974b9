"""Count and display the progress of an embedding job."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from spotball_adapters.embedders.embed import OnEmbedded
from spotball_core.service.progress import progress_display


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

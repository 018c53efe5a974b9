"""What is seen while texts are embedded: a bar on a terminal, elsewhere a line from time to time."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from spotball_adapters.embedders.embed import Told
from spotball_core.service.safe_text import show

_EVERY = 30.0
"""Seconds between lines where there is no terminal."""


@dataclass(slots=True)
class Progress:
    """How far it is.

    Attributes:
        done: texts that are embedded and kept.
        total: texts to embed.
        faults: attempts that failed.
    """

    done: int = 0
    total: int = 0
    faults: int = 0

    def __str__(self) -> str:
        failed = f", {self.faults:,} {'attempt' if self.faults == 1 else 'attempts'} failed" if self.faults else ""
        return f"{self.done:,} of {self.total:,} texts embedded{failed}"


@contextmanager
def watched(progress: Progress, *, quiet: bool) -> Iterator[Told]:
    """A function to tell how far it is; what it is told is shown, and stands in `progress`."""
    if quiet:
        yield _noting(progress)
    elif sys.stderr.isatty():
        with _bar(progress) as told:
            yield told
    else:
        yield _lines(progress)


def _noting(progress: Progress) -> Told:
    def told(done: int, total: int, faults: int) -> None:
        progress.done, progress.total, progress.faults = done, total, faults

    return told


def _lines(progress: Progress) -> Told:
    note, last = _noting(progress), time.monotonic()

    def told(done: int, total: int, faults: int) -> None:
        nonlocal last
        note(done, total, faults)
        if time.monotonic() - last >= _EVERY or done == total:
            last = time.monotonic()
            show(str(progress), err=True)

    return told


@contextmanager
def _bar(progress: Progress) -> Iterator[Told]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    note = _noting(progress)
    with Bar(BarColumn(), TextColumn("{task.description}"), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def told(done: int, total: int, faults: int) -> None:
            note(done, total, faults)
            bar.update(task, completed=done, total=total, description=str(progress))

        yield told
    if progress.total:
        show(str(progress), err=True)

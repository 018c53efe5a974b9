"""What is seen of a generation while it goes on: a bar on a terminal, elsewhere a line from time to time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from spotball_core.service.safe_text import show
from spotball_gen.pipeline.ledger import FRAMES

if TYPE_CHECKING:
    from spotball_gen.pipeline.engines.tally import Tally

_FIRST_LINE, _EVERY = 5.0, 30.0
"""Seconds to the first line, and between lines, where there is no terminal."""


def line(tally: Tally, stages: Sequence[str]) -> str:
    """How far a generation is, in one line: what each stage kept of what it saw.

    Examples:
        >>> from collections import Counter
        >>> from spotball_gen.pipeline.engines.tally import Tally
        >>> tally = Tally(3, 1, Counter(frames=40, filter=38), Counter(frames=39, filter=30), failed=1)
        >>> line(tally, ["filter", "detect"])
        '1 of 3 videos, 39 of 40 frames, filter 30 of 38, detect 0 of 0, 1 failed'
    """
    parts = [f"{tally.videos_done:,} of {tally.videos:,} videos"]
    parts.append(f"{tally.kept[FRAMES]:,} of {tally.seen[FRAMES]:,} frames")
    parts += [f"{stage} {tally.kept[stage]:,} of {tally.seen[stage]:,}" for stage in stages]
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    return ", ".join(parts)


@contextmanager
def watch(tally: Tally, stages: Sequence[str], *, quiet: bool) -> Iterator[Callable[[], None]]:
    """Gives what shows how far it is, to be called every now and then."""
    if quiet:
        yield lambda: None
    elif sys.stderr.isatty():
        with _bar(tally, stages) as update:
            yield update
    else:
        yield _lines(tally, stages)


def _lines(tally: Tally, stages: Sequence[str]) -> Callable[[], None]:
    due = time.monotonic() + _FIRST_LINE

    def tick() -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + _EVERY
            show(line(tally, stages), err=True)

    return tick


@contextmanager
def _bar(tally: Tally, stages: Sequence[str]) -> Iterator[Callable[[], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    text = TextColumn("{task.description}", markup=False)
    with Progress(BarColumn(), text, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=max(1, tally.videos))
        yield lambda: bar.update(task, completed=tally.videos_done, description=line(tally, stages))

"""Show the progress of long work: a bar on a terminal, otherwise a line from time to time."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from spotball_core.service.safe_text import printable, show

FIRST_LINE, EVERY = 5.0, 30.0
"""Seconds until the first line, and between lines, if standard error is not a terminal."""

T = TypeVar("T")

OnProgress = Callable[[int, int], None]
"""A function that is called with the number of finished items and the total number of items."""


@contextmanager
def progress_display(sentence: Callable[[], str], *, quiet: bool, last: bool = False) -> Iterator[OnProgress]:
    """Yield a function that shows the progress of the work. It may be called as often as needed.

    Args:
        sentence: returns the text to show. It is called only when the text is shown.
        quiet: whether to show nothing.
        last: whether to close the bar at the end and print the sentence again.
    """
    if quiet:
        yield ignore_progress
        return
    due, bar = math.inf, None
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        text = TextColumn("{task.description}", markup=False)
        bar = Progress(BarColumn(), text, console=Console(stderr=True), transient=True)
        task = bar.add_task("")

    def close() -> None:
        if bar and bar.live.is_started:
            bar.stop()

    def on_progress(done: int, total: int) -> None:
        nonlocal due
        if due == math.inf:
            # Time before the first call, such as for starting a cluster, is not part of the work shown.
            due = time.monotonic() + FIRST_LINE
        if last and done >= total:
            close()
            show(sentence(), err=True)
        elif bar:
            bar.update(task, completed=done, total=max(1, total), description=printable(sentence()))
            bar.start()
        elif time.monotonic() >= due:
            due = time.monotonic() + EVERY
            show(sentence(), err=True)

    try:
        yield on_progress
    finally:
        close()


def counted(items: Iterable[T], total: int, on_progress: OnProgress) -> Iterator[T]:
    """Yield the items; call `on_progress` with the number of finished items, before the first one and after each."""
    on_progress(0, total)
    for done, item in enumerate(items, start=1):
        yield item
        on_progress(done, total)


def ignore_progress(done: int, total: int) -> None:
    """Do nothing: the default of `on_progress`."""


def span(seconds: float) -> str:
    """Format a duration in words.

    Examples:
        >>> [span(seconds) for seconds in (8, 90, 3600 * 26.5)]
        ['8 s', '2 min', '26 h 30 min']
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"

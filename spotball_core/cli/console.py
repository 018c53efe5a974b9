"""Print messages and progress on standard error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from spotball_core.errors import Problem
from spotball_core.service.progress import OnProgress, progress_display, span
from spotball_core.service.safe_text import show


def teller(quiet: bool) -> Callable[[str], None]:
    """Return a function that prints one line on standard error, or nothing if quiet."""

    def tell(line: str) -> None:
        if not quiet:
            show(line, err=True)

    return tell


def teller_of_problems(quiet: bool) -> Callable[[Problem], None]:
    """Return a function that prints a warning about a file on standard error, or nothing if quiet."""
    tell = teller(quiet)
    return lambda problem: tell(f"warning: {problem.with_code()}")


@contextmanager
def progress(label: str, *, quiet: bool) -> Iterator[OnProgress]:
    """Yield a function that shows the progress, labeled `label`. It prints a last line when all work is done."""
    so_far, start = (0, 0), time.monotonic()

    def sentence() -> str:
        done, total = so_far
        if done in (0, total):
            return f"{label}: {done} done"
        left = (time.monotonic() - start) * (total - done) / done
        return f"{label}: {done} of {total} done, {span(left)} left"

    with progress_display(sentence, quiet=quiet, last=True) as show_progress:

        def on_progress(done: int, total: int) -> None:
            nonlocal so_far, start
            so_far, start = (done, total), start if done else time.monotonic()
            show_progress(done, total)

        yield on_progress

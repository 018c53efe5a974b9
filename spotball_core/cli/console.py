"""What commands say beside their results: on standard error, plain lines where it is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from spotball_core.service.safe_text import show

T = TypeVar("T")


def teller(quiet: bool) -> Callable[[str], None]:
    """Return a function that prints one line on standard error, or nothing if quiet."""

    def tell(line: str) -> None:
        if not quiet:
            show(line, err=True)

    return tell


def progress(items: Iterable[T], what: str, total: int, *, quiet: bool) -> Iterator[T]:
    """The items, with a progress bar on a terminal; elsewhere one plain line at the end."""
    if quiet:
        yield from items
        return
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import track

        yield from track(items, description=what, total=total, console=Console(stderr=True), transient=True)
    else:
        yield from items
    show(f"{what}: {total} done", err=True)

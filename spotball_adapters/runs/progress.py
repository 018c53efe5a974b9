"""What is seen of a run while it goes on: a bar on a terminal, elsewhere a line from time to time."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from typing import TYPE_CHECKING

from spotball_core.service.safe_text import printable, show

if TYPE_CHECKING:
    from spotball_adapters.runs.runner import Tally

_WINDOW = 60.0
"""Seconds over which the rate is taken."""

_FIRST_LINE, _EVERY = 5.0, 30.0
"""Seconds to the first line, and between lines, where there is no terminal."""


class Rate:
    """Replies a second of late."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque()

    def at(self, now: float, done: int) -> float:
        """The rate once `done` replies are there, in a minute up to now or as much of it as there was."""
        self._marks.append((now, done))
        while now - self._marks[0][0] > _WINDOW:
            self._marks.popleft()
        start, before = self._marks[0]
        return (done - before) / (now - start) if now > start else 0.0


def line(tally: Tally, rate: float) -> str:
    """How far a run is, in one line.

    Examples:
        >>> from spotball_adapters.runs.runner import Tally
        >>> line(Tally(total=18000, done=1200, faults=1, input_tokens=90_000), 4)
        '1,200 of 18,000 replies, 4.0 a second, 90,000 tokens, 1 fault, 1 h 10 min left'
    """
    parts = [f"{tally.done:,} of {tally.total:,} replies", f"{rate:.1f} a second", f"{tally.tokens:,} tokens"]
    parts.append(f"{tally.faults:,} fault{'' if tally.faults == 1 else 's'}")
    if tally.refused:
        images = len({question[:2] for question in tally.refused})
        parts.append(f"{images:,} image{'' if images == 1 else 's'} refused")
    if rate and tally.done < tally.total:
        parts.append(f"{span((tally.total - tally.done) / rate)} left")
    return ", ".join(parts)


def span(seconds: float) -> str:
    """A time in words.

    Examples:
        >>> [span(seconds) for seconds in (8, 90, 3600 * 26.5)]
        ['8 s', '2 min', '26 h 30 min']
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


async def watch(tally: Tally, *, quiet: bool) -> None:
    """Show how far a run is until cancelled."""
    if quiet:
        return
    if sys.stderr.isatty():
        await _bar(tally)
    else:
        await _lines(tally)


async def _lines(tally: Tally) -> None:
    rate, wait, told = Rate(), _FIRST_LINE, ""
    rate.at(time.monotonic(), tally.done)
    while True:
        await asyncio.sleep(wait)
        said = line(tally, rate.at(time.monotonic(), tally.done))
        if tally.last_fault != told:
            said += f"; last fault: {tally.last_fault}"
        wait, told = _EVERY, tally.last_fault
        show(said, err=True)


async def _bar(tally: Tally) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    rate = Rate()
    bar = Progress(
        BarColumn(), TextColumn("{task.description}", markup=False), console=Console(stderr=True), transient=True
    )
    with bar:
        task = bar.add_task("", total=tally.total)
        while True:
            said = line(tally, rate.at(time.monotonic(), tally.done))
            if tally.last_fault:
                said += f"\n{tally.last_fault}"
            bar.update(task, completed=tally.done, description=printable(said))
            await asyncio.sleep(0.25)

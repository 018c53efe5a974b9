"""Display the progress of a run as one line."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from typing import TYPE_CHECKING

from spotball_core.service.progress import progress_display, span
from spotball_core.text.words import plural

if TYPE_CHECKING:
    from spotball_adapters.runs.runner import RunTally

_WINDOW = 60.0
"""Time window over which `ReplyRate` measures, in seconds."""


class ReplyRate:
    """Measure the number of replies per second over the last minute."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque()

    def at(self, now: float, done: int) -> float:
        """Return the replies per second, given that `done` replies are stored at time `now`, in seconds."""
        self._marks.append((now, done))
        while now - self._marks[0][0] > _WINDOW:
            self._marks.popleft()
        start, before = self._marks[0]
        return (done - before) / (now - start) if now > start else 0.0


def line(tally: RunTally, rate: float) -> str:
    """Return the progress of a run as one line.

    Examples:
        >>> from spotball_adapters.runs.runner import RunTally
        >>> line(RunTally(total=18000, done=1200, faults=1, input_tokens=90_000), 4)
        '1,200 of 18,000 replies, 4.0 per second, 90,000 tokens, 1 failed request, 1 h 10 min left'
    """
    parts = [
        f"{tally.done:,} of {tally.total:,} replies",
        f"{rate:.1f} per second",
        f"{plural(tally.tokens, 'token')}",
    ]
    parts.append(f"{tally.faults:,} failed request{'' if tally.faults == 1 else 's'}")
    if tally.refused:
        images = len({question[:2] for question in tally.refused})
        parts.append(f"{images:,} image{'' if images == 1 else 's'} refused")
    if rate and tally.done < tally.total:
        parts.append(f"{span((tally.total - tally.done) / rate)} left")
    return ", ".join(parts)


async def show_progress(tally: RunTally, *, quiet: bool) -> None:
    """Display the progress of a run until canceled."""
    on_terminal, rate, last_fault = sys.stderr.isatty(), ReplyRate(), ""

    def sentence() -> str:
        nonlocal last_fault
        text = line(tally, rate.at(time.monotonic(), tally.done))
        if on_terminal:
            return f"{text}\n{tally.last_fault}".rstrip()
        # Plain lines show a failure once. A progress bar keeps showing it.
        new = tally.last_fault != last_fault
        last_fault = tally.last_fault
        return f"{text}; last error: {last_fault}" if new else text

    rate.at(time.monotonic(), tally.done)
    with progress_display(sentence, quiet=quiet) as on_progress:
        while True:
            on_progress(tally.done, tally.total)
            await asyncio.sleep(0.25)

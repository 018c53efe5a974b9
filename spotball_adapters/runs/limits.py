"""How fast may be asked: requests and tokens a minute, and pauses that a server asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from spotball_core.service.progress import span

LONG_WAIT = 10.0
"""Seconds from which a wait is announced."""


class Waits:
    """Announces long waits, once for all requests that wait at the same time.

    Args:
        tell: called with one line for each.
    """

    def __init__(self, tell: Callable[[str], None] = lambda line: None) -> None:
        self._tell = tell
        self._until = float("-inf")

    def announce(self, seconds: float, why: str) -> None:
        """Announce a wait that begins now, unless it is short or ends with one that was announced."""
        end = asyncio.get_running_loop().time() + seconds
        if seconds >= LONG_WAIT and end >= self._until + LONG_WAIT:
            self._until = end
            self._tell(f"waiting {span(seconds)}: {why}")


class Pace:
    """So much a minute, evenly spread, so that no minute has more, wherever it starts.

    Libraries' leaky buckets let through a whole minute's worth at once and then go on at the full rate, which is twice
    as much in the first minute; and what they have let through cannot be put right once its true amount is known.

    Attributes:
        free_at: the time, in seconds, from which more may go.
    """

    def __init__(self, per_minute: float | None) -> None:
        self._seconds = 60 / per_minute if per_minute else 0.0
        self.free_at = 0.0

    def take(self, now: float, amount: float = 1) -> None:
        """Let this amount go; the next may go when it has drained."""
        self.free_at = max(now, self.free_at) + amount * self._seconds

    def correct(self, more: float) -> None:
        """What went turned out to be so much more, or less if negative."""
        self.free_at += more * self._seconds


class RateLimiter:
    """Where every request waits until it may go, first come, first served."""

    def __init__(
        self,
        *,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        waits: Waits | None = None,
    ) -> None:
        self._requests = Pace(requests_per_minute)
        self._tokens = Pace(tokens_per_minute)
        self._waits = waits or Waits()
        self._paused_until, self._paused_for = 0.0, ""
        self._turn = asyncio.Lock()

    async def enter(self, tokens: float = 0) -> None:
        """Wait until a request of about so many tokens may go."""
        time = asyncio.get_running_loop().time
        async with self._turn:
            # Looked at again after each sleep: a pause may have come, or tokens turned out to be more.
            while (wait := max(self._reasons()))[0] > time():
                left = wait[0] - time()
                self._waits.announce(left, wait[1])
                await asyncio.sleep(left)
            self._requests.take(time())
            self._tokens.take(time(), tokens)

    def correct(self, tokens: float) -> None:
        """A request took so many tokens more than it was let in with, or less if negative."""
        self._tokens.correct(tokens)

    def correct_requests(self, requests: int) -> None:
        """So many requests were sent that were not let in."""
        self._requests.correct(requests)

    def pause(self, seconds: float, why: str = "the server asks for it") -> None:
        """Let nothing through for so long from now."""
        until = asyncio.get_running_loop().time() + seconds
        self._paused_until, self._paused_for = max((self._paused_until, self._paused_for), (until, why))

    def _reasons(self) -> tuple[tuple[float, str], ...]:
        """Until when nothing may go, and why."""
        return (
            (self._requests.free_at, "the limit of requests per minute"),
            (self._tokens.free_at, "the limit of tokens per minute"),
            (self._paused_until, self._paused_for),
        )

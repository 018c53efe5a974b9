"""How fast may be asked: requests and tokens a minute, and pauses that a server asks for."""

from __future__ import annotations

import asyncio


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


class Gate:
    """Where every request waits until it may go, first come, first served."""

    def __init__(self, *, requests_per_minute: float | None = None, tokens_per_minute: float | None = None) -> None:
        self._requests = Pace(requests_per_minute)
        self._tokens = Pace(tokens_per_minute)
        self._paused_until = 0.0
        self._turn = asyncio.Lock()

    async def enter(self, tokens: float = 0) -> None:
        """Wait until a request of about so many tokens may go."""
        time = asyncio.get_running_loop().time
        async with self._turn:
            # Looked at again after each sleep: a pause may have come, or tokens turned out to be more.
            while (left := max(self._requests.free_at, self._tokens.free_at, self._paused_until) - time()) > 0:
                await asyncio.sleep(left)
            self._requests.take(time())
            self._tokens.take(time(), tokens)

    def correct(self, tokens: float) -> None:
        """A request took so many tokens more than it was let in with, or less if negative."""
        self._tokens.correct(tokens)

    def pause(self, seconds: float) -> None:
        """Let nothing through for so long from now."""
        self._paused_until = max(self._paused_until, asyncio.get_running_loop().time() + seconds)

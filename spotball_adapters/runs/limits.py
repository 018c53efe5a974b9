"""Retry failed requests, and delay requests to respect limits per minute and pauses that a server requests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from spotball_core.errors import MissingExtraError
from spotball_core.service.progress import span

LONG_WAIT = 10.0
"""Minimum duration, in seconds, of a wait that is announced to the user."""


class Waits:
    """Announce long waits to the user, with one message for all requests that wait at the same time.

    Args:
        tell: called with one line of text per wait.
    """

    def __init__(self, tell: Callable[[str], None] = lambda line: None) -> None:
        self._tell = tell
        self._until = float("-inf")

    def announce(self, seconds: float, why: str) -> None:
        """Announce a wait that begins now, unless it is short or ends at about the same time as an announced one."""
        end = asyncio.get_running_loop().time() + seconds
        if seconds >= LONG_WAIT and end >= self._until + LONG_WAIT:
            self._until = end
            self._tell(f"waiting {span(seconds)}: {why}")


class Pace:
    """A limit of an amount per minute, such as requests or tokens. The amount is spread evenly over the minute.

    The leaky buckets of libraries admit the amount of a whole minute immediately and then continue at the full rate,
    so the first minute has twice the allowed rate. The libraries also cannot correct an amount later, when the true
    value is known.

    Attributes:
        free_at: the time, in seconds, at which the next amount may be admitted.
    """

    def __init__(self, per_minute: float | None) -> None:
        self._seconds = 60 / per_minute if per_minute else 0.0
        self.free_at = 0.0

    def take(self, now: float, amount: float = 1) -> None:
        """Admit an amount at time `now`, and delay the next amount accordingly."""
        self.free_at = max(now, self.free_at) + amount * self._seconds

    def correct(self, more: float) -> None:
        """Increase the admitted amount by `more`, or reduce it if `more` is negative."""
        self.free_at += more * self._seconds


class RateLimiter:
    """Delay each request until it may be sent, in order of arrival."""

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
        """Wait until a request of about `tokens` tokens may be sent."""
        time = asyncio.get_running_loop().time
        async with self._turn:
            # Check again after each sleep, because a pause may have begun or the token count may have been corrected.
            while (wait := max(self._reasons()))[0] > time():
                left = wait[0] - time()
                self._waits.announce(left, wait[1])
                await asyncio.sleep(left)
            self._requests.take(time())
            self._tokens.take(time(), tokens)

    def correct(self, tokens: float) -> None:
        """Correct the token count of an admitted request. A negative number reduces it."""
        self._tokens.correct(tokens)

    def correct_requests(self, requests: int) -> None:
        """Count `requests` further requests that were sent without a call of `enter`."""
        self._requests.correct(requests)

    def pause(self, seconds: float, why: str = "the server requested a pause") -> None:
        """Delay all requests for `seconds` from now."""
        until = asyncio.get_running_loop().time() + seconds
        self._paused_until, self._paused_for = max((self._paused_until, self._paused_for), (until, why))

    def _reasons(self) -> tuple[tuple[float, str], ...]:
        """Return the time at which each restriction ends, and the restriction as a text."""
        return (
            (self._requests.free_at, "the limit of requests per minute is reached"),
            (self._tokens.free_at, "the limit of tokens per minute is reached"),
            (self._paused_until, self._paused_for),
        )


try:
    import stamina
except ImportError as error:
    raise MissingExtraError("Asking models", "adapters") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Maximum number of attempts per request, and the waiting times between attempts.

    Attributes:
        attempts: maximum number of attempts per request.
        first_wait: seconds before the second attempt. The wait doubles before each further attempt, plus a random part
            of a second.
        longest_wait: maximum seconds between attempts.
        longest_pause: maximum seconds that a server may request as a pause. A longer pause ends the run.
    """

    attempts: int = 8
    first_wait: float = 0.5
    longest_wait: float = 60.0
    longest_pause: float = 3600.0

    def wait_after(self, attempt: int) -> float:
        """Return the seconds before the next attempt, without the random part.

        Args:
            attempt: the number of the failed attempt, from 1.

        Examples:
            >>> [RetryPolicy().wait_after(attempt) for attempt in (1, 2, 8)]
            [0.5, 1.0, 60.0]
        """
        # A large exponent would overflow.
        return min(self.first_wait * 2.0 ** min(attempt - 1, 64), self.longest_wait)

    def tries(self, may_pass: Callable[[Exception], bool]) -> AsyncIterator[stamina.Attempt]:
        """Return one context manager per attempt. An error in its block leads to the next attempt, if there is one.

        Args:
            may_pass: function that returns whether to retry after an error. Other errors are raised immediately.
        """
        return stamina.retry_context(
            on=may_pass,
            attempts=self.attempts,
            timeout=None,
            wait_initial=self.first_wait,
            wait_max=self.longest_wait,
        )

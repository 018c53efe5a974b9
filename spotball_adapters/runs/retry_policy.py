"""Retry failed requests with increasing waits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from spotball_core.errors import MissingExtraError

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

"""How patiently to try again what may pass."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from spotball_core.errors import MissingExtraError

try:
    import stamina
except ImportError as error:
    raise MissingExtraError("Asking models", "adapters") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How often to try, and how long to wait.

    Attributes:
        attempts: how often a request is tried.
        first_wait: seconds before the second attempt, doubled before each further one, and a random part of a second.
        longest_wait: seconds between attempts, at most.
        longest_pause: seconds; a server that wants a longer one ends it all.
    """

    attempts: int = 8
    first_wait: float = 0.5
    longest_wait: float = 60.0
    longest_pause: float = 3600.0

    def tries(self, may_pass: Callable[[Exception], bool]) -> AsyncIterator[stamina.Attempt]:
        """The attempts, each to be entered; after an error that may pass, another one comes while there is one."""
        return stamina.retry_context(
            on=may_pass,
            attempts=self.attempts,
            timeout=None,
            wait_initial=self.first_wait,
            wait_max=self.longest_wait,
        )

"""What workers take up next, and when there is nothing left for any of them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic

from spotball_adapters.runs.plan import Ask, Chain, ItemT


@dataclass(frozen=True, slots=True)
class Final(Generic[ItemT]):
    """The last step of one sample, with the answers to the questions before it."""

    ask: Ask[ItemT]
    answers: tuple[str, ...]


Due = Chain[ItemT] | Final[ItemT]


class WorkQueue(Generic[ItemT]):
    """First what completes a sample, then the plan in its order, then what had to be put off, then what was refused.

    Only what workers have in hand is held in memory, and of the plan nothing.

    Attributes:
        retrying: whether all but refused items is done with, so that these are sent again.
    """

    def __init__(self, chains: Iterator[Chain[ItemT]]) -> None:
        self._chains = chains
        self._first: deque[Due[ItemT]] = deque()
        self._last: deque[Due[ItemT]] = deque()
        self._refused: deque[Due[ItemT]] = deque()
        self.retrying = False
        self._in_hand = 0
        self._changed = asyncio.Event()

    async def take(self) -> Due[ItemT] | None:
        """The next item; None once there is none and nobody has one in hand from which more could come."""
        while True:
            if (item := self._next()) is not None:
                self._in_hand += 1
                return item
            if not self._in_hand:
                if not self._refused:
                    return None
                self.retrying = True
                self._first.append(self._refused.popleft())
                continue
            self._changed.clear()
            await self._changed.wait()

    def finish(self) -> None:
        """An item that was taken is done with."""
        self._in_hand -= 1
        self._changed.set()

    def put_first(self, item: Due[ItemT]) -> None:
        """Add an item to take before all others."""
        self._first.append(item)
        self._changed.set()

    def put_last(self, item: Due[ItemT]) -> None:
        """Add an item to take when the plan is through."""
        self._last.append(item)
        self._changed.set()

    def postpone(self, item: Due[ItemT]) -> None:
        """Add an item that was refused, to take when all others are done with."""
        self._refused.append(item)
        self._changed.set()

    def _next(self) -> Due[ItemT] | None:
        if self._first:
            return self._first.popleft()
        if (chain := next(self._chains, None)) is not None:
            return chain
        return self._last.popleft() if self._last else None

"""Define the queue from which the runner's tasks take the samples to request."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic

from spotball_adapters.runs.plan import Ask, Chain, ItemT


@dataclass(frozen=True, slots=True)
class Final(Generic[ItemT]):
    """The request for a sample's final answer, with the model's answers to the prompt's earlier questions."""

    ask: Ask[ItemT]
    answers: tuple[str, ...]


Due = Chain[ItemT] | Final[ItemT]


class WorkQueue(Generic[ItemT]):
    """Queue of samples to request, each entry called an item.

    Items are returned in this order: items added by `put_first`, the plan's items, items added by `put_last`, and
    refused items added by `postpone`.

    The plan is read lazily, so memory holds only the items in progress.

    Attributes:
        retrying: whether only refused items are left, which are now sent again.
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
        """Return the next item, or None if the queue is empty and no item in progress can add more."""
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
        """Report that an item returned by `take` is finished."""
        self._in_hand -= 1
        self._changed.set()

    def put_first(self, item: Due[ItemT]) -> None:
        """Add an item that is returned before all others."""
        self._first.append(item)
        self._changed.set()

    def put_last(self, item: Due[ItemT]) -> None:
        """Add an item that is returned after the items of the plan."""
        self._last.append(item)
        self._changed.set()

    def postpone(self, item: Due[ItemT]) -> None:
        """Add a refused item, which is returned after all other items."""
        self._refused.append(item)
        self._changed.set()

    def _next(self) -> Due[ItemT] | None:
        if self._first:
            return self._first.popleft()
        if (chain := next(self._chains, None)) is not None:
            return chain
        return self._last.popleft() if self._last else None

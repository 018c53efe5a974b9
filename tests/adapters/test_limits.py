"""Requests and tokens a minute, and pauses, by the event loop's own clock."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spotball_adapters.limits import Gate


class Clockwork(asyncio.SelectorEventLoop):
    """A loop whose time jumps to the next thing that is due, so that minutes pass at once."""

    def __init__(self) -> None:
        super().__init__()
        self._at = 1000.0

    def time(self) -> float:
        return self._at

    def _run_once(self) -> None:
        due: list[Any] = self._scheduled  # type: ignore[attr-defined]
        while due and due[0]._cancelled:
            heapq.heappop(due)
        if due and not self._ready:  # type: ignore[attr-defined]
            self._at = max(self._at, due[0]._when)
        super()._run_once()  # type: ignore[misc]


def passed(main: Coroutine[Any, Any, list[float]]) -> list[float]:
    with asyncio.Runner(loop_factory=Clockwork) as runner:
        return runner.run(main)


async def through(gate: Gate, *amounts: float) -> list[float]:
    """When requests of so many tokens, all waiting at once, get through, in seconds from the start."""
    loop = asyncio.get_running_loop()
    start = loop.time()

    async def one(tokens: float) -> float:
        await gate.enter(tokens)
        return loop.time() - start

    return list(await asyncio.gather(*(one(tokens) for tokens in amounts)))


def test_without_limits_nothing_waits() -> None:
    assert passed(through(Gate(), *[10**9] * 50)) == [0.0] * 50


@given(per_minute=st.integers(1, 200), n=st.integers(1, 300))
def test_no_minute_has_more_requests_than_are_allowed(per_minute: int, n: int) -> None:
    times = passed(through(Gate(requests_per_minute=per_minute), *[0] * n))
    assert len(times) == n
    for start in times:
        assert sum(start <= at < start + 60 - 1e-6 for at in times) <= per_minute
    # Nor does it take longer than it has to.
    assert max(times) == pytest.approx((n - 1) * 60 / per_minute)


def test_tokens_are_let_through_at_their_pace() -> None:
    assert passed(through(Gate(tokens_per_minute=600), 100, 300, 50, 1)) == pytest.approx([0, 10, 40, 45])


def test_what_turned_out_otherwise_is_made_up_for() -> None:
    async def main() -> list[float]:
        gate = Gate(tokens_per_minute=600)
        first = await through(gate, 100)
        gate.correct(+200)
        second = await through(gate, 100)
        gate.correct(-40)
        return first + second + await through(gate, 1)

    # 100 + 200 tokens take 30 s; then 60 take 6.
    assert passed(main()) == pytest.approx([0, 30, 6])


def test_a_pause_holds_all_and_the_pace_goes_on_after_it() -> None:
    async def main() -> list[float]:
        gate = Gate(requests_per_minute=60)
        waiting = asyncio.create_task(through(gate, 0, 0, 0, 0, 0))
        await asyncio.sleep(1.5)
        gate.pause(20)
        gate.pause(3)  # shorter: the longer one stands
        return await waiting

    assert passed(main()) == pytest.approx([0, 1, 21.5, 22.5, 23.5])

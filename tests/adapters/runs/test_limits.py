"""Test limits of requests and tokens per minute, and pauses, with a simulated clock."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Coroutine
from typing import Any

import pytest
from hypothesis import given, strategies as st

from spotball_adapters.runs.limits import RateLimiter, Waits


class Clockwork(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next scheduled event, so that tests do not wait."""

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


async def through(limiter: RateLimiter, *amounts: float) -> list[float]:
    """Send requests with these token counts at once, and return the seconds until each one passes the limiter."""
    loop = asyncio.get_running_loop()
    start = loop.time()

    async def one(tokens: float) -> float:
        await limiter.enter(tokens)
        return loop.time() - start

    return list(await asyncio.gather(*(one(tokens) for tokens in amounts)))


def test_rate_limiter_without_limits_does_not_wait() -> None:
    assert passed(through(RateLimiter(), *[10**9] * 50)) == [0.0] * 50


@given(per_minute=st.integers(1, 200), n=st.integers(1, 300))
def test_rate_limiter_never_exceeds_requests_per_minute_and_does_not_wait_longer_than_necessary(
    per_minute: int, n: int
) -> None:
    times = passed(through(RateLimiter(requests_per_minute=per_minute), *[0] * n))
    assert len(times) == n
    for start in times:
        assert sum(start <= at < start + 60 - 1e-6 for at in times) <= per_minute
    # The requests must not wait longer than necessary.
    assert max(times) == pytest.approx((n - 1) * 60 / per_minute)


def test_rate_limiter_spaces_requests_by_tokens_per_minute() -> None:
    assert passed(through(RateLimiter(tokens_per_minute=600), 100, 300, 50, 1)) == pytest.approx([0, 10, 40, 45])


def test_rate_limiter_correct_adjusts_the_wait_by_the_actual_number_of_tokens() -> None:
    async def main() -> list[float]:
        limiter = RateLimiter(tokens_per_minute=600)
        first = await through(limiter, 100)
        limiter.correct(+200)
        second = await through(limiter, 100)
        limiter.correct(-40)
        return first + second + await through(limiter, 1)

    # At 600 tokens per minute, 100 + 200 tokens take 30 s; then 100 - 40 tokens take 6 s.
    assert passed(main()) == pytest.approx([0, 30, 6])


def test_rate_limiter_pause_delays_all_waiting_requests_and_keeps_the_rate_afterward() -> None:
    async def main() -> list[float]:
        limiter = RateLimiter(requests_per_minute=60)
        waiting = asyncio.create_task(through(limiter, 0, 0, 0, 0, 0))
        await asyncio.sleep(1.5)
        limiter.pause(20)
        limiter.pause(3)  # the longer pause stays in effect
        return await waiting

    assert passed(main()) == pytest.approx([0, 1, 21.5, 22.5, 23.5])


@pytest.mark.parametrize(
    ("amounts", "pause", "limits", "told"),
    [
        ([0] * 50, 45.0, {}, ["waiting 45 s: the server requested a pause: busy"]),
        # Short waits are not announced.
        ([0] * 50, 9.9, {"requests_per_minute": 6.1}, []),
        ([0] * 3, 0.0, {"requests_per_minute": 1}, ["waiting 1 min: the limit of requests per minute is reached"] * 2),
        ([500, 1], 0.0, {"tokens_per_minute": 10}, ["waiting 50 min: the limit of tokens per minute is reached"]),
    ],
)
def test_rate_limiter_announces_each_long_wait_once_for_all_waiting_requests(
    amounts: list[float], pause: float, limits: dict[str, float], told: list[str]
) -> None:
    lines: list[str] = []

    async def main() -> list[float]:
        limiter = RateLimiter(waits=Waits(lines.append), **limits)
        if pause:
            limiter.pause(pause, "the server requested a pause: busy")
            limiter.pause(pause / 2, "a shorter one")
        return await through(limiter, *amounts)

    passed(main())
    assert lines == told


def test_waits_announce_reports_waits_that_end_at_about_the_same_time_only_once() -> None:
    lines: list[str] = []

    async def main() -> list[float]:
        waits = Waits(lines.append)
        for seconds in (60.0, 60.4, 55.0, 69.0, 70.0, 300.0):
            waits.announce(seconds, str(seconds))
        await asyncio.sleep(299)
        waits.announce(60.0, "again")
        return []

    passed(main())
    assert lines == ["waiting 1 min: 60.0", "waiting 1 min: 70.0", "waiting 5 min: 300.0", "waiting 1 min: again"]

"""Test channels between threads."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given, strategies as st

from spotball_gen.pipeline.engines.local import Channel, Stopped


@given(st.integers(1, 50), st.integers(1, 8), st.integers(1, 8))
def test_channel_keeps_order_for_any_capacity_and_batch_size(count: int, room: int, size: int) -> None:
    channel: Channel[int] = Channel(room, threading.Event(), patience=0.01)

    def give() -> None:
        for number in range(count):
            channel.put(number)
        channel.close()

    giver = threading.Thread(target=give)
    giver.start()
    batches = list(channel.batches(size))
    giver.join(timeout=60)
    assert [one for batch in batches for one in batch] == list(range(count))
    assert all(1 <= len(batch) <= size for batch in batches)


def test_channel_returns_an_incomplete_batch_after_a_timeout() -> None:
    channel: Channel[int] = Channel(8, threading.Event(), patience=0.05)
    channel.put(1)
    assert next(channel.batches(4)) == [1]


@pytest.mark.parametrize("waits", ["full", "empty"])
def test_channel_stop_wakes_a_waiting_thread(waits: str) -> None:
    stop = threading.Event()
    channel: Channel[int] = Channel(1, stop)
    heard = threading.Event()

    def wait() -> None:
        try:
            if waits == "full":
                channel.put(1)
                channel.put(2)
            else:
                next(channel.batches(1))
        except Stopped:
            heard.set()

    thread = threading.Thread(target=wait)
    thread.start()
    time.sleep(0.05)
    stop.set()
    channel.wake()
    thread.join(10)
    assert heard.is_set()

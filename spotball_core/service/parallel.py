"""The same work on many items, in processes of their own."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import Final, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

_THREADS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")


def in_processes(work: Callable[[Item], Result], items: Sequence[Item], jobs: int) -> Iterator[Result]:
    """The results of some work on each item, in the items' order.

    Where one fails, or the user interrupts, the others are ended where they are.

    Args:
        work: a function of a module; what it writes is whole or not there.
        items: what it is called with.
        jobs: how many processes; with 1, or one item, the work is done in this one.
    """
    if min(jobs, len(items)) < 2:
        yield from map(work, items)
        return
    # Forked processes would inherit locks that other threads hold.
    context = multiprocessing.get_context("spawn")
    with (
        _one_thread_each(),
        ProcessPoolExecutor(min(jobs, len(items)), mp_context=context, initializer=_leave_interrupts) as pool,
    ):
        try:
            for future in [pool.submit(work, item) for item in items]:
                yield future.result()
        except BaseException:
            # From Python 3.14 on the pool can do this itself. Work that is cancelled first would trip its thread up.
            for process in list(pool._processes.values()):
                process.terminate()
            raise


def _leave_interrupts() -> None:
    """A terminal interrupts all processes; the one that started the others ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes started within get one thread: libraries' own would only wait for each other's cores."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

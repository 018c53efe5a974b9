"""Run the command under a memory limit (`ulimit -v`, `ulimit -d`), and report if memory runs out."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable

from spotball_core.service.safe_text import show

NO_MEMORY = "not enough memory. Raise the memory limit, close other programs, or split the input into smaller files."

LEAST = 500 * 10**6
"""Memory that every command needs, in bytes."""

_ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "_RJEM_MALLOC_CONF": "background_thread:false",
}
"""Settings for limited memory. Each thread reserves memory, and old versions of Polars hang if no thread can start."""

_SIGNS = ("allocate memory", "failed to map segment", "can't start new thread")


def is_no_memory(error: BaseException) -> bool:
    """Return whether memory ran out. If a library or thread cannot start, only the message of the error shows it."""
    return isinstance(error, MemoryError) or any(sign in str(error).lower() for sign in _SIGNS)


def memory_limit() -> int | None:
    """Return the limit of the process's memory (`ulimit -v` or `ulimit -d`) in bytes; None without a limit."""
    try:
        import resource
    except ImportError:  # Windows does not have this module.
        return None
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return min((limit for limit in limits if limit != resource.RLIM_INFINITY), default=None)


def run_within_limit(run: Callable[[], None]) -> None:
    """Call a function. If memory is limited, call it in a child process, and print a message if that process crashes.

    If memory runs out, Polars and OpenBLAS end the process, and no exception can be caught.
    """
    limit = memory_limit()
    if limit is None:
        run()
        return
    if limit < LEAST:
        show(f"error: {NO_MEMORY}\n{_stated(limit)} Every command needs more than {LEAST / 1e6:.0f} MB.", err=True)
        sys.exit(1)
    for name, value in _ONE_THREAD.items():
        os.environ.setdefault(name, value)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        code = 1
        try:
            run()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
            raise
        finally:
            sys.stdout.flush()
            os.write(writing, bytes([code % 256]))
        return
    os.close(writing)
    # The terminal sends Ctrl-C to both processes, and the child process handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, _: os.kill(child, number))
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    exit_byte = os.read(reading, 1)
    if -code in (signal.SIGTERM, signal.SIGHUP):
        sys.exit(128 - code)
    if not exit_byte:
        show(f"error: {NO_MEMORY}\n{_stated(limit)}", err=True)
        sys.exit(1)
    # The command was complete, but libraries can still crash while Python shuts down.
    sys.exit(code if code >= 0 else exit_byte[0])


def _stated(limit: int) -> str:
    return f"The memory limit is {limit / 1e6:.0f} MB."

"""Check that a computation's memory is available before it starts."""

from __future__ import annotations

import math
import os
from pathlib import Path

from spotball_core.errors import NotEnoughMemoryError

_SMALL = 2**28
"""Smaller amounts of memory, in bytes, are not checked, because any machine has them."""


def check_memory(required: float, purpose: str) -> None:
    """Raise an error if a computation needs more memory than is available.

    Args:
        required: number of bytes.
        purpose: what needs the memory: the subject of the error message, such as "The distances".

    Raises:
        NotEnoughMemoryError: if more memory is required than available. The message states both amounts.
    """
    if required > _SMALL and required > (available := available_memory()):
        raise NotEnoughMemoryError(
            f"{purpose} need {_gigabytes(required)} of memory, but only {_gigabytes(available)} are available. Use a "
            "coarser grid, or a machine with more memory"
        )


def available_memory() -> float:
    """Return how many bytes of memory this process can still use; infinity if the system does not report it."""
    return min(_free(), _container_limit(), _left_of_limit())


def _free() -> float:
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024.0
    except OSError:
        pass
    # On other systems, only the total memory is known.
    names = getattr(os, "sysconf_names", {})
    if {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= set(names):
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return math.inf


def _container_limit() -> float:
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        return math.inf if limit == "max" else float(limit)
    except (OSError, ValueError):
        return math.inf


def _left_of_limit() -> float:
    """Return how many bytes remain under an address space limit, such as that of `ulimit -v`; infinity without one."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit == resource.RLIM_INFINITY:
            return math.inf
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        return math.inf
    return float(max(limit - used, 0))


def _gigabytes(size: float) -> str:
    """Format a number of bytes.

    Examples:
        >>> _gigabytes(12.8e9), _gigabytes(3e8)
        ('12.8 GB', '0.3 GB')
    """
    return f"{size / 1e9:,.1f} GB"

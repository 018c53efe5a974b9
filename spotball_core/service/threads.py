"""Limit the number of threads that libraries start. Libraries read the limit from environment variables when loaded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

BLAS: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Environment variables that limit the threads of NumPy's and SciPy's matrix products."""

POLARS: Final = "POLARS_MAX_THREADS"


@contextmanager
def one_thread(*variables: str) -> Iterator[None]:
    """Limit libraries loaded and processes started within the `with` statement to one thread each.

    If several processes share the processors, threads of their libraries would wait for each other.

    Args:
        variables: environment variables that set the numbers of threads.
    """
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(dict.fromkeys(variables, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

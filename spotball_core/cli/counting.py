"""Create the engine that a command's options select, with a progress bar."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from spotball_core.cli.console import progress
from spotball_core.counting.engines import Engine, EngineName


@contextmanager
def engine_for(name: EngineName, ray_address: str | None, *, quiet: bool, debug: bool) -> Iterator[Engine]:
    """Yield the engine that `--engine` and `--ray-address` select."""
    from spotball_core.counting.engines import engine_named

    with progress("parts of the files counted", quiet=quiet) as on_progress:
        yield engine_named(name, ray_address=ray_address, on_progress=on_progress, debug=debug)

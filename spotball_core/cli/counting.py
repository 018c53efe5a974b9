"""The engine that a command's options name, with the command's progress bar."""

from __future__ import annotations

from spotball_core.cli.console import progress
from spotball_core.counting.engines import Engine, EngineName


def engine_for(name: EngineName, ray_address: str | None, *, quiet: bool, debug: bool) -> Engine:
    """The engine that `--engine` and `--ray-address` name."""
    from spotball_core.counting.engines import engine_named

    return engine_named(
        name,
        ray_address=ray_address,
        watch=lambda pieces, total: progress(pieces, "pieces counted", total, quiet=quiet),
        debug=debug,
    )

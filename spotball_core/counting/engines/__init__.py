"""Where files are read and counted: in this process, or on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, get_args

from spotball_core.errors import OptionError
from spotball_core.service.progress import OnProgress, ignore_progress

if TYPE_CHECKING:
    from spotball_core.counting.counts import Counts
    from spotball_core.schema.scene import Scene

EngineName = Literal["local", "ray"]


class Engine(Protocol):
    """What counts the responses of files."""

    def __call__(
        self, files: Sequence[Path], scenes: Sequence[Scene], /, *, participants: bool, pool: bool = False
    ) -> Counts:
        """The counts of files, as `spotball_core.counting.responses.read_counts` makes them; raises what it raises."""


def engine_named(
    name: EngineName, *, ray_address: str | None = None, on_progress: OnProgress = ignore_progress, debug: bool = False
) -> Engine:
    """The engine of a name.

    Args:
        name: `local` reads in this process, `ray` on Ray Data.
        ray_address: of a Ray cluster that is there already; without it one is started here, and ended.
        on_progress: called with how many pieces of files Ray has counted, and of how many.
        debug: lets Ray say what it does.

    Raises:
        OptionError: for an address without Ray.
        MissingExtraError: without Ray.
    """
    check_engine(name, ray_address)
    if name == "ray":
        from spotball_core.counting.engines.ray_data import RayEngine

        return RayEngine(ray_address, on_progress=on_progress, debug=debug)
    from spotball_core.counting.responses import read_counts

    return read_counts


def check_engine(name: str, ray_address: str | None) -> None:
    """See that there is such an engine, and that it is reached as it can be.

    Raises:
        OptionError: if not.
    """
    if name not in get_args(EngineName):
        raise OptionError(f"the engine is {name!r}, expected local or ray")
    if ray_address is not None and name != "ray":
        raise OptionError("an address of a Ray cluster is given, but the engine is local")

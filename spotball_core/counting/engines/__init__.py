"""Choose where files are counted and images are scored: in this process, or on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar, Unpack, get_args, runtime_checkable

from spotball_core.errors import OptionError
from spotball_core.service.progress import OnProgress, ignore_progress

if TYPE_CHECKING:
    from spotball_core.counting.counts import Counts
    from spotball_core.io.columns import ReadOptions
    from spotball_core.schema.scene import Scene

EngineName = Literal["local", "ray"]
Item = TypeVar("Item")
Result = TypeVar("Result")


class Engine(Protocol):
    """A function that counts the responses in files."""

    def __call__(
        self,
        files: Sequence[Path],
        scenes: Sequence[Scene],
        /,
        *,
        participants: bool,
        pool: bool = False,
        **options: Unpack[ReadOptions],
    ) -> Counts:
        """Return the counts of the responses in files, as `spotball_core.counting.read.read_counts` does."""


@runtime_checkable
class MappingEngine(Engine, Protocol):
    """An engine that also scores: it calls functions with blocks of images."""

    def map(self, work: Callable[[Item], Result], items: Iterable[Item], /) -> Iterator[Result]:
        """Yield the results of calling `work` with each item, in the items' order, like Python's `map`."""


def engine_named(
    name: EngineName, *, ray_address: str | None = None, on_progress: OnProgress = ignore_progress, debug: bool = False
) -> Engine:
    """Return the engine with this name.

    Args:
        name: `local` counts and scores in this process, `ray` on Ray.
        ray_address: address of a running Ray cluster. Without it, a cluster is started on this machine, and stopped at
            the end.
        on_progress: called with the number of pieces of files that Ray has counted, and the total number of pieces.
        debug: whether to show Ray's log messages.

    Raises:
        OptionError: if the name is unknown, or an address is given although the engine is not `ray`.
        MissingExtraError: if Ray is not installed.
    """
    check_engine(name, ray_address)
    if name == "ray":
        from spotball_core.counting.engines.ray_data import RayEngine

        return RayEngine(ray_address, on_progress=on_progress, debug=debug)
    from spotball_core.counting.read import read_counts

    return read_counts


def check_engine(name: str, ray_address: str | None) -> None:
    """Raise an error if there is no engine with this name, or the engine does not use the given address.

    Raises:
        OptionError: if the name is unknown, or an address is given although the engine is not `ray`.
    """
    if name not in get_args(EngineName):
        raise OptionError(f"found {name!r}, expected local or ray", field="engine")
    if ray_address is not None and name != "ray":
        raise OptionError(
            "needs --engine ray. Add it, or remove --ray-address", code="missing-option", field="--ray-address"
        )

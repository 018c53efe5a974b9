"""Count files and score images on Ray: pieces of files, or blocks of images, are sent to workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from spotball_core.counting.counts import Counts
from spotball_core.counting.engines import Item, Result
from spotball_core.counting.engines.pieces import Counted, FilePiece, Gathered, count_piece, pieces_of
from spotball_core.counting.engines.ray_cluster import connected, ray_errors, require
from spotball_core.schema.scene import Scene
from spotball_core.service.progress import OnProgress, counted, ignore_progress

if TYPE_CHECKING:
    from spotball_core.io.columns import ReadOptions

MOST_BLOCKS = 10_000
"""Maximum number of Ray blocks. If there are more pieces, several pieces share a block."""


class RayEngine:
    """An engine (`spotball_core.counting.engines.MappingEngine`) that counts files and scores images on Ray.

    Each use connects to the cluster, or starts one. Within a `with` statement, all uses share one connection.

    If a worker dies, another worker counts its piece again. Files with a problem are read again in this process, so
    that the error equals that of the local engine. To find duplicates, files are also read again if their samples of
    the same respondent and image are not numbered consecutively.

    Raises:
        MissingExtraError: if Ray is not installed.
    """

    def __init__(
        self, address: str | None = None, *, on_progress: OnProgress = ignore_progress, debug: bool = False
    ) -> None:
        require("counting on Ray")
        self.address, self.on_progress, self.debug = address, on_progress, debug
        self._held: ExitStack | None = None

    def __enter__(self) -> RayEngine:
        self._held = ExitStack()
        return self

    def __exit__(self, *_: object) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.close()

    @contextmanager
    def _connected(self) -> Iterator[None]:
        with ExitStack() as own:
            (self._held or own).enter_context(connected(self.address, debug=self.debug))
            yield

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
        """Return the counts of the responses in files.

        Raises:
            InputError: if a file has a problem for which `read_counts` raises an error.
            OptionError: if no cluster answers at the address, or `columns` names a column that is in no file.
            SpotballError: if Ray fails, or if a worker cannot read a file that this process can read.
        """
        from spotball_core.counting.responses import common_grid
        from spotball_core.io.plain_files import plain_files
        from spotball_core.io.sources import check_each_once

        check_each_once(files)
        grid = common_grid(scenes)
        gathered = Gathered(grid.rows, grid.cols)
        with plain_files(files) as plain:
            pieces = list(pieces_of(plain.paths))
            with self._connected():
                parts = self._counted(pieces, scenes, participants, options)
                for part in counted(parts, len(pieces), self.on_progress):
                    gathered.add(part)
            counts = gathered.settled(plain.paths, scenes, participants=participants, pool=pool, **options)
        return replace(counts, warnings=plain.warnings(counts.warnings))

    def map(self, work: Callable[[Item], Result], items: Iterable[Item], /) -> Iterator[Result]:
        """Yield the results of calling `work` with each item on the cluster, in the items' order.

        Raises:
            OptionError: if no cluster answers at the address.
            SpotballError: if Ray fails.
        """
        import ray

        with self._connected(), ray_errors("score"):
            remote, waiting = ray.remote(work), deque[Any]()
            # Ray's function has no types, and a comment to ignore this would be an error without Ray.
            resources: Callable[[], dict[str, float]] = ray.cluster_resources
            most = 2 * int(resources().get("CPU", 1))
            for item in items:
                if len(waiting) >= most:
                    yield ray.get(waiting.popleft())
                waiting.append(remote.remote(item))
            while waiting:
                yield ray.get(waiting.popleft())

    def _counted(
        self, pieces: Sequence[FilePiece], scenes: Sequence[Scene], participants: bool, options: ReadOptions
    ) -> Iterator[Counted]:
        import ray

        shared: Sequence[Scene] = tuple(scenes)
        known = ray.put(shared)
        options = {**options, "columns": dict(options.get("columns") or {})}

        def count(row: dict[str, Any]) -> dict[str, Any]:
            part = count_piece(FilePiece(**row), ray.get(known), participants=participants, **options)
            return asdict(part)

        rows = [asdict(piece) for piece in pieces]
        dataset = ray.data.from_items(rows, override_num_blocks=min(len(rows), MOST_BLOCKS)).map(count)
        with ray_errors("count"):
            for row in dataset.iter_rows():
                yield Counted(**row)

"""Count files on Ray Data: pieces of files are sent to workers, which return counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from spotball_core.counting.counts import Counts
from spotball_core.counting.engines.pieces import Counted, FilePiece, Gathered, count_piece, pieces_of
from spotball_core.counting.engines.ray_cluster import connected, ray_errors, require
from spotball_core.schema.scene import Scene
from spotball_core.service.progress import OnProgress, counted, ignore_progress

if TYPE_CHECKING:
    from spotball_core.io.columns import ReadOptions

MOST_BLOCKS = 10_000
"""Maximum number of Ray blocks. If there are more pieces, several pieces share a block."""


class RayEngine:
    """An engine (`spotball_core.counting.engines.Engine`) that counts files on Ray Data.

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
            with connected(self.address, debug=self.debug):
                parts = self._counted(pieces, scenes, participants, options)
                for part in counted(parts, len(pieces), self.on_progress):
                    gathered.add(part)
            counts = gathered.settled(plain.paths, scenes, participants=participants, pool=pool, **options)
        return replace(counts, warnings=plain.warnings(counts.warnings))

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

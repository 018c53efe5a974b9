"""Counting on Ray Data: files go out in pieces, counts come back."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from spotball_core.counts import Counts
from spotball_core.engines.pieces import Counted, Gathered, Piece, count_piece, pieces_of
from spotball_core.errors import MissingExtraError, OptionError, SpotballError
from spotball_core.schema.scene import Scene

MOST_BLOCKS = 10_000
"""Pieces beyond this many share blocks, which are what Ray hands out."""


class RayEngine:
    """Counts files on Ray Data, as `spotball_core.engines.Engine`.

    A piece whose worker dies is counted again by another. Files with anything wrong are read again here, so that the
    error is that of the local engine; and so are files that share a respondent's samples of an image out of order, to
    see that none is there twice.

    Raises:
        MissingExtraError: without Ray.
    """

    def __init__(self, address: str | None = None, *, watch: Any = None, debug: bool = False) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray.data  # noqa: F401
        except ImportError as error:
            raise MissingExtraError("counting on Ray", "ray") from error
        self.address, self.watch, self.debug = address, watch, debug

    def __call__(self, files: Sequence[Path], scenes: Sequence[Scene], /, *, participants: bool) -> Counts:
        """The counts of files.

        Raises:
            InputError: as `read_counts`.
            OptionError: where no cluster answers at the address.
            SpotballError: where a worker cannot read what can be read here.
        """
        from spotball_core.io.responses import common_grid
        from spotball_core.io.sources import check_each_once

        check_each_once(files)
        grid = common_grid(scenes)
        pieces = list(pieces_of(files))
        gathered = Gathered(grid.rows, grid.cols)
        with self._cluster():
            done: Iterable[Counted] = self._counted(pieces, scenes, participants)
            for one in self.watch(done, len(pieces)) if self.watch else done:
                gathered.add(one)
        return gathered.settled(files, scenes, participants=participants)

    def _counted(self, pieces: Sequence[Piece], scenes: Sequence[Scene], participants: bool) -> Iterator[Counted]:
        import ray
        from ray.exceptions import RayError

        shared: Sequence[Scene] = tuple(scenes)
        known = ray.put(shared)

        def count(row: dict[str, Any]) -> dict[str, Any]:
            return asdict(count_piece(Piece(**row), ray.get(known), participants=participants))

        rows = [asdict(piece) for piece in pieces]
        dataset = ray.data.from_items(rows, override_num_blocks=min(len(rows), MOST_BLOCKS)).map(count)
        try:
            for row in dataset.iter_rows():
                yield Counted(**row)
        except RayError as error:
            raise SpotballError(f"Ray could not count: {str(error).strip().splitlines()[-1]}") from error

    @contextmanager
    def _cluster(self) -> Iterator[None]:
        """Ray, connected to the cluster at the address, or to one that is started here and ended."""
        import ray
        from ray.data import DataContext

        ours = not ray.is_initialized()
        if ours:
            _check_answers(self.address)
            level = logging.INFO if self.debug else logging.ERROR
            ray.init(
                self.address or "local",
                include_dashboard=None if self.address else False,
                log_to_driver=self.debug,
                logging_level=level,
            )
        DataContext.get_current().enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.DEBUG if self.debug else logging.ERROR)
        try:
            yield
        finally:
            if ours:
                ray.shutdown()


def _check_answers(address: str | None) -> None:
    """Raise OptionError for a host and port where nothing listens: Ray would try for minutes."""
    host, _, port = (address or "").rpartition(":")
    if not host or "/" in host or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise OptionError(f"no Ray cluster answers at {address}: {error}") from error

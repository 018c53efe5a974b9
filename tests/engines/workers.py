"""Ray's worker processes, found among all that run here; and a script that kills one half-way through a count."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path


def processes(mark: str) -> dict[int, bytes]:
    """Command lines, by process, that have a mark in them."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes()
        except OSError:
            continue  # It ended while we looked.
        if mark.encode() in line:
            found[int(entry.parent.name)] = line
    return found


def busy_workers(mark: str) -> list[int]:
    """Processes at work on a task of Ray Data, of a cluster whose node's command line has a mark in it."""
    nodes = processes(mark)
    return [worker for worker in tasks() if parent(worker) in nodes]


def tasks() -> list[int]:
    return [process for process, line in processes("ray::").items() if line.startswith(b"ray::Map(")]


def parent(process: int) -> int | None:
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def main(address: str, scenes: str, shards: str, out: str) -> None:
    """Count the shards on the cluster at the address, and kill a worker that is at it once half are done."""
    from spotball_core.engines import engine_named
    from spotball_core.io.counts_file import write_counts
    from spotball_core.io.scenes import read_scenes

    def watch(pieces: Iterable[object], total: int) -> Iterator[object]:
        for done, one in enumerate(pieces):
            if done == total // 2:
                worker = busy_workers(address)[0]
                os.kill(worker, signal.SIGKILL)
                print(f"killed {worker} with {done} of {total} done")
            yield one

    engine = engine_named("ray", ray_address=address, watch=watch)
    write_counts(engine(sorted(Path(shards).iterdir()), read_scenes(scenes), participants=True), out)


if __name__ == "__main__":
    main(*sys.argv[1:])

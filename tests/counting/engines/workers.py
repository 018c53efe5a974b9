"""Find Ray's worker processes; as a script, kill a worker during a count."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path


def cluster_address(**second: int) -> Iterator[str]:
    """Yield the address of a cluster of two nodes with one CPU each, and stop the cluster afterwards.

    Args:
        second: resources of the second node in addition to its CPU, such as a GPU.
    """
    import pytest

    pytest.importorskip("ray.data", reason='needs the "ray" extra')
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1, **second)
    yield cluster.address
    cluster.shutdown()


def processes(mark: str) -> dict[int, bytes]:
    """Return the command lines of the processes whose command line contains a mark, by process id."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes()
        except OSError:
            continue  # The process ended in the meantime.
        if mark.encode() in line:
            found[int(entry.parent.name)] = line
    return found


TASKS, ACTORS = (b"ray::Map(", b"ray::MapBatches("), (b"ray::MapWorker",)
"""Prefixes of the process names of Ray Data: of workers that run tasks, and of actors."""


def busy_workers(mark: str, names: tuple[bytes, ...] = TASKS) -> list[int]:
    """Return the busy Ray Data workers of the cluster whose node's command line contains a mark."""
    workers = [process for process, line in processes("ray::").items() if line.startswith(names)]
    nodes = processes(mark) if workers else {}
    return [worker for worker in workers if parent(worker) in nodes]


def parent(process: int) -> int | None:
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def first_at_work(mark: str, names: tuple[bytes, ...] = TASKS, *, seconds: float = 30) -> int:
    """Wait until `busy_workers` returns at least one worker, and return the first one."""
    end = time.monotonic() + seconds
    while not (found := busy_workers(mark, names)):
        if time.monotonic() > end:
            raise TimeoutError(f"no worker was at work for {seconds} s")
        time.sleep(0.005)
    return found[0]


def main(address: str, scenes: str, shards: str, out: str) -> None:
    """Count the shards on the cluster, and kill a busy worker after the first shard is done."""
    from spotball_core.counting.counts_file import write_counts
    from spotball_core.counting.engines import engine_named
    from spotball_core.io.scenes import read_scenes

    def kill_one(done: int, total: int) -> None:
        # Ray counts shards before their results are read, so after a later shard no worker might be busy.
        if done == 1:
            worker = first_at_work(address)
            os.kill(worker, signal.SIGKILL)
            print(f"killed {worker} with {done} of {total} done")

    engine = engine_named("ray", ray_address=address, on_progress=kill_one)
    write_counts(engine(sorted(Path(shards).iterdir()), read_scenes(scenes), participants=True), out)


if __name__ == "__main__":
    main(*sys.argv[1:])

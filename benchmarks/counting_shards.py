"""Claim: `spotball count` counts at least 2 million rows of Parquet per second on one core. It adds the counts of 1,000
shards in less than two minutes.

A shard is one part of a large file. Only counting depends on the number of rows, and you can divide it among machines.
Each figure is from a complete `spotball count` on one thread, including its start, in CPU seconds.

With Ray Data (the extra `ray`), 10 million rows are counted on a running cluster of two workers, and on a cluster that
is started for the count. Both are compared with a count without Ray on two cores, in wall-clock time. All three counts
are identical byte for byte. docs/how-to/many-machines.md computes from these figures how long a trillion rows take.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import polars as pl
from measure import figure, process, processes_in_turn
from responses import BARE, FULL, scenes, write

from spotball_core.io.scenes import write_scenes
from spotball_core.version import install_command

ROWS = {"Parquet": 10_000_000, "CSV": 2_000_000, "JSON Lines": 2_000_000}
ENDINGS = {"Parquet": "parquet", "CSV": "csv", "JSON Lines": "jsonl"}
N_SHARDS = 1000
N_FILES, FILE_ROWS = 8, 1_250_000
ROUNDS = 3
ONE_THREAD = {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}


def main() -> None:
    """Measure counting on one core for each format, then merging shards, and then Ray Data."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_scenes(scenes(), folder / "scenes.jsonl")
        one_core(folder)
        shards(folder)
        if find_spec("ray") is None:
            print(f"Ray is not installed. To measure it: {install_command('ray')}")
        else:
            on_ray(folder)


def count(folder: Path, out: str, files: list[Path], *options: str) -> list[str]:
    """Return the command that counts files and writes the counts to the file `out` in the folder."""
    known = ["--scenes", str(folder / "scenes.jsonl"), "--out", str(folder / out), "--quiet"]
    return [sys.executable, "-m", "spotball_core", "count", *map(str, files), *known, *options]


def core_seconds(command: list[str], rounds: int = ROUNDS) -> float:
    """Return the CPU seconds of a command on one thread, the minimum over rounds."""
    times = []
    for _ in range(rounds):
        before = os.times()
        process(command, env=ONE_THREAD)
        after = os.times()
        times.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(times)


def one_core(folder: Path) -> None:
    """Measure rows per second on one core and bytes per row, for each format."""
    for format, n in ROWS.items():
        file = folder / f"rows.{ENDINGS[format]}"
        write(file, n, FULL)
        seconds = core_seconds(count(folder, "rows.counts", [file]))
        goal = 2.0 if format == "Parquet" else None
        note = f"{n:,} rows in {seconds:.1f} s"
        figure(f"{format}: counting on one core", n / seconds / 1e6, "million rows/s", at_least=goal, note=note)
        figure(f"{format}: file size", file.stat().st_size / n, "bytes/row")
        if format != "Parquet":
            file.unlink()


def shards(folder: Path) -> None:
    """Measure the size of a shard's counts, and the time to merge a thousand shards."""
    process(count(folder, "shard.counts", [folder / "rows.parquet"]))
    shard = folder / "shard.counts"
    n = len(pl.read_parquet(shard))
    figure(
        "size of a file with counts",
        shard.stat().st_size / 1e3,
        "kB",
        note=f"{n:,} counts, independent of the number of rows",
    )
    files = [folder / f"{i}.counts" for i in range(N_SHARDS)]
    for file in files:
        shutil.copy(shard, file)
    seconds = core_seconds(count(folder, "sum.counts", files), rounds=1)
    assert pl.read_parquet(folder / "sum.counts")["n"].sum() == N_SHARDS * ROWS["Parquet"]
    figure("adding the counts of 1,000 shards on one core", seconds, "s", below=120, note=f"{n:,} counts per shard")


def on_ray(folder: Path) -> None:
    """Compare counting with and without Ray Data, on the same files and the same number of cores."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    files = [folder / f"part-{i}.parquet" for i in range(N_FILES)]
    for file in files:
        write(file, FILE_ROWS, BARE)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    commands = {
        "without Ray": count(folder, "0.counts", files),
        "on a running Ray cluster": count(
            folder, "1.counts", files, "--engine", "ray", "--ray-address", cluster.address
        ),
        "on a Ray cluster, with its start": count(folder, "2.counts", files, "--engine", "ray"),
    }
    used = processes_in_turn(commands, ROUNDS)
    cluster.shutdown()
    assert len({(folder / f"{i}.counts").read_bytes() for i in range(len(commands))}) == 1
    for name, usage in used.items():
        figure(f"counting 10 million rows {name}", usage.seconds, "s", note="wall-clock time on two cores")


if __name__ == "__main__":
    main()

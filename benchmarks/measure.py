"""Measure times and the resources of processes for the benchmarks, and print figures."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FIGURES = "SPOTBALL_BENCHMARK_FIGURES"
"""Environment variable with the file for figures, one JSON object per line."""


def figure(
    name: str, value: float, unit: str, *, at_least: float | None = None, below: float | None = None, note: str = ""
) -> None:
    """Print one figure, with its goal if it has one, and write it to the file that `make bench` sets.

    Names must be the same in every run, because figures are compared by name with earlier ones.
    """
    value = float(value)  # convert NumPy numbers, because JSON cannot encode NumPy booleans
    goal = f"at least {at_least:g}" if at_least is not None else f"below {below:g}" if below is not None else ""
    met = None
    if at_least is not None:
        met = value >= at_least
    elif below is not None:
        met = value < below
    said = f" (goal: {goal}, {'met' if met else 'missed'})" if goal else ""
    print(f"{name}: {value:.4g} {unit}{said}{f'; {note}' if note else ''}", flush=True)
    if file := os.environ.get(FIGURES):
        record = {"name": name, "value": value, "unit": unit, "goal": goal, "met": met, "note": note}
        with Path(file).open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(record) + "\n")


def in_turn(
    ways: Mapping[str, Callable[[], object]], rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Return the minimum time of each function in seconds.

    The functions alternate, so other load affects all of them. With the clock `time.process_time`, times are CPU
    times of all threads.
    """
    times = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, way in ways.items():
            start = clock()
            way()
            times[name] = min(times[name], clock() - start)
    return times


# The peak memory of a process includes that of its parent at the start, so the parent must be small.
_WAITER = """
import json, os, sys, time
start = time.perf_counter()
child = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(child, 0)
with open(int(sys.argv[1]), "w") as told:
    json.dump([time.perf_counter() - start, os.waitstatus_to_exitcode(status), usage.ru_maxrss], told)
"""


@dataclass(frozen=True)
class Usage:
    """Resources of a process."""

    seconds: float
    megabytes: float
    """Peak resident memory of the process itself."""


def process(command: Sequence[str], *, env: Mapping[str, str] | None = None, accept: Collection[int] = (0,)) -> Usage:
    """Run a process and return its time and memory. It may write bytecode, as an installed package does.

    Raises:
        CalledProcessError: if its exit status is not accepted. Its output is shown.
    """
    reading, writing = os.pipe()
    environment = {**os.environ, **(env or {})}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _WAITER, str(writing), *command],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        pass_fds=(writing,),
    )
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = pipe.read()
    status = done.returncode
    seconds = kilobytes = 0.0
    if told:
        seconds, status, kilobytes = json.loads(told)
    if not told or status not in accept:
        print(done.stdout.decode(errors="replace"))
        raise subprocess.CalledProcessError(status, command)
    return Usage(seconds, kilobytes / 1024)


def processes_in_turn(
    commands: Mapping[str, Sequence[str]], rounds: int, *, accept: Collection[int] = (0,)
) -> dict[str, Usage]:
    """Return the median time and the median peak memory of each command. The commands alternate."""
    taken: dict[str, list[Usage]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            taken[name].append(process(command, accept=accept))
    return {
        name: Usage(statistics.median(u.seconds for u in each), statistics.median(u.megabytes for u in each))
        for name, each in taken.items()
    }

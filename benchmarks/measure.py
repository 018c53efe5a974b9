"""What the benchmarks share: shortest times of ways that take turns, whole processes, and figures that are kept."""

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
"""The environment's name for the file that figures go to, one JSON object a line."""


def figure(
    name: str, value: float, unit: str, *, at_least: float | None = None, below: float | None = None, note: str = ""
) -> None:
    """Print one figure, with its goal if it has one, and keep it where `make bench` asks for it.

    Names stay the same from run to run: by them, figures are compared with those of last time.
    """
    value = float(value)  # of NumPy's numbers too, whose comparisons JSON cannot hold
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


def in_turn(ways: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Each way's shortest time in seconds, over rounds in which all take turns: what slows the machine slows all."""
    times = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            times[name] = min(times[name], time.perf_counter() - start)
    return times


# A process starts with its parent's memory, and its peak is at least that: so the parent is one that holds little.
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
    """What a process took."""

    seconds: float
    megabytes: float
    """Peak resident memory, of the process itself."""


def process(command: Sequence[str], *, env: Mapping[str, str] | None = None, accept: Collection[int] = (0,)) -> Usage:
    """Run a process to its end and say what it took.

    Raises:
        CalledProcessError: if it ends with a status other than those accepted; what it printed is shown.
    """
    reading, writing = os.pipe()
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _WAITER, str(writing), *command],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=env and {**os.environ, **env},
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
    """Each command's median time and median peak memory, over rounds in which all take turns."""
    taken: dict[str, list[Usage]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            taken[name].append(process(command, accept=accept))
    return {
        name: Usage(statistics.median(u.seconds for u in each), statistics.median(u.megabytes for u in each))
        for name, each in taken.items()
    }

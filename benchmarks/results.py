"""Describe the results of benchmarks and their machine, and compare them with stored results."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

NOISE = 0.15
"""Figures whose change is below this share count as equal, because runs on the same machine vary by as much."""

QUIET = 0.25
"""Other load on less than this share of the cores has little effect."""

PACKAGES = ("numpy", "scipy", "polars", "POT", "pydantic", "matplotlib", "pandas")


@dataclass(frozen=True)
class Figure:
    """One measured number. `goal` and `met` are as in `measure.figure`."""

    name: str
    value: float
    unit: str
    goal: str
    met: bool | None
    note: str


@dataclass(frozen=True)
class Setting:
    """The machine, versions and date of a measurement."""

    machine: str
    versions: str
    date: str
    cores: int
    load: float
    """Number of cores that other work used in the second before the first measurement."""

    @property
    def busy(self) -> bool:
        """Return whether other work used many cores."""
        return self.load >= QUIET * self.cores


@dataclass(frozen=True)
class Result:
    """The result of running one benchmark."""

    name: str
    text: str
    seconds: float
    figures: tuple[Figure, ...]
    setting: Setting
    finished: bool = True


@dataclass(frozen=True)
class Move:
    """A figure with the stored figure of the same name."""

    now: Figure
    before: Figure | None

    @property
    def ratio(self) -> float | None:
        """Return the ratio of the new to the stored figure, or None if they are not comparable."""
        if self.before is None or self.before.unit != self.now.unit or not self.before.value:
            return None
        return self.now.value / self.before.value

    @property
    def word(self) -> str:
        """Return an assessment: new, better, worse or moved, or an empty string if the change is within the noise."""
        if self.before is None:
            return "new"
        if self.ratio is None:
            return "" if (self.now.value, self.now.unit) == (self.before.value, self.before.unit) else "moved"
        if 1 / (1 + NOISE) <= self.ratio <= 1 + NOISE:
            return ""
        if not self.now.goal:
            return "moved"
        return "better" if (self.ratio > 1) == self.now.goal.startswith("at least") else "worse"


def here_and_now() -> Setting:
    """Return the current machine, versions and date."""
    model = platform.processor() or platform.machine()
    if (information := Path("/proc/cpuinfo")).exists():
        lines = information.read_text(encoding="utf-8").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = [f"Python {platform.python_version()}", f"spotball-core {commit()}"]
    for package in PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            versions.append(f"no {package}")
    machine = f"{model}, {cores} cores used of {os.cpu_count()}, {memory:.0f} GiB of memory, {platform.system()}"
    return Setting(machine, ", ".join(versions), date.today().isoformat(), cores, cores_in_use())


def commit() -> str:
    """Return the commit of this checkout, because the version of an editable installation may be older."""
    command = ["git", "describe", "--tags", "--always", "--dirty", "--abbrev=10"]
    try:
        told = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return version("spotball-core")  # no checkout, or no git
    return told.stdout.strip()


def cores_in_use(seconds: float = 1.0) -> float:
    """Return the number of cores in use while this process sleeps, or the load average if this is not available."""
    ticks = Path("/proc/stat")
    if not ticks.exists():
        return os.getloadavg()[0]

    def worked() -> float:
        user, nice, system, _, _, interrupts, soft, *_ = map(int, ticks.read_text(encoding="utf-8").split()[1:9])
        return (user + nice + system + interrupts + soft) / os.sysconf("SC_CLK_TCK")

    before, start = worked(), time.perf_counter()
    time.sleep(seconds)
    return (worked() - before) / (time.perf_counter() - start)


def moved(result: Result, kept: Mapping[str, Result]) -> list[Move]:
    """Return a result's figures, each with the stored figure of the same name."""
    before = {figure.name: figure for figure in kept[result.name].figures} if result.name in kept else {}
    return [Move(figure, before.get(figure.name)) for figure in result.figures]


def gone(result: Result, kept: Mapping[str, Result]) -> list[str]:
    """Return the names of stored figures that no longer exist."""
    now = {figure.name for figure in result.figures}
    return (
        [figure.name for figure in kept[result.name].figures if figure.name not in now] if result.name in kept else []
    )


def amount(value: float, unit: str) -> str:
    """Return a number with its unit, with at least three digits.

    Examples:
        >>> amount(0.0123456, "s"), amount(1234.56, "MB"), amount(12.345, "times")
        ('0.0123 s', '1,235 MB', '12.3 times')
    """
    digits = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{digits} {unit}".rstrip()


def verdict(figure: Figure) -> str:
    """Return whether a figure's goal was met, or an empty string without a goal."""
    return "" if figure.met is None else "met" if figure.met else "MISSED"


def summary(results: Sequence[Result]) -> list[str]:
    """Return the summary of a run: goals met, names of goals missed, failures, and benchmarks on a busy machine."""
    goals = [(result, figure) for result in results for figure in result.figures if figure.met is not None]
    missed = [f"{figure.name} ({result.name})" for result, figure in goals if not figure.met]
    said = [f"{len(goals) - len(missed)} of {len(goals)} goals met"]
    said += [f"missed: {name}" for name in missed]
    said += [f"failed: {result.name}" for result in results if not result.finished]
    busy = [(f"{result.setting.load:.1f} cores", result.name) for result in results if result.setting.busy]
    loads = [f"{cores} ({', '.join(name for load, name in busy if load == cores)})" for cores in dict(busy)]
    return said + [f"the machine was busy: other processes used {' and '.join(loads)}"] * bool(busy)


def show(results: Sequence[Result], kept: Mapping[str, Result]) -> None:
    """Print each measurement next to its stored value, and then the summary."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table("benchmark", "figure", "stored", "now", "ratio", "", "goal", title="Compared with the stored figures")
    for result in results:
        for move in moved(result, kept):
            figure, before = move.now, move.before
            table.add_row(
                result.name,
                figure.name,
                amount(before.value, before.unit) if before else "",
                amount(figure.value, figure.unit),
                f"{move.ratio:.2f}" if move.ratio else "",
                move.word,
                f"{figure.goal}, {verdict(figure)}" if figure.goal else "",
            )
        for name in gone(result, kept):
            table.add_row(result.name, name, "", "", "", "gone", "")
    console.print(table)
    others = {kept[result.name].setting.machine for result in results if result.name in kept}
    for machine in sorted(others - {result.setting.machine for result in results}):
        console.print(f"Stored figures are from another machine, so do not compare times: {machine}", markup=False)
    console.print("\n".join(summary(results)), markup=False)

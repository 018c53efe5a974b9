"""Claim: the time for reading responses from Parquet grows no faster than the number of rows, and memory stays nearly
constant: 100 million rows need less than 2 GB, at most a quarter more than 10 million rows.

Each file is read in its own process, with all columns of responses. The time includes the start of Python. The memory
is the peak of the process.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from measure import Usage, figure, processes_in_turn
from responses import FULL, scenes, write

from spotball_core.io.scenes import write_scenes

ROWS = (1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000)
LEVEL = 10_000_000
"""Number of rows from which memory is constant, because several blocks of rows have been read."""

ROUNDS = 3
READ = """
import sys
from spotball_core.counting.read import read_counts
from spotball_core.io.scenes import read_scenes
read_counts(sys.argv[1], read_scenes(sys.argv[2]))
"""


def reading(rows: int, folder: Path) -> Usage:
    """Return the time and memory for reading this number of rows."""
    path, known = folder / "responses.parquet", folder / "scenes.jsonl"
    write(path, rows, FULL)
    write_scenes(scenes(), known)
    command = [sys.executable, "-c", READ, str(path), str(known)]
    taken = processes_in_turn({"read": command}, ROUNDS)["read"]
    path.unlink()
    return taken


def draw_plot(file: str, found: dict[int, Usage]) -> None:
    """Plot time and peak memory against rows, each from 0 in a separate panel."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(9, 4), layout="constrained")
    time, memory = drawn.subplots(1, 2)
    millions = [rows / 1e6 for rows in found]
    time.plot(millions, [usage.seconds for usage in found.values()], "C0-o")
    time.set(xlabel="million rows", ylabel="seconds", title="time", xlim=(0, None), ylim=(0, None))
    memory.plot(millions, [usage.megabytes for usage in found.values()], "C1-o")
    top = max(2000, *(usage.megabytes for usage in found.values())) * 1.1
    memory.axhline(2000, color="0.5", linestyle="--", label="2 GB")
    memory.set(xlabel="million rows", ylabel="MB", title="peak memory", xlim=(0, None), ylim=(0, top))
    memory.legend()
    for axes in (time, memory):
        axes.grid(alpha=0.2)
    drawn.savefig(file)


def main() -> None:
    """Measure time and memory for each number of rows, and plot them if requested."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plot", metavar="FILE", help="draw the figures to this file")
    parser.add_argument("--most", type=int, default=ROWS[-1], help="leave out sizes of more rows")
    options = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for rows in (rows for rows in ROWS if rows <= options.most):
            found[rows] = usage = reading(rows, Path(folder))
            figure(f"{rows / 1e6:.0f} million rows: time", usage.seconds, "s")
            goal = 2000 if rows == ROWS[-1] else None
            figure(f"{rows / 1e6:.0f} million rows: peak memory", usage.megabytes, "MB", below=goal)
    few, many = min(found), max(found)
    if few < many:
        slower = found[many].seconds / found[few].seconds
        figure("growth of time relative to growth of rows", slower / (many / few), "", below=1.5)
    if many > LEVEL:
        name = f"memory for {many / 1e6:.0f} million rows relative to {LEVEL / 1e6:.0f} million"
        figure(name, found[many].megabytes / found[LEVEL].megabytes, "times", below=1.25)
    if options.plot:
        draw_plot(options.plot, found)


if __name__ == "__main__":
    main()

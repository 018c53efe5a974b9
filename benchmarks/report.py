"""Claim: `spotball report` takes at most ten seconds on two idle cores for data as large as the full release.

The 156 synthetic scenes have images. The responses are from 50 participants and from 4 models with 3 prompts each. The
command uses one process per core. The time is the median of five runs. The memory is that of the largest process.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from measure import figure, process
from study import write_study

RUNS = 5


def main() -> None:
    """Measure the whole command in a separate process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="write data and report into this folder and keep them")
    with tempfile.TemporaryDirectory() as temporary:
        folder = parser.parse_args().keep or Path(temporary)
        n = write_study(folder / "study")
        out = folder / "report"
        command = [sys.executable, "-m", "spotball_core", "report", str(folder / "study")]
        runs = [process([*command, "--reference", "human", "--out", str(out), "--quiet"]) for _ in range(RUNS)]
        size = (out / "report.html").stat().st_size / 1e6
    seconds = [run.seconds for run in runs]
    note = f"{n:,} responses; {RUNS} runs of {min(seconds):.1f} to {max(seconds):.1f} s"
    figure("spotball report", statistics.median(seconds), "s", below=10, note=note)
    figure("peak memory", max(run.megabytes for run in runs), "MB")
    figure("size of the page", size, "MB")


if __name__ == "__main__":
    main()

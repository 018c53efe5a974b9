"""Claim: `spotball report` on data of the full release's size takes less than a minute on two cores.

The 156 synthetic scenes have images. The responses are from 50 participants and from 4 models with 3 prompts each. The
command uses one process per core. Peak memory is that of its largest process.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from measure import figure, process
from study import write_study


def main() -> None:
    """Measure the whole command in a separate process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, help="write data and report into this folder and keep them")
    with tempfile.TemporaryDirectory() as temporary:
        folder = parser.parse_args().keep or Path(temporary)
        n = write_study(folder / "study")
        out = folder / "report"
        command = [sys.executable, "-m", "spotball_core", "report", str(folder / "study")]
        used = process([*command, "--reference", "human", "--out", str(out), "--quiet"])
        size = (out / "report.html").stat().st_size / 1e6
    figure("spotball report", used.seconds, "s", below=60, note=f"{n:,} responses; one run")
    figure("peak memory", used.megabytes, "MB")
    figure("size of the page", size, "MB")


if __name__ == "__main__":
    main()
